//! Lists of cases: a file may contain one, under `cases` or as a whole, or several under names of their own.

use crate::{Area, CaseList};
use serde_json::{Value, json};

impl Area {
    /// Every list of cases in the folder, as if it were a file of its own. A member with an expectation is a list of
    /// one.
    pub fn lists(&self) -> Vec<CaseList> {
        self.files().iter().flat_map(CaseList::lists).collect()
    }
}

impl CaseList {
    pub(crate) fn lists(&self) -> Vec<CaseList> {
        lists(self)
    }
}

fn lists(file: &CaseList) -> Vec<CaseList> {
    let list = |path: &str, cases: Value| CaseList {
        path: file.path.with_file_name(path),
        content: json!({ "cases": cases }),
    };
    match &file.content {
        Value::Array(_) => vec![file.clone()],
        Value::Object(members) => members
            .iter()
            .filter_map(|(key, member)| {
                // Members beside `cases` are about the cases, and stay with them.
                if key == "cases" && member.is_array() {
                    return Some(file.clone());
                }
                let path = format!("{} {key}", file.name());
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
    fn a_file_contains_one_list_or_several() {
        let named = |content: Value| -> Vec<(String, usize)> {
            let file = CaseList { path: PathBuf::from("some/file.json"), content };
            lists(&file).iter().map(|list| (list.name(), list.cases().len())).collect()
        };
        assert_eq!(named(json!({ "doc": "text", "cases": [{}, {}] })), [("file".to_owned(), 2)]);
        assert_eq!(named(json!([{}])), [("file".to_owned(), 1)]);
        let several = named(json!({ "one": [{}], "other": { "expected": 1 }, "settings": {} }));
        assert_eq!(several, [("file one".to_owned(), 1), ("file other".to_owned(), 1)]);
    }
}
