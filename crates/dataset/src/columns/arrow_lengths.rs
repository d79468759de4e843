//! The lengths that a file of Arrow says its parts have. Its reader takes memory by them before it looks any further, so one
//! that cannot be right would end the program.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Message, RecordBatch, root_as_message};
use arrow_schema::ArrowError;

/// What every message begins with, before the length of what describes it.
const CONTINUES: [u8; 4] = [0xff; 4];
/// Bytes that one buffer may become, and how many times its own length.
const LARGEST: u64 = 4 << 30;
const MOST_GROWN: u64 = 4096;
/// A buffer that is not compressed after all says this in place of its length.
const AS_IT_IS: i64 = -1;

/// Looks through the messages of a stream, from where a reader is to the last, which is where it leaves the reader.
/// Returns whether the mark of the end follows them.
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

/// Of what is compressed, the lengths that it says it had.
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
            grown => return Err(wrong(format!("{length} bytes are said to become {grown}"))),
        }
    }
    Ok(())
}

fn wrong(what: String) -> ArrowError {
    ArrowError::ParseError(what)
}
