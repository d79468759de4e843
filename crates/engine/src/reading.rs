//! Parses the response of an exchange: all at once when it is complete, or piece by piece while it arrives.
//!
//! Record threads parse complete responses, long after they arrived. If the next leg, the next turn or the schedule
//! waits for the content of a response, the worker parses it instead. The result travels with the exchange, so nothing
//! is parsed twice. Both ways give the same result.

use crate::failure_names;
use aiperf_dialect::{Api, KnownMessages, ResponseParser};
use aiperf_transport::body::{self, Cursor};
use aiperf_transport::encoding::{self, Decoded};
use aiperf_transport::{Watch, charset};
use aiperf_types::{Exchange, MonoNs, Parsed, Read, Reply, Timeline};

/// Whether requests are jobs that are submitted, polled and fetched.
pub(crate) fn has_legs(api: &Api) -> bool {
    api.endpoint.kind.traits().produces_videos
}

/// How responses are parsed.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    pub api: &'a Api,
    /// The largest size that a compressed body may decode to.
    pub limit: usize,
    /// Capture the reply for later turns.
    pub captures: bool,
    /// Messages learned from earlier responses, if many are parsed one after the other.
    pub known: Option<&'a KnownMessages>,
}

impl<'a> Reading<'a> {
    /// An empty response for a request that was sent at this instant.
    pub(crate) fn parser(&self, sent: MonoNs) -> ResponseParser<'a> {
        let parser = ResponseParser::new(self.api, sent);
        let parser = if let Some(known) = self.known { parser.knowing(known) } else { parser };
        if self.captures { parser.capturing(self.api) } else { parser }
    }

    /// Parses a complete response.
    pub fn read(&self, exchange: &Exchange) -> Parsed {
        self.read_as(exchange, body::is_event_stream(exchange))
    }

    /// As `read`, if the caller knows whether the response is a stream.
    pub(crate) fn read_as(&self, exchange: &Exchange, is_stream: bool) -> Parsed {
        let Decoded { exchange, failure } = encoding::decode(exchange, self.limit);
        let undecodable = failure.as_ref().map(failure_names::error_of);
        let mut parser = self.parser(sent(&exchange.timeline));
        if is_stream {
            let mut on = true;
            body::for_each_span(&exchange, |read, span| on = on && parser.feed_stream(span, read));
            // If a stream broke off, its rest is half an event.
            if on && undecodable.is_none() {
                parser.end_stream(exchange.timeline.end);
            }
        } else if undecodable.is_some() {
            // A part of a single body is no response.
            return Parsed { last_response: exchange.timeline.end, error: undecodable, ..Parsed::default() };
        } else if charset::declares_bytes(&exchange) {
            parser.feed_binary(last_read(&exchange.timeline));
        } else {
            let bytes = body::collect(&exchange);
            match charset::text(&exchange, &bytes) {
                Ok(text) => parser.feed_body(&text, last_read(&exchange.timeline)),
                Err(failure) => {
                    return Parsed { error: Some(failure_names::error_of(&failure)), ..Parsed::default() };
                }
            }
        }
        let mut parsed = parser.finish();
        parsed.error = parsed.error.or(undecodable);
        parsed
    }

    /// The texts of the complete events of a stream before it failed. Only texts: other facts about a failed request do
    /// not come from its response. A part of a single body gives nothing.
    pub(crate) fn texts_before_failure(&self, exchange: &Exchange) -> [Option<String>; 2] {
        let is_stream = exchange.is_success() && exchange.body_at > 0 && body::is_event_stream(exchange);
        if !is_stream || has_legs(self.api) {
            return [None, None];
        }
        let Decoded { exchange, .. } = encoding::decode(exchange, self.limit);
        let (mut parser, mut on) = (self.parser(sent(&exchange.timeline)), true);
        body::for_each_span(&exchange, |read, span| on = on && parser.feed_stream(span, read));
        let parsed = parser.finish();
        [parsed.reasoning_text, parsed.output_text]
    }
}

/// When the sending of a request began; when the request began, if it was not sent.
pub(crate) fn sent(timeline: &Timeline) -> MonoNs {
    timeline.send_start.taken().unwrap_or(timeline.start)
}

/// The read that completed a response.
pub(crate) fn last_read(timeline: &Timeline) -> Read {
    let last = timeline.reads.last().copied().unwrap_or_default();
    Read { at: timeline.end, ..last }
}

/// Parses a response while it arrives.
pub struct LiveReading<'a> {
    reading: Reading<'a>,
    /// Called when the first content arrives.
    first_content: Option<Box<dyn FnOnce(MonoNs) + 'a>>,
    /// The start of the leg whose response is parsed.
    leg: MonoNs,
    state: State<'a>,
}

enum State<'a> {
    /// The head has not arrived.
    Begun,
    /// An uncompressed stream.
    Stream(Box<Stream<'a>>),
    /// Anything else is parsed when it is complete.
    Whole,
}

struct Stream<'a> {
    parser: ResponseParser<'a>,
    cursor: Cursor,
    /// No error event has ended the stream.
    is_on: bool,
}

impl Stream<'_> {
    /// Parses the bytes that arrived. Returns when the first content arrived, if they contain any.
    fn take(&mut self, exchange: &Exchange) -> Option<MonoNs> {
        let Self { parser, cursor, is_on } = self;
        let mut first = None;
        cursor.visit(exchange, |read, span| {
            *is_on = *is_on && parser.feed_stream(span, read);
            if first.is_none() && parser.has_content() {
                first = Some(read.at);
            }
        });
        first
    }
}

impl<'a> LiveReading<'a> {
    pub fn new(reading: Reading<'a>) -> Self {
        Self { reading, first_content: None, leg: MonoNs(0), state: State::Begun }
    }

    /// Calls `first_content` once, as soon as the first content has arrived.
    #[must_use]
    pub fn on_first_content(mut self, first_content: impl FnOnce(MonoNs) + 'a) -> Self {
        self.first_content = Some(Box::new(first_content));
        self
    }

    /// Stores the parsed response in a finished exchange; a failed exchange gets none. Returns the reply if replies are
    /// captured. The text before a failure is a reply too, but it has no id that the server knows. Only the next turn
    /// uses the reply: records do not need it.
    pub fn finish(mut self, exchange: &mut Exchange) -> Option<Box<Reply>> {
        self.read(exchange);
        let has_failed = exchange.failure.is_some() || !exchange.is_success();
        let mut parsed = match self.state {
            State::Stream(stream) => {
                let Stream { mut parser, is_on, .. } = *stream;
                // If a stream broke off, its rest is half an event.
                if is_on && !has_failed {
                    parser.end_stream(exchange.timeline.end);
                }
                parser.finish()
            }
            // A part of a single body is no response.
            State::Begun | State::Whole if has_failed => Parsed::default(),
            State::Begun | State::Whole => self.reading.read(exchange),
        };
        let mut reply = self.reading.captures.then(|| parsed.reply.take().unwrap_or_default());
        if let Some(reply) = reply.as_mut().filter(|_| has_failed || parsed.error.is_some()) {
            reply.response_id = None;
        }
        if has_failed {
            return reply;
        }
        if let (Some(notify), Some(first)) = (self.first_content, parsed.content.first()) {
            notify(first.at);
        }
        exchange.parsed = Some(Box::new(parsed));
        reply
    }
}

impl Watch for LiveReading<'_> {
    fn read(&mut self, exchange: &Exchange) {
        let timeline = &exchange.timeline;
        if self.leg != timeline.leg_start {
            (self.leg, self.state) = (timeline.leg_start, State::Begun);
        }
        if matches!(self.state, State::Begun) && exchange.body_at > 0 {
            let is_stream = exchange.is_success() && body::is_event_stream(exchange) && encoding::is_plain(exchange);
            self.state = match is_stream {
                false => State::Whole,
                true => {
                    let parser = self.reading.parser(sent(timeline));
                    State::Stream(Box::new(Stream { parser, cursor: Cursor::default(), is_on: true }))
                }
            };
        }
        let State::Stream(stream) = &mut self.state else { return };
        if let Some(at) = stream.take(exchange)
            && let Some(notify) = self.first_content.take()
        {
            notify(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{client, post};
    use aiperf_plan::{BaseUrl, EndpointPlan};
    use aiperf_transport::{Cancel, DeadlineTimer, Redirects, Reuse};
    use aiperf_types::EndpointKind;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_body_that_is_declared_to_be_binary_has_no_text() {
        let endpoint = EndpointPlan::new(EndpointKind::Raw, vec![BaseUrl::parse("http://here").unwrap()]);
        let api = Api::new(&endpoint, "m").unwrap();
        let read = |declared: &str| {
            let head = format!("HTTP/1.1 200 OK\r\n{declared}Content-Length: 12\r\n\r\n");
            let raw = format!("{head}{{\"text\":\"a\"}}").into_bytes();
            let (body_at, raw_len) = (head.len(), raw.len());
            let mut exchange = Exchange { raw, raw_len, body_at, status: Some(200), ..Exchange::default() };
            (exchange.timeline.start, exchange.timeline.end) = (MonoNs(1), MonoNs(7));
            exchange.timeline.reads.push(aiperf_types::Read {
                at: MonoNs(5),
                lag: 0,
                len: raw_len as u32,
                ..Default::default()
            });
            let parsed = Reading { api: &api, limit: 1 << 20, captures: false, known: None }.read(&exchange);
            (parsed.content.len(), parsed.responses, parsed.last_response, parsed.error)
        };
        for declared in ["image/png", "video/mp4", "Audio/wav; rate=8000", "application/octet-stream"] {
            assert_eq!(read(&format!("Content-Type: {declared}\r\n")), (0, 1, MonoNs(7), None), "{declared}");
        }
        for declared in ["", "Content-Type: application/json\r\n"] {
            assert_eq!(read(declared), (1, 1, MonoNs(7), None), "{declared}");
        }
    }

    #[test]
    fn the_first_content_is_reported_before_the_rest_arrives() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (send, received) = mpsc::channel();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 1 << 12]).unwrap() > 0);
            let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            stream.write_all(format!("{head}: hello\n\n{chunk}").as_bytes()).unwrap();
            let at = received.recv_timeout(Duration::from_secs(10));
            stream.write_all(chunk.as_bytes()).unwrap();
            at
        });
        let mut endpoint = EndpointPlan::new(EndpointKind::Chat, vec![BaseUrl::parse("http://here").unwrap()]);
        endpoint.streaming = true;
        let api = Api::new(&endpoint, "m").unwrap();
        let mut live = LiveReading::new(Reading { api: &api, limit: 1 << 20, captures: true, known: None })
            .on_first_content(|at| send.send(at).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut exchange = runtime.block_on(async {
            let client = client(port, Reuse::Always, 1 << 20);
            let (cancel, mut redirects) = (Cancel::default(), Redirects::default());
            tokio::select! {
                exchange = client.send_watched(post("/"), &cancel, &mut redirects, Some(&mut live)) => exchange,
                _ = client.timers().keep_time(DeadlineTimer::new().unwrap()) => unreachable!("time goes on for ever"),
            }
        });
        let reply = live.finish(&mut exchange);
        let parsed = exchange.parsed.unwrap();
        assert_eq!(server.join().unwrap().ok(), Some(parsed.content[0].at), "before the second was sent");
        assert_eq!(parsed.output_text.as_deref(), Some("aa"));
        assert!(reply.is_some_and(|reply| reply.turn.is_some()));
    }
}
