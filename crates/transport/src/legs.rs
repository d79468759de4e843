//! The legs of a request: most have one; a redirect is followed by another, and a script may ask for more.

use crate::origin::Origin;
use aiperf_types::{Body, Exchange, Failure, Nanos};
use std::rc::Rc;

/// One request on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    pub origin: Rc<Origin>,
    /// Request line and header fields, with the empty line.
    pub head: Vec<u8>,
    pub body: Body,
    /// The request's time counts from here on.
    pub renews_time: bool,
    /// Of a 2xx response, the head is kept alone: its body is framed and counted, however long it is.
    pub drops_body: bool,
}

impl Leg {
    pub fn new(origin: Rc<Origin>, head: Vec<u8>, body: Body) -> Self {
        Self { origin, head, body, renews_time: false, drops_body: false }
    }

    /// The request line's method and target.
    pub fn request_line(&self) -> (&str, &str) {
        let line = self.head.split(|&b| b == b'\r').next().unwrap_or_default();
        let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    }
}

/// What follows a leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The response to this leg is the response to the request.
    End,
    /// Another leg, after a pause.
    Next(Nanos, Box<Leg>),
    Fail(Failure),
}

/// Decides what follows each leg of one request. It sees the whole response to the leg and has no clock and no socket.
pub trait Script {
    fn next(&mut self, leg: &Leg, response: &Exchange) -> Step;
}

/// Follows a response while it comes.
pub trait Watch {
    /// More of it came: one read, or a few over HTTP/2. What came before belongs to another leg when that one began at
    /// another instant (`Timeline::leg_start`).
    fn read(&mut self, exchange: &Exchange);
}
