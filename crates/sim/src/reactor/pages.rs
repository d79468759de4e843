//! Responses to requests for metrics: most at once, some late, slowly or without end.

use super::{Connection, Disposition, Reactor};
use crate::apis::ApiError;
use crate::clock::monotonic_ns;
use crate::http::{Head, Request, Status};
use crate::pages::{MadePage, Padding, PageBody, PageRequest, PageResponse, Show};
use crate::redirect::Followed;
use crate::reply::{Extent, Outlet, Reply};
use crate::slots::Task;
use crate::truth::{Payload, TruthRecord};

/// Bytes of a page that are written at once where it does not come whole.
const PIECE_BYTES: usize = 64 << 10;
/// From one piece to the next, unless the client is slower.
const PIECE_NS: u64 = 1_000_000;
/// A page that trickles comes in pieces this far apart.
const TRICKLE_NS: u64 = 10_000_000;

/// A page that is not sent at once.
pub(super) struct SlowPage {
    pub(super) truth: Option<Box<TruthRecord>>,
    pub(super) reply: Reply,
    pub(super) over: bool,
    body: PageBody,
    is_open: bool,
    /// Bytes of the body's text that were sent.
    sent: usize,
    /// Bytes of everything that was made.
    made: u64,
    padding_lines: u64,
    piece_bytes: usize,
    piece_ns: u64,
    due_ns: u64,
}

impl SlowPage {
    fn new(body: PageBody, reply: Reply, truth: Option<Box<TruthRecord>>, now_ns: u64) -> Self {
        let (piece_bytes, piece_ns) = match body.trickle {
            None => (PIECE_BYTES, PIECE_NS),
            Some(time) => {
                let pieces = (time.as_nanos() as u64).div_ceil(TRICKLE_NS).max(1);
                (body.text.len().div_ceil(pieces as usize).max(1), TRICKLE_NS)
            }
        };
        let due_ns = now_ns + body.delay.map_or(0, |delay| delay.as_nanos() as u64);
        SlowPage {
            truth,
            reply,
            over: false,
            body,
            is_open: false,
            sent: 0,
            made: 0,
            padding_lines: 0,
            piece_bytes,
            piece_ns,
            due_ns,
        }
    }

    /// Sends what is due; gives the moment of the next piece, nothing after the last.
    fn advance(&mut self, outlet: &mut Outlet<'_>, is_free: bool) -> Option<u64> {
        let head = Head { status: Status::OK, content_type: self.body.content_type, fields: &[] };
        if self.body.trickle.is_none() && self.body.padding == Padding::None {
            self.body.text.extend_from_slice(self.body.end.as_bytes());
            let whole = (&self.body.text[..], Extent::All);
            self.reply.whole(outlet, self.truth.as_deref_mut(), Payload::Nothing, &head, whole);
            self.finish();
            return None;
        }
        if !std::mem::replace(&mut self.is_open, true) {
            self.reply.stream_head(outlet, self.truth.as_deref_mut(), &head);
        }
        if is_free {
            let (piece, is_last) = self.next_piece();
            outlet.scratch.clear();
            if !piece.is_empty() {
                self.reply.framing()(outlet.scratch, &[&piece]);
            }
            if is_last {
                self.reply.last_event(outlet, self.truth.as_deref_mut(), Payload::Nothing);
                self.finish();
                return None;
            }
            self.reply.event(outlet, self.truth.as_deref_mut(), Payload::Nothing);
        }
        self.due_ns += self.piece_ns;
        Some(self.due_ns)
    }

    fn finish(&mut self) {
        self.over = true;
        if let Some(truth) = &mut self.truth {
            truth.finished = true;
        }
    }

    fn next_piece(&mut self) -> (Vec<u8>, bool) {
        let text = &self.body.text[self.sent..];
        let mut piece = text[..text.len().min(self.piece_bytes)].to_vec();
        self.sent += piece.len();
        self.made += piece.len() as u64;
        while piece.len() < self.piece_bytes && self.is_padded() {
            let line = match self.padding_lines {
                0 => "# TYPE sim_padding gauge\n".to_owned(),
                number => format!("sim_padding{{number=\"{number}\"}} 1.0\n"),
            };
            self.padding_lines += 1;
            self.made += line.len() as u64;
            piece.extend_from_slice(line.as_bytes());
        }
        let is_last = self.sent == self.body.text.len() && !self.is_padded();
        if is_last {
            piece.extend_from_slice(self.body.end.as_bytes());
        }
        (piece, is_last)
    }

    /// More is to come after the text.
    fn is_padded(&self) -> bool {
        match self.body.padding {
            Padding::None => false,
            Padding::Until(bytes) => self.made < bytes,
            Padding::Endless => true,
        }
    }
}

impl Reactor {
    pub(super) fn respond_metrics(
        &mut self,
        task: Task,
        connection: &mut Connection,
        (show, request): (Show, &Request<'_>),
        mut truth: Option<Box<TruthRecord>>,
    ) -> Disposition {
        let head_only = request.method == "HEAD";
        let asked = PageRequest { show, head_only, followed: request.query.and_then(Followed::of_query) };
        let MadePage { facts, response } = self.shared.metrics_page(asked);
        if let Some(truth) = &mut truth {
            truth.fault = facts.faults.first().copied();
            truth.page = (!head_only).then(|| Box::new(facts));
        }
        let status = match &response {
            PageResponse::Body(_) => Status::OK,
            PageResponse::Failed(status) => *status,
            PageResponse::Redirected(redirect, _) => Status(redirect.status),
            PageResponse::Reset => {
                self.log(truth);
                return Disposition::Reset;
            }
        };
        // The page does not count itself: its values were taken before.
        self.shared.metrics(self.thread).record_http_response(show.handler(), "GET", status.0, 1);
        let extent = if head_only { Extent::HeadAlone } else { Extent::All };
        let stream = task.stream;
        match response {
            PageResponse::Reset => {}
            PageResponse::Failed(status) => {
                let body = ApiError::of_status(status).openai().bytes;
                self.respond(connection, stream, &Head::json(status), (&body, extent), truth);
            }
            PageResponse::Redirected(_, location) => {
                let head = Head { fields: &[("location", &location)], ..Head::json(status) };
                self.respond(connection, stream, &head, (b"", extent), truth);
            }
            PageResponse::Body(body) => {
                let reply = Reply::new(stream, !connection.closing, body.encoding);
                let at_once = body.delay.is_none() && body.trickle.is_none() && body.padding == Padding::None;
                if head_only || at_once {
                    let head = Head { status, content_type: body.content_type, fields: &[] };
                    let text = [&body.text, body.end.as_bytes()].concat();
                    self.respond_with(connection, reply, &head, (&text, extent), truth);
                } else {
                    let page = SlowPage::new(body, reply, truth, monotonic_ns());
                    self.timers.set(page.due_ns, task);
                    connection.pages.insert(stream, Box::new(page));
                }
            }
        }
        Disposition::Keep
    }

    /// The deadline of a page came, where the stream has one.
    pub(super) fn advance_page(&mut self, task: Task, connection: &mut Connection) -> Option<Disposition> {
        let page = connection.pages.get_mut(&task.stream)?;
        let mut session = connection.http2.as_mut().map(|http2| &mut http2.session);
        let is_free = connection.socket.flushed()
            && session
                .as_mut()
                .and_then(|session| session.waiting(task.stream))
                .is_none_or(|waiting| waiting.is_empty());
        let socket = &mut connection.socket;
        let mut outlet = Outlet { socket, session, heads: &mut self.heads, scratch: &mut self.scratch };
        match page.advance(&mut outlet, is_free) {
            Some(due_ns) => {
                self.timers.set(due_ns, task);
                Some(Disposition::Keep)
            }
            None => Some(self.settle(task.key, connection)),
        }
    }
}
