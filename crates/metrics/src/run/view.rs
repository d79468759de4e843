//! One finished request, for the code that writes it to files.

use crate::run::record::RecordMetrics;
use aiperf_types::{ContentMark, Exchange, Measured, Parsed, RawExchange, RecordMeta};

/// All data of one finished request: its bytes and their timeline, the parsed response, its metrics.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    pub exchange: &'a Exchange,
    /// Texts, usage and the rest of the response; content marks of a valid record are in `measured`, see
    /// [`RecordView::content`].
    pub parsed: &'a Parsed,
    pub meta: &'a RecordMeta,
    pub measured: &'a Measured,
    pub metrics: &'a RecordMetrics,
    /// Request and response as they were, secrets hidden; `None` if no file needs them.
    pub raw: Option<&'a RawExchange>,
}

impl RecordView<'_> {
    /// Content responses in order of arrival, including those of a request that failed after them.
    pub fn content(&self) -> &[ContentMark] {
        if self.measured.error.is_some() { &self.parsed.content } else { &self.measured.content }
    }
}

/// Encodes records as bytes. Each record thread has its own, so it may keep buffers.
pub trait RecordEncoder: Send {
    /// Appends one record, or nothing if the record has nothing to write.
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>);
}
