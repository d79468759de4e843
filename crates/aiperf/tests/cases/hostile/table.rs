//! The rows of the table: the steps of a server, and the expected result.

/// One step of what a server does with a connection.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    /// Reads a whole request.
    Request,
    Send(&'static [u8]),
    /// A whole response with JSON of this text.
    Json(&'static str),
    /// The head of an event stream in chunks.
    Stream,
    /// A chunk of its framing with this text in it.
    Chunk(&'static str),
    /// The last chunk.
    End,
    /// The same bytes so many times.
    Repeat(&'static [u8], usize),
    /// Byte by byte, a millisecond between two.
    Drip(&'static [u8]),
    /// The same bytes for ever, so many milliseconds between two times.
    Forever(&'static [u8], u64),
    /// Nothing, for so many milliseconds.
    Wait(u64),
    /// Nothing, until the client goes.
    Hold,
    Close,
    /// The `close_notify` of TLS, and then as [`Self::Close`].
    Goodbye,
    Reset,
}

/// What lies between a server and its socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    None,
    /// The server is asked for it and does not speak it.
    Unspoken,
    Spoken,
}

/// What must come of all requests of a run.
#[derive(Clone, Copy)]
pub(crate) enum ExpectedOutcome {
    /// No error, exit code 0.
    Answered,
    /// An error of this type (or one of these, with `|` between them, where the kernel decides), exit code 1.
    Fails(&'static str),
}

/// What a server does on one connection: again and again, until the connection is over.
pub(crate) type Script = &'static [Step];

pub(crate) struct Row {
    /// A sentence about the server.
    pub(crate) name: &'static str,
    pub(crate) tls: Tls,
    /// The first connection gets the first script and so on; the last is for all that follow.
    pub(crate) connections: &'static [Script],
    pub(crate) args: &'static [&'static str],
    pub(crate) requests: usize,
    pub(crate) outcome: ExpectedOutcome,
    /// The code of every error.
    pub(crate) code: Option<u16>,
    /// Part of every error's message.
    pub(crate) text: &'static str,
    /// Numbers of the summary, by JSON pointer.
    pub(crate) holds: &'static [(&'static str, f64)],
    /// Part of a warning that is printed once.
    pub(crate) warning: &'static str,
    /// Part of a warning that would not be true.
    pub(crate) untrue: Option<&'static str>,
}

/// Two requests for a stream.
pub(crate) const fn stream(name: &'static str, connections: &'static [Script], outcome: ExpectedOutcome) -> Row {
    Row {
        name,
        tls: Tls::None,
        connections,
        args: &["--streaming"],
        requests: 2,
        outcome,
        code: None,
        text: "",
        holds: &[],
        warning: "",
        untrue: None,
    }
}

/// Two requests for a whole body.
pub(crate) const fn whole(name: &'static str, connections: &'static [Script], outcome: ExpectedOutcome) -> Row {
    Row { args: &[], ..stream(name, connections, outcome) }
}

/// Two requests over HTTP/2.
pub(crate) const fn http2(name: &'static str, connections: &'static [Script], outcome: ExpectedOutcome) -> Row {
    Row { args: &["--transport", "http2", "--request-timeout-seconds", "5"], ..stream(name, connections, outcome) }
}

/// Two requests over TLS, which the server does not speak.
pub(crate) const fn tls(name: &'static str, connections: &'static [Script], outcome: ExpectedOutcome) -> Row {
    Row { tls: Tls::Unspoken, args: &["--request-timeout-seconds", "5"], ..stream(name, connections, outcome) }
}

impl Row {
    pub(crate) const fn over_tls(self) -> Self {
        Self { tls: Tls::Spoken, ..self }
    }

    pub(crate) const fn code(self, code: u16) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(crate) const fn reports(self, text: &'static str) -> Self {
        Self { text, ..self }
    }

    pub(crate) const fn args(self, args: &'static [&'static str]) -> Self {
        Self { args, ..self }
    }

    pub(crate) const fn requests(self, requests: usize) -> Self {
        Self { requests, ..self }
    }

    pub(crate) const fn warns(self, warning: &'static str) -> Self {
        Self { warning, ..self }
    }

    pub(crate) const fn warns_not(self, untrue: &'static str) -> Self {
        Self { untrue: Some(untrue), ..self }
    }

    pub(crate) const fn holds(self, holds: &'static [(&'static str, f64)]) -> Self {
        Self { holds, ..self }
    }
}

/// A body with a response of two words.
pub(crate) const CHAT: &str = "{\"object\":\"chat.completion\",\
     \"choices\":[{\"message\":{\"content\":\"hello there\"}}],\
     \"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2}}";
/// An event with a word of a response.
pub(crate) const WORD: &str = "data: {\"choices\":[{\"delta\":{\"content\":\" hello\"}}]}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";
pub(crate) const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
