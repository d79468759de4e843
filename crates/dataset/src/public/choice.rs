//! Which files of a repository contain the rows of a subset and a split.
//!
//! The repository's card may list them. Otherwise the names of files and folders decide, by the conventions of the hub:
//! one folder per subset, and the name of the split in the file name.

use serde_json::Value;

use super::row::Fault;

/// Endings of files with rows, best first: a repository may have its rows in several forms.
const ENDINGS: &[&[&str]] = &[&[".parquet"], &[".arrow"], &[".jsonl", ".jsonl.gz"], &[".json", ".json.gz"]];

/// Words that mean a split.
const SPLITS: &[(&str, &[&str])] = &[
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "val", "dev"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];

/// The files of a subset and a split, by name; `configs` comes from the card.
pub(super) fn choose(
    files: &[String],
    configs: &Value,
    subset: Option<&str>,
    split: &str,
) -> Result<Vec<String>, Fault> {
    let mut chosen = match configs.as_array().filter(|configs| !configs.is_empty()) {
        Some(configs) => by_card(files, configs, subset, split)?,
        None => by_name(files, subset, split)?,
    };
    chosen.sort();
    chosen.dedup();
    Ok(chosen)
}

fn by_card(files: &[String], configs: &[Value], subset: Option<&str>, split: &str) -> Result<Vec<String>, Fault> {
    let name = |config: &Value| config["config_name"].as_str().unwrap_or("default").to_owned();
    let is_meant = |config: &&Value| match subset {
        Some(subset) => name(config) == subset,
        None => configs.len() == 1 || config["default"] == true || name(config) == "default",
    };
    let Some(config) = configs.iter().find(is_meant) else {
        let names: Vec<String> = configs.iter().map(name).collect();
        let missing = subset.map_or_else(|| "needs a subset".to_owned(), |subset| format!("has no subset '{subset}'"));
        return Err(format!("{missing}\n  try: --hf-subset with one of {}", names.join(", ")));
    };
    let folder = config["data_dir"].as_str().map(|folder| format!("{}/", folder.trim_matches(['.', '/'])));
    let within = |file: &&String| folder.as_ref().is_none_or(|folder| file.starts_with(folder));
    if config["data_files"].is_null() {
        let files: Vec<String> = files.iter().filter(within).cloned().collect();
        return by_name(&files, None, split);
    }
    let patterns: Vec<String> = match &config["data_files"] {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            let is_split = |item: &&Value| item["split"].as_str().is_none_or(|named| named == split);
            items.iter().filter(is_split).flat_map(|item| texts(&item["path"])).collect()
        }
        // If no split is named, there is only one.
        other => texts(other),
    };
    let prefix = folder.unwrap_or_default();
    let is_named = |file: &&String| {
        let matches = |pattern: &String| {
            let pattern = format!("{prefix}{}", pattern.trim_start_matches("./"));
            is_match(pattern.as_bytes(), file.as_bytes())
        };
        patterns.iter().any(matches) && ENDINGS.concat().iter().any(|ending| file.ends_with(ending))
    };
    let named: Vec<String> = files.iter().filter(is_named).cloned().collect();
    if named.is_empty() { Err(no_rows(split)) } else { Ok(named) }
}

fn by_name(files: &[String], subset: Option<&str>, split: &str) -> Result<Vec<String>, Fault> {
    let is_hidden = |file: &str| file.split('/').any(|part| part.starts_with(['.', '_']));
    let is_of_subset = |file: &str| subset.is_none_or(|subset| is_in(file, subset));
    let all: Vec<&String> = files.iter().filter(|file| !is_hidden(file) && is_of_subset(file)).collect();
    let ending_with = |endings: &&[&str]| {
        let found: Vec<&String> =
            all.iter().copied().filter(|file| endings.iter().any(|ending| file.ends_with(ending))).collect();
        (!found.is_empty()).then_some(found)
    };
    let found = ENDINGS.iter().find_map(ending_with).ok_or_else(|| no_rows(split))?;
    let words = SPLITS.iter().find(|(_, words)| words.contains(&split)).map_or(&[][..], |(_, words)| words);
    let is_of = |words: &[&str], file: &str| words.iter().any(|word| is_in(file, word)) || is_in(file, split);
    let of_split: Vec<String> = found.iter().filter(|file| is_of(words, file)).map(|file| (*file).clone()).collect();
    if !of_split.is_empty() {
        return Ok(of_split);
    }
    let names_a_split = |file: &&&String| SPLITS.iter().any(|(_, words)| is_of_words(file, words));
    if found.iter().any(|file| names_a_split(&file)) {
        return Err(no_rows(split));
    }
    // If no file names a split, all belong to the only one.
    Ok(found.into_iter().cloned().collect())
}

fn is_of_words(file: &str, words: &[&str]) -> bool {
    words.iter().any(|word| is_in(file, word))
}

/// Whether a path contains a word, with no letter or digit next to it.
fn is_in(path: &str, word: &str) -> bool {
    let is_apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    let path = path.to_lowercase();
    let word = word.to_lowercase();
    path.match_indices(&word)
        .any(|(at, _)| is_apart(path[..at].chars().next_back()) && is_apart(path[at + word.len()..].chars().next()))
}

fn no_rows(split: &str) -> Fault {
    format!("has no Parquet or JSON file of split '{split}'\n  try: another subset (--hf-subset NAME)")
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Whether a path matches a pattern: `*` and `?` match letters within a folder, `**` any folders, `[a-z]` one of a set.
fn is_match(pattern: &[u8], path: &[u8]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        ([b'*', b'*', b'/', rest @ ..], _) => {
            let after_folder = |at: usize| path[at] == b'/' && is_match(rest, &path[at + 1..]);
            is_match(rest, path) || (0..path.len()).any(after_folder)
        }
        ([b'*', b'*', rest @ ..], _) => (0..=path.len()).any(|at| is_match(rest, &path[at..])),
        ([b'*', rest @ ..], _) => {
            let folder = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
            (0..=folder).any(|at| is_match(rest, &path[at..]))
        }
        ([b'?', rest @ ..], [byte, path @ ..]) => *byte != b'/' && is_match(rest, path),
        ([b'[', rest @ ..], [byte, path @ ..]) => {
            let Some(end) = rest.iter().position(|byte| *byte == b']') else { return false };
            is_one_of(&rest[..end], *byte) && is_match(&rest[end + 1..], path)
        }
        ([wanted, rest @ ..], [byte, path @ ..]) => wanted == byte && is_match(rest, path),
        _ => false,
    }
}

fn is_one_of(set: &[u8], byte: u8) -> bool {
    match set {
        [from, b'-', to, rest @ ..] => (*from..=*to).contains(&byte) || is_one_of(rest, byte),
        [one, rest @ ..] => *one == byte || is_one_of(rest, byte),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn chosen(files: &[&str], configs: Value, subset: Option<&str>, split: &str) -> Result<Vec<String>, Fault> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        choose(&files, &configs, subset, split)
    }

    #[test]
    fn a_card_lists_the_files_of_a_subset_and_a_split() {
        let files =
            ["README.md", "main/test-00000-of-00001.parquet", "main/train-0.parquet", "socratic/test-0.parquet"];
        let split = |name: &str, path: &str| json!({"split": name, "path": path});
        let configs = json!([
            {"config_name": "main", "data_files": [split("train", "main/train-*"), split("test", "main/test-*")]},
            {"config_name": "socratic", "data_files": [split("test", "socratic/test-*")]},
        ]);
        assert_eq!(chosen(&files, configs.clone(), Some("main"), "test").unwrap(), [files[1]]);
        assert_eq!(chosen(&files, configs.clone(), Some("socratic"), "test").unwrap(), [files[3]]);
        let missing = chosen(&files, configs.clone(), Some("x"), "test").unwrap_err();
        assert!(missing.contains("main, socratic"), "{missing}");
        assert!(chosen(&files, configs, None, "test").unwrap_err().contains("needs a subset"));
        let only = json!([{"config_name": "val", "data_files": [{"split": "val", "path": "mmstar.parquet"}]}]);
        assert_eq!(chosen(&["mmstar.parquet", "x.parquet"], only, None, "val").unwrap(), ["mmstar.parquet"]);
    }

    #[test]
    fn without_a_card_names_decide() {
        let none = || Value::Null;
        let data = ["data/train-00001-of-00002.parquet", "data/train-00000-of-00002.parquet", "data/test-0.parquet"];
        assert_eq!(chosen(&data, none(), None, "train").unwrap(), [data[1], data[0]]);
        assert_eq!(chosen(&["test.jsonl", "README.md"], none(), None, "test").unwrap(), ["test.jsonl"]);
        assert_eq!(chosen(&["validation.json", "test.json"], none(), None, "val").unwrap(), ["validation.json"]);
        let speech = ["clean/test/0000.parquet", "clean/train.100/0000.parquet", "other/test/0000.parquet"];
        assert_eq!(chosen(&speech, none(), Some("clean"), "test").unwrap(), [speech[0]]);
        assert_eq!(chosen(&["en/partial-train/0000.parquet"], none(), Some("en"), "train").unwrap().len(), 1);
        // No file names a split: all of them are used.
        assert_eq!(chosen(&["question.jsonl"], none(), None, "train").unwrap(), ["question.jsonl"]);
        assert!(chosen(&["data/test-0.parquet"], none(), None, "train").is_err());
        assert!(chosen(&["a.py", "README.md"], none(), None, "train").is_err());
    }

    #[test]
    fn patterns_match_as_the_hub_means_them() {
        for (pattern, path, matches) in [
            ("data/train-*", "data/train-0.parquet", true),
            ("data/*", "data/a/b.parquet", false),
            ("**/train-?.json", "a/b/train-1.json", true),
            ("**/train.json", "train.json", true),
            ("**", "a/b", true),
            ("a[0-9].json", "a7.json", true),
            ("a[0-9].json", "ax.json", false),
        ] {
            assert_eq!(is_match(pattern.as_bytes(), path.as_bytes()), matches, "{pattern} {path}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_is_too_strange(pattern in "[*?a\\[\\]/-]{0,8}", path in "[a/b]{0,8}", word in ".{1,4}") {
            let _ = is_match(pattern.as_bytes(), path.as_bytes());
            let _ = is_in(&path, &word);
        }
    }
}
