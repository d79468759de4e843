//! Checks the lengths that an Arrow file declares for its parts. The Arrow reader allocates memory by them before it
//! checks anything else, so a wrong length could end the program.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Message, RecordBatch, root_as_message};
use arrow_schema::ArrowError;

/// Every message begins with these bytes; the length of its metadata follows.
const CONTINUES: [u8; 4] = [0xff; 4];
/// Limits for an uncompressed buffer: bytes, and how many times its compressed length.
const LARGEST: u64 = 4 << 30;
const MOST_GROWN: u64 = 4096;
/// A buffer that is stored uncompressed has this in place of its length.
const AS_IT_IS: i64 = -1;

/// Checks the messages of a stream, from the reader's position to the last one, and leaves the reader behind it.
/// Returns whether the end marker follows.
pub(super) fn check(from: &mut (impl Read + Seek)) -> Result<bool, ArrowError> {
    let mut at = from.stream_position()?;
    let end = from.seek(SeekFrom::End(0))?;
    loop {
        from.seek(SeekFrom::Start(at))?;
        let mut head = [0; 8];
        if from.read_exact(&mut head).is_err() || head[..4] != CONTINUES {
            return Ok(false);
        }
        let described = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        let body = at + 8 + described;
        if described == 0 || body > end {
            return Ok(described == 0);
        }
        let mut bytes = vec![0; described as usize];
        from.read_exact(&mut bytes)?;
        let message = root_as_message(&bytes).map_err(|error| wrong(error.to_string()))?;
        let length = u64::try_from(message.bodyLength()).map_err(|_| wrong("a length is negative".into()))?;
        if length > end - body {
            return Err(wrong(format!("{length} bytes should follow, and {} do", end - body)));
        }
        if let Some(batch) = batch(&message) {
            buffers(from, &batch, body, length)?;
        }
        at = body + length;
    }
}

fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
}

/// Checks the uncompressed lengths that compressed buffers declare.
fn buffers(from: &mut (impl Read + Seek), batch: &RecordBatch<'_>, body: u64, most: u64) -> Result<(), ArrowError> {
    let Some(buffers) = batch.buffers().filter(|_| batch.compression().is_some()) else { return Ok(()) };
    for buffer in buffers {
        let place = u64::try_from(buffer.offset()).ok().zip(u64::try_from(buffer.length()).ok());
        let inside = |(at, length): &(u64, u64)| at.checked_add(*length).is_some_and(|end| end <= most);
        let Some((at, length)) = place.filter(inside) else {
            return Err(wrong("a buffer is outside of what holds it".into()));
        };
        if length < 8 {
            continue;
        }
        from.seek(SeekFrom::Start(body + at))?;
        let mut grown = [0; 8];
        from.read_exact(&mut grown)?;
        match i64::from_le_bytes(grown) {
            AS_IT_IS => {}
            grown
                if u64::try_from(grown).is_ok_and(|grown| grown <= LARGEST.min(length.saturating_mul(MOST_GROWN))) => {}
            grown => {
                return Err(wrong(format!("{length} bytes declare an uncompressed length of {grown}")));
            }
        }
    }
    Ok(())
}

fn wrong(what: String) -> ArrowError {
    ArrowError::ParseError(what)
}
