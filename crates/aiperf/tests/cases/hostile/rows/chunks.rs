//! Chunk framing.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{Chunk, Close, Drip, End, Request, Send, Stream};
use crate::hostile::table::{DONE, Row, WORD, stream};

const BAD_FRAMING: crate::hostile::table::ExpectedOutcome = Fails("ClientPayloadError");
/// The bytes of a word's event: 2f in hexadecimal.
const EVENT: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";

pub(crate) const ROWS: &[Row] = &[
    stream(
        "pads sizes with zeros",
        &[&[Request, Stream, Send(b"000000000000002f\r\n"), Send(EVENT), Send(b"\r\n0000000000000000\r\n\r\n")]],
        Answered,
    ),
    stream(
        "adds extensions to sizes",
        &[&[Request, Stream, Send(b"2f;name=\"value\"\r\n"), Send(EVENT), Send(b"\r\n0;last\r\n\r\n")]],
        Answered,
    ),
    stream("sends trailers", &[&[Request, Stream, Chunk(WORD), Send(b"0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n")]], Answered)
        .holds(&[("/http_req_connection_reused/max", 1.0)]),
    stream(
        "cuts everything into bytes",
        &[&[
            Request,
            Drip(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
         2f\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\r\n0\r\n\r\n",
            ),
        ]],
        Answered,
    ),
    stream(
        "cuts an event into chunks",
        &[&[
            Request,
            Stream,
            Chunk("da"),
            Chunk("ta: {\"choices\":[{\"del"),
            Chunk("ta\":{\"content\":\"a\"}}]}\n"),
            Chunk("\n"),
            Chunk(DONE),
            End,
        ]],
        Answered,
    ),
    stream(
        "sends more behind the last chunk",
        &[&[Request, Stream, Chunk(WORD), Send(b"0\r\n\r\nHTTP/1.1 500 Oops\r\n\r\n")]],
        Answered,
    )
    .holds(&[("/http_req_connection_reused/max", 0.0)]),
    stream("gives a size that is no number", &[&[Request, Stream, Chunk(WORD), Send(b"zz\r\nhello")]], BAD_FRAMING),
    stream("gives a size below zero", &[&[Request, Stream, Chunk(WORD), Send(b"-5\r\nhello")]], BAD_FRAMING),
    stream(
        "gives a size of twenty digits",
        &[&[Request, Stream, Chunk(WORD), Send(b"fffffffffffffffffff0\r\nhello")]],
        BAD_FRAMING,
    ),
    stream("gives no size", &[&[Request, Stream, Chunk(WORD), Send(b"\r\nhello")]], BAD_FRAMING),
    stream(
        "forgets the line end after a chunk",
        &[&[Request, Stream, Send(b"2f\r\n"), Send(EVENT), Send(b"2f\r\n"), Send(EVENT)]],
        BAD_FRAMING,
    ),
    stream(
        "frames its chunks with line feeds alone",
        &[&[Request, Stream, Send(b"2f\n"), Send(EVENT), Send(b"\n0\n\n")]],
        BAD_FRAMING,
    ),
    stream("closes between two chunks", &[&[Request, Stream, Chunk(WORD), Close]], BAD_FRAMING),
    stream("closes within a chunk", &[&[Request, Stream, Chunk(WORD), Send(b"2f\r\ndata"), Close]], BAD_FRAMING),
    stream(
        "closes after [DONE] without the last chunk",
        &[&[Request, Stream, Chunk(WORD), Chunk(DONE), Close]],
        BAD_FRAMING,
    ),
];
