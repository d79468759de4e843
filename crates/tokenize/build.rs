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

const ENCODINGS: [&str; 2] = ["o200k_base", "cl100k_base"];

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
        write("starts", starts(&tokens));
        write("slots", slots(&tokens));
    }
}

/// The tokens of a rank file, in order of rank.
fn read_ranks(file: &Path) -> Vec<Vec<u8>> {
    let compressed = fs::read(file).expect("the rank file is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&compressed[..]).read_to_string(&mut text).expect("the rank file is gzip");
    text.lines()
        .enumerate()
        .map(|(expected, line)| {
            let (bytes, rank) = line.split_once(' ').expect("bytes and rank");
            assert_eq!(rank.parse(), Ok(expected), "ranks follow each other");
            STANDARD.decode(bytes).expect("base64")
        })
        .collect()
}

fn starts(tokens: &[Vec<u8>]) -> Vec<u8> {
    let mut start = 0_u32;
    let mut table = start.to_le_bytes().to_vec();
    for token in tokens {
        start += token.len() as u32;
        table.extend(start.to_le_bytes());
    }
    table
}

fn slots(tokens: &[Vec<u8>]) -> Vec<u8> {
    // At most half full: a miss, the common case while merging, is then known after one or two slots.
    let mut table = vec![layout::EMPTY; (tokens.len() * 2).next_power_of_two()];
    for (id, token) in tokens.iter().enumerate() {
        let hash = layout::hash(token);
        let mut at = layout::first_slot(hash, table.len());
        while table[at] != layout::EMPTY {
            at = layout::next_slot(at, table.len());
        }
        table[at] = layout::slot(hash, id as u32);
    }
    table.iter().flat_map(|slot| slot.to_le_bytes()).collect()
}
