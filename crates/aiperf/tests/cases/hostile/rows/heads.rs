//! Response heads.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{Chunk, Close, End, Hold, Json, Repeat, Request, Send};
use crate::hostile::table::{DONE, Row, WORD, stream, whole};

const BAD_HEAD: crate::hostile::table::ExpectedOutcome = Fails("ClientResponseError");

pub(crate) const ROWS: &[Row] = &[
    whole(
        "ends the lines of its head in line feeds alone",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 48\n\n{\
         \"choices\":[{\"message\":{\"content\":\"hi there\"}}]}",
            ),
        ]],
        Answered,
    ),
    stream(
        "ends the lines of a stream's head in line feeds alone",
        &[&[
            Request,
            Send(b"HTTP/1.1 200 OK\nContent-Type: text/event-stream\nTransfer-Encoding: chunked\n\n"),
            Chunk(WORD),
            End,
        ]],
        Answered,
    ),
    whole(
        "mixes line ends",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\nContent-Length: 48\r\n\n{\
         \"choices\":[{\"message\":{\"content\":\"hi there\"}}]}",
            ),
        ]],
        Answered,
    ),
    whole("sends status 000 and holds", &[&[Request, Send(b"HTTP/1.1 000 Nothing\r\n"), Hold]], BAD_HEAD),
    whole("sends status 99 and holds", &[&[Request, Send(b"HTTP/1.1 99 Early\r\n"), Hold]], BAD_HEAD),
    whole("sends status 2000 and holds", &[&[Request, Send(b"HTTP/1.1 2000 OK\r\n"), Hold]], BAD_HEAD),
    whole("sends status abc and holds", &[&[Request, Send(b"HTTP/1.1 abc\r\n"), Hold]], BAD_HEAD),
    whole("sends no status and holds", &[&[Request, Send(b"HTTP/1.1\r\n"), Hold]], BAD_HEAD),
    whole("sends a status below zero", &[&[Request, Send(b"HTTP/1.1 -20 OK\r\n"), Hold]], BAD_HEAD),
    whole("sends HTTP/2 in its status line", &[&[Request, Send(b"HTTP/2 200 OK\r\n"), Hold]], BAD_HEAD),
    whole("sends HTTP/3.7", &[&[Request, Send(b"HTTP/3.7 200 OK\r\n\r\n"), Hold]], BAD_HEAD),
    whole("answers in frames of HTTP/2", &[&[Send(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80"), Hold]], BAD_HEAD),
    whole("answers with a TLS alert", &[&[Request, Send(b"\x15\x03\x01\0\x02\x02\x46"), Close]], BAD_HEAD),
    whole("greets as a mail server", &[&[Send(b"220 mail.example ESMTP\r\n"), Hold]], BAD_HEAD),
    whole("greets as SSH", &[&[Send(b"SSH-2.0-OpenSSH_9.9\r\n"), Hold]], BAD_HEAD),
    whole("answers in HTTP/0.9", &[&[Request, Send(b"<html>hello</html>"), Close]], BAD_HEAD),
    whole("sends an empty line first", &[&[Request, Send(b"\r\nHTTP/1.1 200 OK\r\n\r\n"), Hold]], BAD_HEAD),
    whole(
        "closes within its head",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Ty"), Close]],
        Fails("ServerDisconnectedError"),
    ),
    whole("stops within its head", &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Ty"), Hold]], Fails("TimeoutError"))
        .args(&["--request-timeout-seconds", "0.3"])
        .reports("TimeoutError()"),
    whole(
        "sends a header line of 9000 bytes",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nX: "), Repeat(b"a", 9000), Send(b"\r\n\r\n"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "sends a status line without end",
        &[&[Request, Send(b"HTTP/1.1 200 "), Repeat(b"O", 1 << 20), Hold]],
        BAD_HEAD,
    ),
    whole(
        "sends a header line without end",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nX: "), Repeat(b"a", 1 << 20), Hold]],
        BAD_HEAD,
    ),
    whole(
        "sends a header of 1 MB",
        &[&[
            Request,
            Send(b"HTTP/1.1 200 OK\r\nX: "),
            Repeat(b"a", 1 << 20),
            Send(b"\r\nContent-Length: 2\r\n\r\n{}"),
            Hold,
        ]],
        BAD_HEAD,
    ),
    whole(
        "sends headers without end",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\n"), Repeat(b"X: y\r\n", 1 << 18), Hold]],
        BAD_HEAD,
    ),
    whole(
        "sends 200 headers",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\n"), Repeat(b"X: y\r\n", 200), Send(b"\r\n"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "sends a header without a colon",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length 5\r\n\r\nhello"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "puts a space before a colon",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "folds a header",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\nhello"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "puts a NUL into a header",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 5\r\n\r\nhello"), Hold]],
        BAD_HEAD,
    ),
    stream(
        "puts Latin-1 into a header beside the content type",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nServer: caf\xe9\r\nContent-Type: text/event-stream\r\nTransfer-En\
         coding: chunked\r\n\r\n",
            ),
            Chunk(WORD),
            Chunk(WORD),
            End,
        ]],
        Answered,
    )
    .holds(&[("/measurement/not_streamed", 0.0), ("/measurement/events", 4.0)]),
    whole(
        "sends Continue three times",
        &[&[Request, Repeat(b"HTTP/1.1 100 Continue\r\n\r\n", 3), Json(crate::hostile::table::CHAT)]],
        Answered,
    ),
    whole("sends Continue for ever", &[&[Request, Repeat(b"HTTP/1.1 100 Continue\r\n\r\n", 1 << 16), Hold]], BAD_HEAD),
    whole(
        "switches protocols",
        &[&[Request, Send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "announces both a length and chunks",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n0\r\n\r\n",
            ),
            Hold,
        ]],
        BAD_HEAD,
    ),
    whole(
        "announces two lengths",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "announces the same length twice",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 48\r\nContent-Length: 48\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi there\"}}]}",
            ),
        ]],
        Answered,
    ),
    whole(
        "announces a length below zero",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "announces a length in words",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "announces a length of thirty digits",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000000000000000000000\r\n\r\n"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "announces two codings of the transfer",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), Hold]],
        BAD_HEAD,
    ),
    whole(
        "answers in HTTP/1.0 until it closes",
        &[&[
            Request,
            Send(
                b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi\"}}]}",
            ),
            Close,
        ]],
        Answered,
    ),
    stream(
        "streams in HTTP/1.0 until it closes",
        &[&[
            Request,
            Send(b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"),
            Send(WORD.as_bytes()),
            Send(DONE.as_bytes()),
            Close,
        ]],
        Answered,
    ),
    stream(
        "gives no content type",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")]],
        Fails("InvalidInferenceResultError"),
    ),
];
