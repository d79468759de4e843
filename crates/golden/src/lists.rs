//! Lists of cases: a file may hold one, under `cases` or as a whole, or several under names of their own.

use crate::{Area, File, Tally, name};
use serde_json::{Value, json};

impl Area {
    /// Every list of cases in the folder, as if it were a file of its own. A member with an expectation is a list of one.
    pub fn lists(&self) -> Vec<File> {
        self.files().iter().flat_map(lists).collect()
    }

    /// Runs every case that looks like one of a kind, in whatever list some do. `skip` gives the reason why a case cannot be
    /// run, by its content.
    #[track_caller]
    pub fn run_cases(
        &self,
        title: &str,
        is_of_kind: impl Fn(&Value) -> bool,
        skip: impl Fn(&Value) -> Option<&'static str>,
        check: impl Fn(&Value),
    ) {
        let mut tally = Tally::new(title);
        tally.searched = true;
        for list in self.lists().iter().filter(|list| list.cases().iter().any(&is_of_kind)) {
            for case in list.cases() {
                let reason = if is_of_kind(case) { skip(case) } else { Some("a case of another kind") };
                match reason {
                    Some(reason) => tally.skip(reason),
                    None => tally.run(format!("{}: {}", list.name(), name(case)), || check(case)),
                }
            }
        }
        tally.finish();
    }

    /// Says which lists hold no case of any of these kinds.
    #[track_caller]
    pub fn tell_unread_lists(&self, title: &str, kinds: &[fn(&Value) -> bool]) {
        let mut tally = Tally::new(title);
        let is_read = |list: &File| list.cases().iter().any(|case| kinds.iter().any(|is_of_kind| is_of_kind(case)));
        self.lists().iter().filter(|list| !is_read(list)).for_each(|list| tally.leave_unread(list));
        tally.finish();
    }
}

fn lists(file: &File) -> Vec<File> {
    let list =
        |path: &str, cases: Value| File { path: file.path.with_file_name(path), content: json!({ "cases": cases }) };
    match &file.content {
        Value::Array(_) => vec![list(&file.name(), file.content.clone())],
        Value::Object(members) => members
            .iter()
            .filter_map(|(key, member)| {
                let path = if key == "cases" { file.name() } else { format!("{} {key}", file.name()) };
                match member {
                    Value::Array(_) => Some(list(&path, member.clone())),
                    Value::Object(_) if member.get("expected").is_some() => Some(list(&path, json!([member]))),
                    _ => None,
                }
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_file_holds_one_list_or_several() {
        let named = |content: Value| -> Vec<(String, usize)> {
            let file = File { path: PathBuf::from("some/file.json"), content };
            lists(&file).iter().map(|list| (list.name(), list.cases().len())).collect()
        };
        assert_eq!(named(json!({ "doc": "text", "cases": [{}, {}] })), [("file".to_owned(), 2)]);
        assert_eq!(named(json!([{}])), [("file".to_owned(), 1)]);
        let several = named(json!({ "one": [{}], "other": { "expected": 1 }, "settings": {} }));
        assert_eq!(several, [("file one".to_owned(), 1), ("file other".to_owned(), 1)]);
    }
}
