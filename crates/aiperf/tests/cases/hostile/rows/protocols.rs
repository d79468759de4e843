//! Servers that take no end, and servers of another protocol.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{Chunk, Close, Forever, Goodbye, Hold, Json, Repeat, Request, Send, Stream, Wait};
use crate::hostile::table::{CHAT, ExpectedOutcome, Row, WORD, http2, stream, tls, whole};

const NO_HTTP2: ExpectedOutcome = Fails("ClientResponseError|ClientOSError|ServerDisconnectedError");
const NO_TLS: ExpectedOutcome = Fails("ClientConnectorSSLError");
/// The settings of an HTTP/2 server, all as usual.
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";
const FLOODED: ExpectedOutcome = Fails("ClientResponseError");
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0pingping";
const PRIORITY: &[u8] = b"\0\0\x05\x02\0\0\0\0\x01\0\0\0\0\x10";
/// The head of an interim response to the first request: `:status: 103`, the name by its place in the table of HPACK.
const EARLY_HINTS: &[u8] = b"\0\0\x05\x01\x04\0\0\0\x01\x08\x03103";
/// The head of a response to the first request, up to the value of a field: 9,000 bytes are to follow.
const LONG_FIELD: &[u8] = b"\0\x23\x2f\x01\x04\0\0\0\x01\x88\0\x01x\x7f\xa9\x45";
/// The head of a stream that ends with its connection.
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
/// A chunk of an event stream with a word of a response.
const WORD_IN_A_CHUNK: &[u8] = b"34\r\ndata: {\"choices\":[{\"delta\":{\"content\":\" hello\"}}]}\n\n\r\n";

pub(crate) const ROWS: &[Row] = &[
    stream(
        "streams without end",
        &[&[Request, Stream, Chunk(WORD), Forever(WORD_IN_A_CHUNK, 1)]],
        Fails("TimeoutError"),
    )
    .args(&["--streaming", "--request-timeout-seconds", "0.4"]),
    stream(
        "streams comments without end",
        &[&[Request, Stream, Chunk(WORD), Forever(b"9\r\n: still\n\n\r\n", 1)]],
        Fails("TimeoutError"),
    )
    .args(&["--streaming", "--request-timeout-seconds", "0.4"]),
    whole(
        "sends a byte a second",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), Forever(b"a", 1000)]],
        Fails("TimeoutError"),
    )
    .args(&["--request-timeout-seconds", "1.5"])
    .requests(1),
    whole("sends a byte of its head a second", &[&[Request, Forever(b"H", 1000)]], Fails("TimeoutError"))
        .args(&["--request-timeout-seconds", "0.5"])
        .requests(1),
    http2("sends rubbish after the preface of HTTP/2", &[&[Request, Repeat(b"rubbish ", 4096), Hold]], NO_HTTP2),
    http2(
        "sends rubbish after the settings of HTTP/2",
        &[&[Request, Send(SETTINGS), Repeat(b"rubbish ", 4096), Hold]],
        NO_HTTP2,
    ),
    http2("speaks HTTP/1.1 where HTTP/2 is wanted", &[&[Request, Json(CHAT), Hold]], NO_HTTP2),
    http2("closes after the preface of HTTP/2", &[&[Request, Close]], NO_HTTP2),
    http2("sends nothing in HTTP/2 but its settings", &[&[Request, Send(SETTINGS), Hold]], Fails("TimeoutError"))
        .args(&["--transport", "http2", "--request-timeout-seconds", "0.4"]),
    http2(
        "floods HTTP/2 with settings",
        &[&[Request, Send(SETTINGS), Wait(50), Repeat(SETTINGS, 1 << 20), Hold]],
        FLOODED,
    )
    .requests(1)
    .reports("too many frames that bring no answer further"),
    http2("floods HTTP/2 with pings", &[&[Request, Send(SETTINGS), Wait(50), Repeat(PING, 1 << 20), Hold]], FLOODED)
        .requests(1)
        .reports("too many frames that bring no answer further"),
    http2(
        "floods HTTP/2 with priorities",
        &[&[Request, Send(SETTINGS), Wait(50), Repeat(PRIORITY, 1 << 20), Hold]],
        FLOODED,
    )
    .requests(1)
    .reports("too many frames that bring no answer further"),
    http2(
        "sends Early Hints over HTTP/2 for ever",
        &[&[Request, Send(SETTINGS), Wait(50), Repeat(EARLY_HINTS, 1 << 16), Hold]],
        FLOODED,
    )
    .requests(1)
    .reports("too many interim responses"),
    http2(
        "sends a header line of 9000 bytes over HTTP/2",
        &[&[Request, Send(SETTINGS), Wait(50), Send(LONG_FIELD), Repeat(b"a", 9000), Hold]],
        FLOODED,
    )
    .requests(1)
    .reports("a header line is longer than 8190 bytes"),
    stream(
        "cuts a stream over TLS that runs until the close",
        &[&[Request, Send(UNTIL_CLOSE), Send(WORD.as_bytes()), Close]],
        Fails("ClientPayloadError"),
    )
    .over_tls()
    .reports("the server closed without the close_notify of TLS"),
    stream(
        "ends a stream over TLS by close_notify",
        &[&[Request, Send(UNTIL_CLOSE), Send(WORD.as_bytes()), Goodbye]],
        Answered,
    )
    .over_tls(),
    whole("closes behind a whole body over TLS without a word", &[&[Request, Json(CHAT), Close]], Answered).over_tls(),
    tls("speaks plain HTTP where TLS is wanted", &[&[Send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Hold]], NO_TLS),
    tls("sends rubbish in a handshake", &[&[Wait(5), Repeat(b"rubbish ", 4096), Hold]], NO_TLS),
    tls("closes in a handshake", &[&[Wait(5), Close]], Fails("ClientConnectorSSLError|ClientOSError")),
    tls("sends nothing in a handshake", &[&[Hold]], Fails("TimeoutError")).args(&["--request-timeout-seconds", "0.4"]),
];
