//! Responses that are no success.

use crate::hostile::table::ExpectedOutcome::Fails;
use crate::hostile::table::Step::{Chunk, Close, End, Hold, Repeat, Request, Send};
use crate::hostile::table::{Row, stream, whole};

pub(crate) const ROWS: &[Row] = &[
    whole(
        "redirects to a port without a listener",
        &[&[Request, Send(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n")]],
        Fails("ClientConnectorError"),
    )
    .reports("127.0.0.1:9"),
    whole(
        "redirects to no URL",
        &[&[Request, Send(b"HTTP/1.1 302 Found\r\nLocation: javascript:alert(1)\r\nContent-Length: 0\r\n\r\n")]],
        Fails("InvalidUrlRedirectClientError"),
    ),
    whole(
        "redirects and does not say where to",
        &[&[Request, Send(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n")]],
        Fails("Found"),
    )
    .code(302),
    whole(
        "redirects with 307 to itself",
        &[&[Request, Send(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")]],
        Fails("TooManyRedirects"),
    ),
    whole("sends Not Modified", &[&[Request, Send(b"HTTP/1.1 304 Not Modified\r\n\r\n")]], Fails("Not Modified"))
        .code(304),
    whole(
        "sends Unauthorized",
        &[&[Request, Send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\n\r\nno key")]],
        Fails("Unauthorized"),
    )
    .code(401)
    .reports("no key"),
    whole(
        "sends Too Many Requests",
        &[&[Request, Send(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 9999\r\nContent-Length: 0\r\n\r\n")]],
        Fails("Too Many Requests"),
    )
    .code(429),
    whole(
        "sends 500",
        &[&[Request, Send(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops")]],
        Fails("Internal Server Error"),
    )
    .code(500)
    .reports("oops"),
    whole(
        "sends 503 and closes",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 4\r\n\r\n\
         busy",
            ),
            Close,
        ]],
        Fails("Service Unavailable"),
    )
    .code(503),
    whole("sends 999 without a reason", &[&[Request, Send(b"HTTP/1.1 999\r\nContent-Length: 0\r\n\r\n")]], Fails(""))
        .code(999),
    whole(
        "gives its reason in Latin-1",
        &[&[Request, Send(b"HTTP/1.1 500 caf\xe9\r\nContent-Length: 0\r\n\r\n")]],
        Fails("caf\u{fffd}"),
    )
    .code(500),
    whole(
        "gives its reason in bytes that are not UTF-8",
        &[&[Request, Send(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\n\xff\xfea\0")]],
        Fails("Oops"),
    )
    .code(500)
    .reports("a\0"),
    whole(
        "explains a 500 without a length",
        &[&[Request, Send(b"HTTP/1.1 500 Oops\r\n\r\nlong story"), Close]],
        Fails("Oops"),
    )
    .code(500)
    .reports("long story"),
    whole(
        "explains a 500 in chunks",
        &[&[
            Request,
            Send(b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Chunk("long "),
            Chunk("story"),
            End,
        ]],
        Fails("Oops"),
    )
    .code(500)
    .reports("long story"),
    whole(
        "shows a page of HTML",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 29\r\n\r\n\
         <html><h1>Bad Gateway</h1>\n\n\n",
            ),
        ]],
        Fails("Bad Gateway"),
    )
    .code(502)
    .reports("<h1>"),
    whole(
        "explains a 500 at 5 MB",
        &[&[Request, Send(b"HTTP/1.1 500 Oops\r\nContent-Length: 5000000\r\n\r\n"), Repeat(b"a", 5_000_000)]],
        Fails("Oops"),
    )
    .code(500),
    whole(
        "sends more behind a 500",
        &[&[Request, Send(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops and more")]],
        Fails("Oops"),
    )
    .code(500),
    stream(
        "refuses a stream with a stream",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/event-stream\r\nContent-Length: 11\r\n\r\n\
         data: no\n\n\n",
            ),
        ]],
        Fails("Bad Request"),
    )
    .code(400),
    whole(
        "closes within a 500",
        &[&[Request, Send(b"HTTP/1.1 500 Oops\r\nContent-Length: 400\r\n\r\noops"), Close]],
        Fails("ClientPayloadError"),
    ),
    whole(
        "answers before it is asked",
        &[&[Send(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), Hold]],
        Fails("Content Too Large"),
    )
    .code(413),
];
