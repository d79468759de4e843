//! HPACK (RFC 7541): header blocks of requests decoded, those of responses written as literals.

use std::collections::VecDeque;
use std::sync::LazyLock;

/// The largest dynamic table a client may fill: the default of HTTP/2, which this server does not change.
const TABLE_LIMIT: usize = 4096;
/// What an entry of the dynamic table counts beside its bytes.
const ENTRY_OVERHEAD: usize = 32;
/// A header block that decodes to more than this is refused.
const LARGEST_BLOCK: usize = 64 << 10;

/// Bytes that are no header block; the whole connection is lost with them, as its table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

type Field = (Vec<u8>, Vec<u8>);

const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Bits of each symbol's Huffman code. The code is canonical: lengths define it.
#[rustfmt::skip]
const CODE_LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const LONGEST_CODE: usize = 30;

/// Symbols in the order of their codes, and for each length the first code and where its symbols begin.
struct Huffman {
    symbols: Vec<u16>,
    first: [(u32, u32, u32); LONGEST_CODE + 1],
}

static HUFFMAN: LazyLock<Huffman> = LazyLock::new(|| {
    let mut symbols: Vec<u16> = (0..257).collect();
    symbols.sort_by_key(|symbol| CODE_LENGTHS[usize::from(*symbol)]);
    let mut first = [(0, 0, 0); LONGEST_CODE + 1];
    let (mut code, mut start) = (0u32, 0u32);
    for (length, row) in first.iter_mut().enumerate() {
        code <<= 1;
        let count = CODE_LENGTHS.iter().filter(|bits| usize::from(**bits) == length).count() as u32;
        *row = (code, count, start);
        code += count;
        start += count;
    }
    Huffman { symbols, first }
});

fn huffman(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let (mut code, mut length) = (0u32, 0usize);
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1)) {
        code = code << 1 | u32::from(bit);
        length += 1;
        let (first, count, start) = *HUFFMAN.first.get(length).ok_or(Malformed)?;
        if code >= first && code - first < count {
            let symbol = HUFFMAN.symbols[(start + code - first) as usize];
            out.push(u8::try_from(symbol).map_err(|_| Malformed)?);
            (code, length) = (0, 0);
        }
    }
    // What is left is padding: fewer than eight ones.
    if length < 8 && code == (1 << length) - 1 { Ok(out) } else { Err(Malformed) }
}

/// Decodes the header blocks of one connection, in order.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// Newest first.
    dynamic: VecDeque<Field>,
    size: usize,
    limit: usize,
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Decoder { dynamic: VecDeque::new(), size: 0, limit: TABLE_LIMIT }
    }

    pub(crate) fn decode(&mut self, mut block: &[u8]) -> Result<Vec<Field>, Malformed> {
        let mut fields = Vec::new();
        let mut total = 0;
        while let Some(&first) = block.first() {
            let field = match first {
                0x80.. => self.entry(integer(&mut block, 7)?)?,
                0x40.. => {
                    let field = self.literal(&mut block, 6)?;
                    self.insert(field.clone());
                    field
                }
                0x20.. => {
                    let limit = integer(&mut block, 5)?;
                    if limit > TABLE_LIMIT {
                        return Err(Malformed);
                    }
                    self.limit = limit;
                    self.evict();
                    continue;
                }
                // Without indexing, and never indexed.
                _ => self.literal(&mut block, 4)?,
            };
            total += field.0.len() + field.1.len() + ENTRY_OVERHEAD;
            if total > LARGEST_BLOCK {
                return Err(Malformed);
            }
            fields.push(field);
        }
        Ok(fields)
    }

    fn entry(&self, index: usize) -> Result<Field, Malformed> {
        let index = index.checked_sub(1).ok_or(Malformed)?;
        match STATIC.get(index) {
            Some((name, value)) => Ok((name.as_bytes().to_vec(), value.as_bytes().to_vec())),
            None => self.dynamic.get(index - STATIC.len()).cloned().ok_or(Malformed),
        }
    }

    fn literal(&self, block: &mut &[u8], prefix: u8) -> Result<Field, Malformed> {
        let name = match integer(block, prefix)? {
            0 => string(block)?,
            index => self.entry(index)?.0,
        };
        Ok((name, string(block)?))
    }

    fn insert(&mut self, field: Field) {
        self.size += field.0.len() + field.1.len() + ENTRY_OVERHEAD;
        self.dynamic.push_front(field);
        self.evict();
    }

    fn evict(&mut self) {
        while self.size > self.limit
            && let Some((name, value)) = self.dynamic.pop_back()
        {
            self.size -= name.len() + value.len() + ENTRY_OVERHEAD;
        }
    }
}

fn integer(block: &mut &[u8], prefix: u8) -> Result<usize, Malformed> {
    let mut next = || {
        let (first, rest) = block.split_first().ok_or(Malformed)?;
        *block = rest;
        Ok(*first)
    };
    let most = (1usize << prefix) - 1;
    let mut value = usize::from(next()?) & most;
    if value < most {
        return Ok(value);
    }
    for shift in (0..28).step_by(7) {
        let byte = next()?;
        value += usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Malformed)
}

fn string(block: &mut &[u8]) -> Result<Vec<u8>, Malformed> {
    let coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(block, 7)?;
    let (text, rest) = block.split_at_checked(length).ok_or(Malformed)?;
    *block = rest;
    if coded { huffman(text) } else { Ok(text.to_vec()) }
}

/// Announces that this side keeps no dynamic table, so that a later change of its limit needs no message.
pub(crate) fn write_no_table(out: &mut Vec<u8>) {
    out.push(0x20);
}

/// Appends a field as a literal that is not stored.
pub(crate) fn write_field(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(0);
    for text in [name, value] {
        write_length(out, text.len());
        out.extend_from_slice(text.as_bytes());
    }
}

fn write_length(out: &mut Vec<u8>, length: usize) {
    if length < 0x7f {
        out.push(length as u8);
        return;
    }
    out.push(0x7f);
    let mut rest = length - 0x7f;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(decoder: &mut Decoder, hex: &str) -> Vec<(String, String)> {
        let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let bytes: Vec<u8> =
            digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        decoder.decode(&bytes).unwrap().into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn field(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        // RFC 7541, C.4: Huffman coded requests that fill the dynamic table.
        let mut decoder = Decoder::new();
        let first = fields(&mut decoder, "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff");
        let common = [field(":method", "GET"), field(":scheme", "http"), field(":path", "/")];
        assert_eq!(first[..3], common);
        assert_eq!(first[3], field(":authority", "www.example.com"));
        let second = fields(&mut decoder, "8286 84be 5886 a8eb 1064 9cbf");
        assert_eq!(second[3..], [field(":authority", "www.example.com"), field("cache-control", "no-cache")]);
        let third = fields(&mut decoder, "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf");
        assert_eq!(third[4], field("custom-key", "custom-value"));
        assert_eq!(decoder.size, 164);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let long = "x".repeat(5_000);
        let mut out = Vec::new();
        write_no_table(&mut out);
        write_field(&mut out, "a", "b");
        write_field(&mut out, "long", &long);
        let read = Decoder::new().decode(&out).unwrap();
        assert_eq!(read, [(b"a".to_vec(), b"b".to_vec()), (b"long".to_vec(), long.into_bytes())]);
    }

    #[test]
    fn nonsense_is_refused() {
        for block in
            [&[0x80][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[0xbe], &[0x00, 0x05, b'a'], &[0x3f, 0xe2, 0x1f]]
        {
            assert_eq!(Decoder::new().decode(block), Err(Malformed), "{block:x?}");
        }
    }
}
