//! One finished request as those see it who write it down.

use crate::run::record::RecordMetrics;
use aiperf_types::{ContentMark, Exchange, Measured, Parsed, RawExchange, RecordMeta};

/// All that is known of one finished request: its bytes and their timeline, the answer as it was read, what it amounts
/// to.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    pub exchange: &'a Exchange,
    /// Texts, usage and the rest of the answer; content marks of a valid record are in `measured`, see
    /// [`RecordView::content`].
    pub parsed: &'a Parsed,
    pub meta: &'a RecordMeta,
    pub measured: &'a Measured,
    pub metrics: &'a RecordMetrics,
    /// Request and answer as they were, secrets hidden; `None` where no file wants them.
    pub raw: Option<&'a RawExchange>,
}

impl RecordView<'_> {
    /// Content responses in order of arrival, also those of a request that failed after them.
    pub fn content(&self) -> &[ContentMark] {
        if self.measured.error.is_some() { &self.parsed.content } else { &self.measured.content }
    }
}

/// Puts records into bytes. Each record thread has its own, so it may keep buffers.
pub trait RecordEncoder: Send {
    /// Appends one record, or nothing where it has nothing to say of it.
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>);
}
