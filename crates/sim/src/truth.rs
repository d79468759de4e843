//! The truth log: when each request arrived and each event was written, by the server's own clock.
//!
//! One JSON line a request, written when its response is over:
//!
//! ```json
//! {"x_request_id":"…","method":"POST","path":"/v1/chat/completions","status":200,"fault":null,"finished":true,
//!  "connection":7,"stream":0,"protocol":"http/1.1","tls":false,"resumed":false,
//!  "accepted_ns":1794702552990000000,"handshake_ns":null,"received_kernel_ns":1794702553000000000,"received_read_ns":1794702553000012000,
//!  "head":[before,after],"chunks":[[before,after,0],[before,after,1],…],
//!  "correlation_id":"…","endpoint":"chat_completions","streamed":true,"prompt_tokens":12,"output_tokens":32}
//! ```
//!
//! Every request has its line, those for pages that are not inference too. Lines come in the order in which responses
//! ended; `received_read_ns` gives the order of arrival.
//!
//! All times are CLOCK_REALTIME nanoseconds. `connection` numbers connections in the order they were accepted, which was at
//! `accepted_ns`; its TLS handshake ended at `handshake_ns`, and `resumed` an earlier session or not. `stream` is that of
//! HTTP/2, else 0. `received_kernel_ns` is the kernel's receive stamp of the last byte of the
//! read that completed the request (null where the kernel gave none), `received_read_ns` the moment that read returned.
//! `chunks` holds one entry for each write of an event: the moment before the write, the moment after it (after the
//! kernel took the last byte), and what it carried: 0 nothing a user reads, 1 content, 2 reasoning. A response that is
//! not streamed has one entry. `finished` is false when the client or a fault ended the response early.
//!
//! `correlation_id` is the header field `x-correlation-id`, or null. `endpoint` names the kind of API where the path is one;
//! `streamed`, `prompt_tokens` and `output_tokens` (what came of the response, all choices together) follow where the
//! request was not refused. Some kinds add more: responses `previous_response_id` and `store`, as far as the request
//! had them; transcriptions `audio_bytes` and `audio_seconds`; image retrieval `images`; videos `job`, and `job_status`
//! where it was asked about or `video_bytes` where it was fetched.
//!
//! The line of a metrics page has a last member `page`, with what stood on it, all taken at one instant:
//!
//! ```json
//! "page":{"number":3,"faults":[],"made_ns":1794702553000020000,"started_ns":1794702550000000000,
//!  "running":4,"waiting":0,"kv_usage":0.0001,"prompt_tokens":960,"generation_tokens":3120,
//!  "requests_finished":26,"finished":{"stop":0,"length":26,"abort":0,"error":0}}
//! ```
//!
//! `number` counts pages from 1 (0: iteration statistics, which are not counted), `faults` names those the page met,
//! `made_ns` is the instant, `started_ns` when counting began. Counters are those on the page: after a restart they
//! count from it. A request with several choices is finished once for each.
//!
//! Stamps are collected in memory; lines are put together by a thread that only runs when a core has nothing better to
//! do, at least ten times a second where it gets to run.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::SigSet;

use crate::error::SimError;
use crate::idle;
use crate::metrics::FinishReason;

const PERIOD: Duration = Duration::from_millis(50);

/// What a write carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    Head,
    /// An event without text.
    Nothing,
    /// Text of the response.
    Content,
    Reasoning,
}

/// The moments just before and just after a write, wall clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bracket {
    pub(crate) before_ns: u64,
    pub(crate) after_ns: u64,
}

/// What the log records of the connection of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionFacts {
    pub(crate) number: u64,
    pub(crate) accepted_ns: u64,
    /// When the TLS handshake was over.
    pub(crate) handshake_ns: Option<u64>,
    pub(crate) protocol: &'static str,
    pub(crate) tls: bool,
    /// The TLS session continues an earlier one.
    pub(crate) resumed: bool,
}

/// What the truth log records of a page: the values on it, all of one instant.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageFacts {
    /// Counted from 1; 0 for iteration statistics, which are not counted.
    pub(crate) number: u64,
    pub(crate) faults: Vec<&'static str>,
    pub(crate) made_ns: u64,
    /// Since when it counts.
    pub(crate) started_ns: u64,
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) kv_usage: f64,
    pub(crate) prompt_tokens: u64,
    pub(crate) generation_tokens: u64,
    pub(crate) finished: [u64; FinishReason::ALL.len()],
}

/// Everything the log records about one request.
#[derive(Debug)]
pub(crate) struct TruthRecord {
    pub(crate) request_id: String,
    pub(crate) method: Cow<'static, str>,
    pub(crate) path: Cow<'static, str>,
    pub(crate) connection: ConnectionFacts,
    /// The stream of HTTP/2; 0 on HTTP/1.1.
    pub(crate) stream: u32,
    pub(crate) status: u16,
    pub(crate) fault: Option<&'static str>,
    pub(crate) finished: bool,
    pub(crate) received_kernel_ns: Option<u64>,
    pub(crate) received_read_ns: u64,
    pub(crate) head: Option<Bracket>,
    pub(crate) chunks: Vec<(Bracket, Payload)>,
    pub(crate) correlation_id: Option<String>,
    /// The kind of API, where it was one.
    pub(crate) endpoint: Option<&'static str>,
    /// What was asked for, where it could be read and was answered.
    pub(crate) asked: Option<Asked>,
    /// What stood on it, where it was a metrics page.
    pub(crate) page: Option<Box<PageFacts>>,
}

/// What the log records of the contents of a request and its response.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) streamed: bool,
    pub(crate) prompt_tokens: u32,
    /// Of all choices, as far as they came.
    pub(crate) output_tokens: u32,
    pub(crate) noted: Vec<(&'static str, serde_json::Value)>,
}

impl TruthRecord {
    /// Notes a write; gives the place where its end may be corrected while bytes are still pending.
    pub(crate) fn record_write(&mut self, bracket: Bracket, payload: Payload) -> WriteIndex {
        if payload == Payload::Head {
            self.head = Some(bracket);
            return WriteIndex::Head;
        }
        self.chunks.push((bracket, payload));
        WriteIndex::Chunk(self.chunks.len() - 1)
    }

    pub(crate) fn set_end(&mut self, place: WriteIndex, after_ns: u64) {
        let bracket = match place {
            WriteIndex::Head => self.head.as_mut(),
            WriteIndex::Chunk(index) => self.chunks.get_mut(index).map(|(bracket, _)| bracket),
        };
        if let Some(bracket) = bracket {
            bracket.after_ns = after_ns;
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, r#"{{"x_request_id":"#)?;
        serde_json::to_writer(&mut *out, &self.request_id)?;
        write!(out, r#","method":"#)?;
        serde_json::to_writer(&mut *out, &self.method)?;
        write!(out, r#","path":"#)?;
        serde_json::to_writer(&mut *out, &self.path)?;
        write!(out, r#","status":{},"fault":"#, self.status)?;
        serde_json::to_writer(&mut *out, &self.fault)?;
        let ConnectionFacts { number, accepted_ns, handshake_ns, protocol, tls, resumed } = self.connection;
        write!(out, r#","finished":{},"connection":{number},"stream":{}"#, self.finished, self.stream)?;
        write!(out, r#","protocol":"{protocol}","tls":{tls},"resumed":{resumed}"#)?;
        write!(out, r#","accepted_ns":{accepted_ns},"handshake_ns":"#)?;
        serde_json::to_writer(&mut *out, &handshake_ns)?;
        write!(out, r#","received_kernel_ns":"#)?;
        serde_json::to_writer(&mut *out, &self.received_kernel_ns)?;
        write!(out, r#","received_read_ns":{},"head":"#, self.received_read_ns)?;
        match self.head {
            Some(Bracket { before_ns, after_ns }) => write!(out, "[{before_ns},{after_ns}]")?,
            None => write!(out, "null")?,
        }
        out.write_all(br#","chunks":["#)?;
        let mut digits = itoa::Buffer::new();
        for (index, (bracket, payload)) in self.chunks.iter().enumerate() {
            out.write_all(if index == 0 { b"[" } else { b",[" })?;
            out.write_all(digits.format(bracket.before_ns).as_bytes())?;
            out.write_all(b",")?;
            out.write_all(digits.format(bracket.after_ns).as_bytes())?;
            out.write_all(match payload {
                Payload::Head | Payload::Nothing => b",0]",
                Payload::Content => b",1]",
                Payload::Reasoning => b",2]",
            })?;
        }
        out.write_all(b"]")?;
        write!(out, r#","correlation_id":"#)?;
        serde_json::to_writer(&mut *out, &self.correlation_id)?;
        if let Some(endpoint) = self.endpoint {
            write!(out, r#","endpoint":"{endpoint}""#)?;
        }
        if let Some(Asked { streamed, prompt_tokens, output_tokens, noted }) = &self.asked {
            write!(out, r#","streamed":{streamed},"prompt_tokens":{prompt_tokens},"output_tokens":{output_tokens}"#)?;
            noted.iter().try_for_each(|(name, value)| write!(out, r#","{name}":{value}"#))?;
        }
        if let Some(page) = &self.page {
            write!(out, r#","page":"#)?;
            write_page(out, page)?;
        }
        out.write_all(b"}\n")
    }
}

fn write_page(out: &mut impl Write, page: &PageFacts) -> std::io::Result<()> {
    write!(out, r#"{{"number":{},"faults":"#, page.number)?;
    serde_json::to_writer(&mut *out, &page.faults)?;
    write!(out, r#","made_ns":{},"started_ns":{}"#, page.made_ns, page.started_ns)?;
    write!(out, r#","running":{},"waiting":{},"kv_usage":{:?}"#, page.running, page.waiting, page.kv_usage)?;
    write!(out, r#","prompt_tokens":{},"generation_tokens":{}"#, page.prompt_tokens, page.generation_tokens)?;
    write!(out, r#","requests_finished":{},"finished":{{"#, page.finished.iter().sum::<u64>())?;
    for (index, ((_, reason), count)) in FinishReason::ALL.iter().zip(page.finished).enumerate() {
        write!(out, r#"{}"{reason}":{count}"#, if index == 0 { "" } else { "," })?;
    }
    out.write_all(b"}}")
}

/// Where in a record a write was noted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WriteIndex {
    Head,
    Chunk(usize),
}

#[derive(Default)]
struct Queue {
    records: Vec<TruthRecord>,
    closed: bool,
}

/// Hands finished records to the thread that writes them.
#[derive(Clone)]
pub(crate) struct TruthSender(Arc<(Mutex<Queue>, Condvar)>);

impl TruthSender {
    /// Wakes no thread: the writer comes by itself.
    pub(crate) fn send(&self, record: TruthRecord) {
        self.lock().records.push(record);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.0.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The open log. Dropping it writes what is left.
pub(crate) struct TruthLog {
    sender: TruthSender,
    writer: Option<JoinHandle<()>>,
}

impl TruthLog {
    pub(crate) fn create(path: &Path) -> Result<Self, SimError> {
        let failed = |source| SimError::TruthLog { path: path.to_owned(), source };
        let file = File::create(path).map_err(failed)?;
        let sender = TruthSender(Arc::default());
        let queue = sender.clone();
        let writer = std::thread::Builder::new()
            .name("truth-log".into())
            .spawn(move || write_until_closed(&queue, BufWriter::with_capacity(1 << 20, file)))
            .map_err(failed)?;
        Ok(TruthLog { sender, writer: Some(writer) })
    }

    pub(crate) fn sender(&self) -> TruthSender {
        self.sender.clone()
    }
}

impl Drop for TruthLog {
    fn drop(&mut self) {
        self.sender.lock().closed = true;
        self.sender.0.1.notify_all();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has reported it already.
            let _ = writer.join();
        }
    }
}

fn write_until_closed(queue: &TruthSender, mut file: BufWriter<File>) {
    // Signals are for the threads that serve: one taken here would end the process with lines unwritten.
    let _ = SigSet::all().thread_block();
    idle::run_only_when_idle();
    let mut records = Vec::new();
    loop {
        let guard = queue.lock();
        let mut guard = match guard.closed {
            true => guard,
            false => match queue.0.1.wait_timeout(guard, PERIOD) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            },
        };
        let closed = guard.closed;
        std::mem::swap(&mut guard.records, &mut records);
        drop(guard);
        let written = records.drain(..).try_for_each(|record| {
            // A lazily preempting kernel gives this core to a thread that serves only when this one enters it.
            std::thread::yield_now();
            record.write(&mut file)
        });
        let written = written.and_then(|()| file.flush());
        if let Err(error) = written {
            let _ = writeln!(std::io::stderr(), "warning: the truth log ends here: {error}");
            return;
        }
        if closed {
            return;
        }
    }
}
