//! One connection's socket: reads with the kernel's stamp, and writes that never block and are never lost.

use std::collections::VecDeque;
use std::io::ErrorKind;

use crate::clock::wall_ns;
use crate::stamps;
use crate::stream::Stream;
use crate::tls::Tls;
use crate::truth::{Bracket, Payload, TruthRecord, WriteIndex};

/// When bytes came in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival {
    pub(crate) kernel_ns: Option<u64>,
    pub(crate) read_ns: u64,
}

/// Bytes of a TLS record that may have been read before its end was.
const LARGEST_RECORD: usize = 20 << 10;

/// What a read returned.
pub(crate) enum ReadResult {
    Bytes {
        /// Plain bytes, now at the start of the buffer; none where records carried no data.
        count: usize,
        /// The socket has nothing more.
        drained: bool,
    },
    /// Nothing for now.
    Nothing,
    /// The other side is gone.
    Closed,
}

/// A socket with what could not be written yet.
pub(crate) struct Socket {
    stream: Stream,
    tls: Option<Tls>,
    stamped: bool,
    pending: Vec<u8>,
    written: usize,
    /// Ends, within `pending`, of the writes whose record waits for them.
    marks: VecDeque<(usize, u32, WriteIndex)>,
    failed: bool,
}

impl Socket {
    /// Takes an accepted connection; `stamped` when its listener was asked to [`stamps::stamp_arrivals`].
    pub(crate) fn new(stream: Stream, tls: Option<Tls>, stamped: bool) -> std::io::Result<Self> {
        stream.prepare()?;
        Ok(Socket { stream, tls, stamped, pending: Vec::new(), written: 0, marks: VecDeque::new(), failed: false })
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The other side is gone: nothing that is sent arrives.
    pub(crate) fn failed(&self) -> bool {
        self.failed
    }

    /// Everything sent was taken by the kernel.
    pub(crate) fn flushed(&self) -> bool {
        self.pending.is_empty()
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> (ReadResult, Arrival) {
        if self.tls.is_none() {
            return self.read_raw(buffer);
        }
        let room = buffer.len().saturating_sub(LARGEST_RECORD);
        let (result, arrival) = self.read_raw(&mut buffer[..room]);
        match result {
            ReadResult::Bytes { count, drained } => (self.decrypt(buffer, count, drained), arrival),
            result => (result, arrival),
        }
    }

    /// Turns the records in the buffer into what they carry.
    fn decrypt(&mut self, buffer: &mut [u8], count: usize, drained: bool) -> ReadResult {
        let Some(tls) = &mut self.tls else { return ReadResult::Bytes { count, drained } };
        let (mut plain, mut out) = (Vec::new(), Vec::new());
        let outcome = tls.receive(&buffer[..count], &mut plain, &mut out);
        if !out.is_empty() {
            let taken = self.try_send(&out);
            self.pending.extend_from_slice(&out[taken..]);
        }
        // A record may have waited in the session for its end, hence the room left by the read.
        let Some(place) = buffer.get_mut(..plain.len()) else { return ReadResult::Closed };
        place.copy_from_slice(&plain);
        match outcome {
            Ok(()) => ReadResult::Bytes { count: plain.len(), drained },
            Err(_) => ReadResult::Closed,
        }
    }

    fn read_raw(&mut self, buffer: &mut [u8]) -> (ReadResult, Arrival) {
        if self.stamped {
            return self.read_stamped(buffer);
        }
        let incoming = match self.stream.read(buffer) {
            Ok(0) => ReadResult::Closed,
            // A read that does not fill the buffer has emptied the socket.
            Ok(count) => ReadResult::Bytes { count, drained: count < buffer.len() },
            Err(error) if error.kind() == ErrorKind::WouldBlock => ReadResult::Nothing,
            Err(error) if error.kind() == ErrorKind::Interrupted => ReadResult::Nothing,
            Err(_) => ReadResult::Closed,
        };
        (incoming, Arrival::default())
    }

    fn read_stamped(&mut self, buffer: &mut [u8]) -> (ReadResult, Arrival) {
        let received = stamps::receive(&self.stream, buffer);
        let read_ns = wall_ns();
        let incoming = match received {
            Ok((0, _)) => ReadResult::Closed,
            Ok((count, kernel_ns)) => {
                let drained = count < buffer.len();
                return (ReadResult::Bytes { count, drained }, Arrival { kernel_ns, read_ns });
            }
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => ReadResult::Nothing,
            Err(_) => ReadResult::Closed,
        };
        (incoming, Arrival::default())
    }

    /// Sends `bytes` with one write, as far as the socket takes them; the rest goes when it can.
    pub(crate) fn send(
        &mut self,
        bytes: &[u8],
        record: Option<&mut TruthRecord>,
        payload: Payload,
    ) -> Option<WriteIndex> {
        let records;
        let bytes = match &mut self.tls {
            None => bytes,
            Some(tls) => {
                records = tls.encrypt(bytes);
                &records
            }
        };
        let Some(record) = record else {
            let taken = self.try_send(bytes);
            self.pending.extend_from_slice(&bytes[taken..]);
            return None;
        };
        let before_ns = wall_ns();
        let taken = self.try_send(bytes);
        let after_ns = wall_ns();
        let place = record.record_write(Bracket { before_ns, after_ns }, payload);
        self.keep_rest(&bytes[taken..], record.stream, place);
        Some(place)
    }

    /// Sends more of what an earlier write began, which ends with this one.
    pub(crate) fn send_more(
        &mut self,
        bytes: &[u8],
        record: Option<&mut TruthRecord>,
        place: WriteIndex,
    ) -> Option<WriteIndex> {
        let records = self.tls.as_mut().map(|tls| tls.encrypt(bytes));
        let bytes = records.as_deref().unwrap_or(bytes);
        let taken = self.try_send(bytes);
        if let Some(record) = record {
            record.set_end(place, wall_ns());
            self.keep_rest(&bytes[taken..], record.stream, place);
        } else {
            self.pending.extend_from_slice(&bytes[taken..]);
        }
        Some(place)
    }

    fn keep_rest(&mut self, rest: &[u8], stream: u32, place: WriteIndex) {
        if !rest.is_empty() {
            self.pending.extend_from_slice(rest);
            self.marks.push_back((self.pending.len(), stream, place));
        }
    }

    fn try_send(&mut self, bytes: &[u8]) -> usize {
        if !self.pending.is_empty() {
            return 0;
        }
        if self.failed {
            return bytes.len();
        }
        match self.stream.write(bytes) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(_) => {
                self.failed = true;
                bytes.len()
            }
        }
    }

    /// Sends more of what is pending, and reports to `note` which writes, of which stream, are complete by now.
    pub(crate) fn flush(&mut self, mut note: impl FnMut(u32, WriteIndex, u64)) {
        while self.written < self.pending.len() && !self.failed {
            match self.stream.write(&self.pending[self.written..]) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.failed = true,
            }
        }
        if !self.marks.is_empty() {
            let after_ns = wall_ns();
            while let Some(&(end, stream, place)) = self.marks.front()
                && end <= self.written
            {
                note(stream, place, after_ns);
                self.marks.pop_front();
            }
        }
        if self.written == self.pending.len() || self.failed {
            self.pending.clear();
            self.marks.clear();
            self.written = 0;
        }
    }

    /// Announces the end of the connection, where its protocol has a message for it.
    pub(crate) fn close(&mut self) {
        if let Some(tls) = &mut self.tls
            && self.pending.is_empty()
        {
            let records = tls.close();
            self.try_send(&records);
        }
    }

    /// Makes the coming close a reset, which drops what was not yet sent.
    pub(crate) fn reset_on_close(&self) {
        self.stream.reset_on_close();
    }
}
