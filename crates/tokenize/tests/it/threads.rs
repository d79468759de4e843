//! Loading and counting stay on the thread that asks.
#![cfg(target_os = "linux")]

use std::fs;

use aiperf_tokenize::{Lookup, Tokenizer};
use serde_json::{Value, json};

/// The threads with the name of this one, which those it starts inherit. Linux keeps 15 bytes of a name: those of no
/// other test here begin with `threads::loadin`.
fn threads() -> usize {
    let name = fs::read("/proc/thread-self/comm").unwrap();
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks.filter(|task| fs::read(task.as_ref().unwrap().path().join("comm")).is_ok_and(|other| other == name)).count()
}

#[test]
fn loading_and_counting_starts_no_thread() {
    let golden = aiperf_golden::own_path("tiny-model/tokenizer.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&golden).unwrap()).unwrap();
    file["normalizer"] = json!({"type": "Lowercase"});
    let folder = tempfile::tempdir().unwrap();
    let for_the_library = folder.path().join("tokenizer.json");
    fs::write(&for_the_library, file.to_string()).unwrap();

    for name in ["builtin", golden.to_str().unwrap(), for_the_library.to_str().unwrap()] {
        let tokenizer = Tokenizer::load(name, &Lookup::default()).unwrap();
        assert!(tokenizer.count(&"Some words. ".repeat(2000)) > 2000);
    }
    assert_eq!(threads(), 1);
}
