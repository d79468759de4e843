//! Turns the rank files of `vocabulary/` into tables that are read where they lie in the binary.
//!
//! For each encoding: the bytes of all tokens one after another, where each begins, and a hash table from bytes to id.

use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

#[path = "src/bpe/layout.rs"]
mod layout;

const ENCODINGS: [&str; 3] = ["o200k_base", "cl100k_base", "p50k_base"];
/// A vocabulary that is the beginning of another: its name, the other's, and how many tokens it has.
const BEGINNINGS: [(&str, &str, usize); 1] = [("r50k_base", "p50k_base", 50_256)];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/bpe/layout.rs");
    let source = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("vocabulary");
    let target = std::env::var("OUT_DIR").expect("cargo sets it");
    for name in ENCODINGS {
        let file = source.join(format!("{name}.tiktoken.gz"));
        println!("cargo::rerun-if-changed={}", file.display());
        let tokens = read_ranks(&file);
        assert!((0..=255).all(|byte: u8| tokens.contains(&vec![byte])), "{name}: every byte must be a token");
        let write = |part: &str, table: Vec<u8>| {
            fs::write(Path::new(&target).join(format!("{name}.{part}")), table).expect("the build folder is writable");
        };
        write("bytes", tokens.concat());
        write("starts", layout::starts(&tokens));
        write("slots", layout::slots(&tokens));
        for (beginning, _, length) in BEGINNINGS.iter().filter(|(_, whole, _)| *whole == name) {
            // The rest of its tables is the beginning of this one's.
            let file = Path::new(&target).join(format!("{beginning}.slots"));
            fs::write(file, layout::slots(&tokens[..*length])).expect("the build folder is writable");
        }
    }
}

/// The tokens of a rank file, in order of rank; one that is left out, because it is a special token's, has no bytes.
fn read_ranks(file: &Path) -> Vec<Vec<u8>> {
    let compressed = fs::read(file).expect("the rank file is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&compressed[..]).read_to_string(&mut text).expect("the rank file is gzip");
    let mut tokens = Vec::new();
    for line in text.lines() {
        let (bytes, rank) = line.split_once(' ').expect("bytes and rank");
        let rank: usize = rank.parse().expect("a rank");
        assert!(rank >= tokens.len(), "ranks are ascending");
        tokens.resize(rank, Vec::new());
        tokens.push(STANDARD.decode(bytes).expect("base64"));
    }
    tokens
}
