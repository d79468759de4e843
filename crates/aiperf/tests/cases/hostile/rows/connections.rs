//! Connections.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{Chunk, Close, End, Hold, Json, Request, Reset, Send, Stream, Wait};
use crate::hostile::table::{CHAT, DONE, Row, WORD, stream, whole};

/// The kernel decides what meets the reset first: a connect, a write or a read.
const LOST: crate::hostile::table::ExpectedOutcome =
    Fails("ClientOSError|ServerDisconnectedError|ClientConnectorError");

pub(crate) const ROWS: &[Row] = &[
    whole("takes a request and never answers", &[&[Request, Hold]], Fails("TimeoutError"))
        .args(&["--request-timeout-seconds", "0.3"]),
    whole("takes a connection and never reads", &[&[Wait(5000)]], Fails("TimeoutError"))
        .args(&["--request-timeout-seconds", "0.3"]),
    whole("closes every connection at once", &[&[Close]], LOST),
    whole("resets every connection at once", &[&[Reset]], LOST),
    whole("closes instead of answering", &[&[Request, Close]], Fails("ServerDisconnectedError"))
        .reports("ServerDisconnectedError('Server disconnected')"),
    whole("resets instead of answering", &[&[Request, Reset]], LOST),
    whole("closes after every answer", &[&[Request, Json(CHAT), Close]], Answered).requests(6),
    whole("closes a while after every answer", &[&[Request, Json(CHAT), Wait(1), Close]], Answered).requests(20),
    stream("closes after every stream", &[&[Request, Stream, Chunk(WORD), Chunk(DONE), End, Close]], Answered)
        .requests(6),
    whole("closes when a connection is used again", &[&[Request, Json(CHAT), Request, Close]], Answered)
        .requests(6)
        .holds(&[("/measurement/connection_retries", 5.0), ("/http_req_connection_reused/max", 0.0)])
        .warns("of requests found their idle connection closed by the server"),
    whole("resets when a connection is used again", &[&[Request, Json(CHAT), Request, Reset]], Answered)
        .requests(6)
        .holds(&[("/measurement/connection_retries", 5.0)]),
    stream(
        "closes when a connection is used again for a stream",
        &[&[Request, Stream, Chunk(WORD), End, Request, Close]],
        Answered,
    )
    .requests(4)
    .holds(&[("/measurement/connection_retries", 3.0)]),
    whole("resets after every answer", &[&[Request, Json(CHAT), Wait(1), Reset]], Answered).requests(20),
    whole(
        "announces that it closes and does not",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nConnection: Keep-Alive, CLOSE\r\nContent-Length: 48\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi there\"}}]}",
            ),
            Hold,
        ]],
        Answered,
    )
    .holds(&[("/http_req_connection_reused/max", 0.0)]),
    whole(
        "closes the first connection and is well then",
        &[&[Request, Json(CHAT), Request, Close], &[Request, Json(CHAT)]],
        Answered,
    )
    .requests(6)
    .holds(&[("/measurement/connection_retries", 1.0)]),
    whole("answers late", &[&[Request, Wait(200), Json(CHAT)]], Answered),
    whole("answers a request that comes on a connection never closed", &[&[Request, Json(CHAT)]], Answered)
        .requests(6)
        .args(&["--connection-reuse-strategy", "never"])
        .holds(&[("/http_req_connection_reused/max", 0.0)]),
];
