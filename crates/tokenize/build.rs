//! Unpacks the rank files of `vocabulary/`: for each encoding the bytes of all tokens one after another, and the length of
//! each; for the default one also the hash table that finds a token by its bytes.

#[allow(dead_code, reason = "it only makes a table")]
#[path = "src/bpe/layout.rs"]
mod layout;

use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The encoding with a table.
const DEFAULT: &str = "o200k_base";

const ENCODINGS: [&str; 3] = ["o200k_base", "cl100k_base", "p50k_base"];

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
        let length = |token: &Vec<u8>| u8::try_from(token.len()).expect("a token has at most 255 bytes");
        write("lengths", tokens.iter().map(length).collect());
        if name == DEFAULT {
            let end = |at: &mut u32, token: &Vec<u8>| {
                *at += token.len() as u32;
                Some(*at)
            };
            let starts: Vec<u32> = std::iter::once(0).chain(tokens.iter().scan(0, end)).collect();
            write("slots", layout::slots(&tokens.concat(), &starts).concat());
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
