//! Finished requests that are not swept yet.

use crate::curves::order::Sent;
use crate::curves::swept_request::SweptRequest;
use crate::curves::timing::Timing;

/// Requests for a sweep, in the order in which they ended.
#[expect(clippy::vec_box, reason = "requests move from one list to the next, and they are 20 words long")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// Each with its start.
    pub(crate) requests: Vec<(u64, Box<SweptRequest>)>,
    /// The position of each in the order of sending, and of finished requests that are in no curve.
    pub(crate) sent: Vec<Sent>,
    pub(crate) gaps: u64,
    pub(crate) last_end: u64,
    /// Requests that are done, kept for their memory.
    pub(crate) spare: Vec<Box<SweptRequest>>,
}

impl Pending {
    /// Adds a request, with its position in the order of sending.
    pub(crate) fn add(&mut self, sent: Sent, timing: Timing, gaps: &[u64]) {
        self.add_unnumbered(timing, gaps);
        self.sent.push(sent);
    }

    /// Adds a request to a sweep that does not use the order of sending.
    pub(crate) fn add_unnumbered(&mut self, timing: Timing, gaps: &[u64]) {
        let request = match self.spare.pop() {
            Some(mut request) => {
                request.restart(timing, gaps);
                request
            }
            None => Box::new(SweptRequest::new(timing, gaps)),
        };
        self.requests.push((timing.start, request));
        self.gaps += gaps.len() as u64;
        self.last_end = self.last_end.max(timing.end);
    }

    /// Marks a request as known that is in no curve.
    pub(crate) fn pass_over(&mut self, sent: Sent) {
        self.sent.push(sent);
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.requests.append(&mut other.requests);
        self.sent.append(&mut other.sent);
        self.gaps += other.gaps;
        self.last_end = self.last_end.max(other.last_end);
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn first_start(&self) -> Option<u64> {
        self.requests.iter().map(|(start, _)| *start).min()
    }

    /// Bytes held, roughly.
    pub(crate) fn size(&self) -> usize {
        let requests = (self.len() + self.spare.len()) * SweptRequest::SIZE;
        requests + self.gaps as usize * 4 + self.sent.capacity() * size_of::<Sent>()
    }
}
