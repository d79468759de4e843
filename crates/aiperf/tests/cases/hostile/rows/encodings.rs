//! Bodies that are compressed, and text in other charsets.
//!
//! The bytes are those of Python's `zlib`: a response of two words with `compressobj(9, DEFLATED, 31)`, 15 for the
//! frame of zlib, -15 for none; two events and the last one, each flushed with `Z_SYNC_FLUSH`, in chunks; and 64 KiB of
//! spaces.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{End, Repeat, Request, Send, Wait};
use crate::hostile::table::{Row, stream, whole};

const GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03=\x8cA\n\x80 \x14\x05\xaf\x12o\xdd\xaaUx\x95\x88\x08y\xa4\xa4~\xd1\
    \xdfJ\xbc{nj;\xccL\x83u\xe2-+\xcc\xd6\x10Y\xeby\x11\xa6\xc1JR&\x85\x81c\x082\xa9c!z\xdfg<\x9f\
    \x93\x8b\xc4\xac\x87\xca\xcd4\x06\xeb<\xaa\x98\x03\xd5K\xfa\xe9\xd2\xfb\x0bQS2{e\0\0\0";
const ZLIB: &[u8] = b"x\xda=\x8cA\n\x80 \x14\x05\xaf\x12o\xdd\xaaUx\x95\x88\x08y\xa4\xa4~\xd1\xdfJ\xbc{nj;\xccL\x83u\
    \xe2-+\xcc\xd6\x10Y\xeby\x11\xa6\xc1JR&\x85\x81c\x082\xa9c!z\xdfg<\x9f\x93\x8b\xc4\xac\x87\xca\
    \xcd4\x06\xeb<\xaa\x98\x03\xd5K\xfa\xe9\xd2\xfb\x0b.\x7f$t";
const DEFLATE: &[u8] =
    b"=\x8cA\n\x80 \x14\x05\xaf\x12o\xdd\xaaUx\x95\x88\x08y\xa4\xa4~\xd1\xdfJ\xbc{nj;\xccL\x83u\xe2-+\
    \xcc\xd6\x10Y\xeby\x11\xa6\xc1JR&\x85\x81c\x082\xa9c!z\xdfg<\x9f\x93\x8b\xc4\xac\x87\xca\xcd4\
    \x06\xeb<\xaa\x98\x03\xd5K\xfa\xe9\xd2\xfb\x0b";
const FIRST_EVENT: &[u8] =
    b"43\r\n\x1f\x8b\x08\0\0\0\0\0\x02\x03JI,I\xb4R\xa8VJ\xce\xc8\xcfLN-V\xb2\x8a\xaeVJI\xcd)IT\xb2\
    \x02\n\xe6\xe7\x95\xa4\xe6\x95(Y))d\xa4\xe6\xe4\xe4+\xd5\xd6\xc6\xd6rq\x01\0\0\0\xff\xff\r\n";
const SECOND_EVENT: &[u8] = b"9\r\nJ!C\x0f\0\0\0\xff\xff\r\n";
const LAST_EVENT: &[u8] = b"14\r\n\x83\xe8\x89v\xf1\xf7s\x8d\xe5\xe2\x02\0\x18\xb9\x81Mv\0\0\0\r\n";
const GZIPPED_STREAM: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\
    Transfer-Encoding: chunked\r\n\r\n";
const SPACES: &[u8] =
    b"\xec\xc1\x81\0\0\0\0\x80 \x95\xfd)\x17\xa9\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0j\0\0\0\xff\xff";
const GZIPPED_ERROR: &[u8] =
    b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xabVJ-*\xca/R\xb2R\xca,Q\xc8,VH*\xca\xcfN\xcdS\xaa\x05\0\x92TjW\
    \x18\0\0\0";

pub(crate) const ROWS: &[Row] = &[
    whole(
        "compresses its answer with gzip",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 101\r\n\r\n"), Send(GZIP)]],
        Answered,
    )
    .holds(&[("/output_sequence_length/avg", 2.0), ("/usage_completion_tokens/avg", 2.0)]),
    whole(
        "compresses its answer with deflate",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 89\r\n\r\n"), Send(ZLIB)]],
        Answered,
    )
    .holds(&[("/output_sequence_length/avg", 2.0)]),
    whole(
        "compresses its answer with deflate and no frame",
        &[&[
            Request,
            Send(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 83\r\n\r\n"),
            Send(DEFLATE),
        ]],
        Answered,
    )
    .holds(&[("/output_sequence_length/avg", 2.0)]),
    stream(
        "compresses its stream",
        &[&[
            Request,
            Send(GZIPPED_STREAM),
            Send(FIRST_EVENT),
            Wait(20),
            Send(SECOND_EVENT),
            Wait(20),
            Send(LAST_EVENT),
            End,
        ]],
        Answered,
    )
    .holds(&[("/output_sequence_length/avg", 2.0), ("/measurement/events", 4.0)]),
    stream(
        "breaks off within its compressed stream",
        &[&[Request, Send(GZIPPED_STREAM), Send(FIRST_EVENT), Send(SECOND_EVENT), End]],
        Fails("ClientPayloadError"),
    )
    .reports("ClientPayloadError(\"the response ends within its 'gzip' data\")"),
    stream(
        "sends events as they are where it announced gzip",
        &[&[Request, Send(GZIPPED_STREAM), Send(b"e\r\ndata: [DONE]\n\n\r\n"), End]],
        Fails("ClientPayloadError"),
    )
    .reports("the response is not the 'gzip' that its head announces"),
    whole(
        "sends a small body that grows past all limits",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 92410\r\n\r\n\
                \x1f\x8b\x08\0\0\0\0\0\x02\x03",
            ),
            Repeat(SPACES, 1100),
        ]],
        Fails("ClientPayloadError"),
    )
    .reports("decoded, the response is longer than the 67108864 bytes that are kept"),
    whole(
        "sends gzip members without end",
        &[&[
            Request,
            Send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 60000000\r\n\r\n"),
            Repeat(b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\x03\0\0\0\0\0\0\0\0\0", 3_000_000),
        ]],
        Fails("ClientPayloadError"),
    )
    .requests(1)
    .reports("the response has more than 16384 'gzip' members"),
    whole(
        "compresses its answer with brotli",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\nabcd")]],
        Fails("ClientPayloadError"),
    )
    .reports("the server sent Content-Encoding 'br'"),
    whole(
        "compresses the text of an error",
        &[&[
            Request,
            Send(b"HTTP/1.1 500 Oops\r\nContent-Encoding: gzip\r\nContent-Length: 44\r\n\r\n"),
            Send(GZIPPED_ERROR),
        ]],
        Fails("Oops"),
    )
    .code(500)
    .reports("{\"error\":\"it is broken\"}"),
    whole(
        "writes Latin-1 and declares it",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=iso-8859-1\r\nContent-Length: 44\r\n\r\n\
                {\"choices\":[{\"message\":{\"content\":\"caf\xe9\"}}]}",
            ),
        ]],
        Answered,
    ),
    whole(
        "writes in an unknown charset",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=klingon\r\nContent-Length: 44\r\n\r\n\
                {\"choices\":[{\"message\":{\"content\":\"caf\xe9\"}}]}",
            ),
        ]],
        Fails("LookupError"),
    )
    .reports("LookupError('unknown encoding: klingon')"),
];
