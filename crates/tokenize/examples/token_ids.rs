//! Writes the token ids of documents, for `scripts/check-tokens`: NUL-separated text in, the ids of each document out as
//! little-endian words, a word of all ones behind each.

use aiperf_tokenize::{Lookup, Tokenizer};
use std::io::{Read, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).ok_or("which tokenizer?")?;
    let tokenizer = Tokenizer::load(&name, &Lookup::default())?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for document in text.split('\0') {
        for id in tokenizer.encode(document).into_iter().chain([u32::MAX]) {
            out.write_all(&id.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}
