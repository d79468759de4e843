//! Within every crate, files depend on each other in one direction: there are no cycles.
//!
//! The test reads the imports and paths (`crate::`, `super::`, `self::`) of all code outside `#[cfg(test)]`, and
//! follows re-exports to the file that defines a name. It ignores the arrow from a module to its own children, because
//! a table lists its rows.

use crate::layouts;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module, as its path from the crate root; the root is empty.
type Module = Vec<String>;

/// Splits code into names and punctuation, without comments, strings and characters.
fn tokens(code: &str) -> Vec<String> {
    let letters: Vec<char> = code.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    while let Some(&letter) = letters.get(at) {
        let next = letters.get(at + 1).copied().unwrap_or(' ');
        match letter {
            '/' if next == '/' => at += letters[at..].iter().take_while(|letter| **letter != '\n').count(),
            '/' if next == '*' => at = end_of_comment(&letters, at),
            '"' => at = end_of_text(&letters, at),
            'r' | 'b' if is_raw_text(&letters[at..]) => at = end_of_raw_text(&letters, at),
            // A lifetime is not a character.
            '\'' if next == '\\' || letters.get(at + 2) == Some(&'\'') => {
                let from = at + if next == '\\' { 3 } else { 2 };
                at = from + letters[from..].iter().take_while(|letter| **letter != '\'').count() + 1;
            }
            _ if is_name(letter) => {
                let name: String = letters[at..].iter().take_while(|letter| is_name(**letter)).collect();
                at += name.chars().count();
                found.push(name);
            }
            ':' if next == ':' => {
                found.push("::".to_owned());
                at += 2;
            }
            _ => {
                if !letter.is_whitespace() {
                    found.push(letter.to_string());
                }
                at += 1;
            }
        }
    }
    found
}

fn end_of_comment(letters: &[char], from: usize) -> usize {
    let mut depth = 0;
    let mut at = from;
    while at < letters.len() {
        match (letters[at], letters.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn end_of_text(letters: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < letters.len() && letters[at] != '"' {
        at += if letters[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn is_raw_text(letters: &[char]) -> bool {
    let start = if letters.starts_with(&['b', 'r']) { 2 } else { 1 };
    let hashes = letters[start..].iter().take_while(|letter| **letter == '#').count();
    letters[start - 1] == 'r' && letters.get(start + hashes) == Some(&'"')
}

fn end_of_raw_text(letters: &[char], from: usize) -> usize {
    let open = from + letters[from..].iter().take_while(|letter| **letter != '"').count();
    let hashes = letters[from..open].iter().filter(|letter| **letter == '#').count();
    let mut at = open + 1;
    while at < letters.len() {
        if letters[at] == '"'
            && letters[at + 1..].iter().take(hashes).filter(|letter| **letter == '#').count() == hashes
        {
            return at + 1 + hashes;
        }
        at += 1;
    }
    at
}

/// The tokens without items that only tests have, and the names of modules among those items.
fn without_tests(tokens: &[String]) -> (Vec<String>, BTreeSet<String>) {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules, mut at) = (Vec::new(), BTreeSet::new(), 0);
    while at < tokens.len() {
        if !tokens[at..].iter().take(CFG_TEST.len()).eq(CFG_TEST.iter()) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += CFG_TEST.len();
        let (start, mut depth) = (at, 0);
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                ";" if depth == 0 => break,
                _ => continue,
            }
            if depth == 0 && token == "}" {
                break;
            }
        }
        let item = &tokens[start..at];
        if let Some(name) = item.iter().position(|token| token == "mod") {
            modules.insert(item[name + 1].clone());
        }
    }
    (kept, modules)
}

/// The paths of a tree of imports, each with its name in this file; returns where the tree ends.
fn paths(tokens: &[String], mut at: usize, before: &[String], found: &mut Vec<(Vec<String>, String)>) -> usize {
    let mut path = before.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("::") => at += 1,
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = paths(tokens, at, &path, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token == ","));
                }
                return at + 1;
            }
            Some("as") => {
                let name = tokens.get(at + 1).cloned().unwrap_or_default();
                found.push((path, name));
                return at + 2;
            }
            Some(segment)
                if segment == "*" || segment.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') =>
            {
                path.push(segment.to_owned());
                at += 1;
                if tokens.get(at).is_none_or(|token| token != "::" && token != "as") {
                    if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
                        path.pop();
                    }
                    let name = path.last().cloned().unwrap_or_default();
                    found.push((path, name));
                    return at;
                }
            }
            _ => return at + 1,
        }
    }
}

/// The paths in one file, and its re-exports.
#[derive(Default)]
struct Source {
    /// Paths, each with the module that contains it.
    named: Vec<(Module, Vec<String>)>,
    exported: Vec<(Vec<String>, String)>,
}

impl Source {
    fn read(module: &Module, tokens: &[String]) -> Self {
        let mut source = Self::default();
        let (mut inside, mut depth) = (Vec::new(), 0);
        let mut at = 0;
        while at < tokens.len() {
            let here = || module.iter().chain(inside.iter().map(|(name, _)| name)).cloned().collect::<Module>();
            match tokens[at].as_str() {
                "mod" if tokens.get(at + 2).is_some_and(|token| token == "{") => {
                    depth += 1;
                    inside.push((tokens[at + 1].clone(), depth));
                    at += 3;
                }
                "{" => (depth, at) = (depth + 1, at + 1),
                "}" => {
                    inside.retain(|(_, opened)| *opened < depth);
                    depth -= 1;
                    at += 1;
                }
                "use" => {
                    let is_exported = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                    let mut found = Vec::new();
                    let end = paths(tokens, at + 1, &[], &mut found);
                    if is_exported && inside.is_empty() {
                        source.exported.extend(found.iter().cloned());
                    }
                    source.named.extend(found.into_iter().map(|(path, _)| (here(), path)));
                    at = end;
                }
                "crate" | "super" if tokens.get(at + 1).is_some_and(|token| token == "::") => {
                    let mut found = Vec::new();
                    at = paths(tokens, at, &[], &mut found);
                    source.named.extend(found.into_iter().map(|(path, _)| (here(), path)));
                }
                _ => at += 1,
            }
        }
        source
    }
}

/// The files of a crate that are not tests.
struct Crate {
    sources: BTreeMap<Module, Source>,
}

impl Crate {
    fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        rust_files(root, &mut files);
        let mut sources = BTreeMap::new();
        let mut tests: BTreeSet<Module> = BTreeSet::new();
        for file in files {
            let place = file.strip_prefix(root).expect("a file below the root").with_extension("");
            let mut module: Module = place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| last == "mod") || module == ["lib"] || module == ["main"] {
                module.pop();
            }
            let code = fs::read_to_string(&file).expect("a readable file");
            let (tokens, test_modules) = without_tests(&tokens(&code));
            tests.extend(test_modules.into_iter().map(|name| module.iter().cloned().chain([name]).collect()));
            sources.insert(module.clone(), Source::read(&module, &tokens));
        }
        sources.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Self { sources }
    }

    /// The module that a path leads to from a module, and the first name past it.
    fn resolve<'a>(&self, from: &Module, path: &'a [String]) -> Option<(Module, Option<&'a str>)> {
        let mut module = match path.first().map(String::as_str)? {
            "crate" => Vec::new(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            "self" => from.clone(),
            child => {
                let child: Module = from.iter().cloned().chain([child.to_owned()]).collect();
                if !self.sources.contains_key(&child) {
                    return None;
                }
                child
            }
        };
        let mut rest = &path[1..];
        while let Some(segment) = rest.first() {
            if segment == "super" {
                module.pop();
            } else {
                module.push(segment.clone());
                if !self.sources.contains_key(&module) {
                    module.pop();
                    break;
                }
            }
            rest = &rest[1..];
        }
        Some((module, rest.first().map(String::as_str)))
    }

    /// The file that defines the item of a path; follows re-exports.
    fn definition(&self, from: &Module, path: &[String]) -> Option<Module> {
        let (mut module, name) = self.resolve(from, path)?;
        let mut name = name?.to_owned();
        for _ in 0..8 {
            let exported = &self.sources.get(&module)?.exported;
            let Some((path, _)) = exported.iter().find(|(_, known)| *known == name) else { break };
            match self.resolve(&module, path) {
                Some((next, Some(last))) if next != module => (module, name) = (next, last.to_owned()),
                _ => break,
            }
        }
        Some(module)
    }

    /// Arrows between files, without those from and to the root, and from a module to its children.
    fn arrows(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let mut arrows = BTreeMap::new();
        for (module, source) in self.sources.iter().filter(|(module, _)| !module.is_empty()) {
            let used = source.named.iter().filter_map(|(from, path)| {
                self.definition(from, path).or_else(|| self.resolve(from, path).map(|(module, _)| module))
            });
            let used: BTreeSet<Module> = used.filter(|used| !used.is_empty() && !used.starts_with(module)).collect();
            arrows.insert(module, used);
        }
        arrows
    }

    /// Cycles: sets of files that reach each other.
    fn rings(&self) -> Vec<BTreeSet<String>> {
        let arrows = self.arrows();
        let reached = |from: &Module| {
            let (mut reached, mut left) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = left.pop() {
                let next = arrows.get(&module).into_iter().flatten();
                left.extend(next.filter(|next| reached.insert((*next).clone())).cloned().collect::<Vec<_>>());
            }
            reached
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> = arrows.keys().map(|from| (*from, reached(from))).collect();
        let mut rings: Vec<BTreeSet<String>> = Vec::new();
        for (module, others) in &reached {
            let is_back = |other: &&Module| reached.get(*other).is_some_and(|back| back.contains(*module));
            let ring: BTreeSet<String> = others.iter().filter(is_back).map(|module| module.join("::")).collect();
            if ring.len() > 1 && !rings.contains(&ring) {
                rings.push(ring);
            }
        }
        rings
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a readable folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn files_of_a_crate_depend_on_each_other_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut faults = Vec::new();
    for folder in fs::read_dir(crates).expect("crates lie in crates/").flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        let source = folder.path().join("src");
        let rings = if source.is_dir() { Crate::read(&source).rings() } else { Vec::new() };
        faults.extend(rings.into_iter().map(|ring| {
            let files = ring.into_iter().collect::<Vec<_>>().join(", ");
            format!("{name}: {files} use each other in a ring; move what they share into a file of its own")
        }));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_folders_of_the_engine_are_floors() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src");
    // Its root lists them from the bottom up.
    let floors = layouts::listed(&fs::read_to_string(source.join("lib.rs")).expect("a crate has a root"));
    let floor = |part: &String| floors.iter().position(|floor| floor == part);
    let mut faults = Vec::new();
    for (module, used) in Crate::read(&source).arrows() {
        let own = floor(&module[0]);
        // Only the queue lies between sending and recording.
        let is_other_half = |other: &str| module[0] == "recording" && other == "sending";
        let is_above = |other: &&Module| other[0] != module[0] && (floor(&other[0]) >= own || is_other_half(&other[0]));
        faults
            .extend(used.iter().filter(is_above).map(|used| format!("{} uses {}", module.join("::"), used.join("::"))));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
