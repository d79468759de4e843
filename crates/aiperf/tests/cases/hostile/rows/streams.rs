//! Event streams.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{Chunk, Drip, End, Hold, Repeat, Request, Reset, Send, Stream, Wait};
use crate::hostile::table::{DONE, Row, WORD, stream};

const FAILED: crate::hostile::table::ExpectedOutcome = Fails("SSEResponseError");
const NO_CONTENT: crate::hostile::table::ExpectedOutcome = Fails("InvalidInferenceResultError");

/// An event with a word of a response, and the member of an error without one.
const NO_ERROR: &str = "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\" hello\"}}]}\n\n";

/// The last event of a choice: as it should be, and as a server ends a response that it gives up.
const STOPPED: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const ABORTED: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n";

/// An event with a word of a message.
const BLOCK: &str = "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";

pub(crate) const ROWS: &[Row] = &[
    stream("streams well", &[&[Request, Stream, Chunk(WORD), Chunk(WORD), Chunk(DONE), End]], Answered)
        .holds(&[("/output_sequence_length/avg", 2.0), ("/measurement/unreadable_events", 0.0)]),
    stream("stops after [DONE]", &[&[Request, Stream, Chunk(WORD), Chunk(DONE), Hold]], Answered)
        .requests(1)
        .holds(&[("/measurement/streams_left_open", 1.0)])
        .warns("streams were left open by the server after their last event"),
    stream(
        "stops after [DONE] and the size of the last chunk",
        &[&[Request, Stream, Chunk(WORD), Chunk(DONE), Send(b"0\r\n"), Hold]],
        Answered,
    )
    .requests(1),
    stream(
        "goes on after [DONE] with comments for ever",
        &[&[
            Request,
            Stream,
            Chunk(WORD),
            Chunk(DONE),
            Wait(20),
            Chunk(": ping\n\n"),
            Wait(700),
            Chunk(": ping\n\n"),
            Wait(700),
            Chunk(": ping\n\n"),
            Wait(700),
            Chunk(": ping\n\n"),
            Hold,
        ]],
        Answered,
    )
    .requests(1),
    stream(
        "sends a null error in every event, slowly",
        &[&[Request, Stream, Chunk(NO_ERROR), Wait(3000), Chunk(NO_ERROR), Wait(3000), Chunk(NO_ERROR), End]],
        Answered,
    )
    .requests(1)
    .holds(&[("/output_sequence_length/avg", 3.0)]),
    stream("ends without [DONE]", &[&[Request, Stream, Chunk(WORD), End]], Answered)
        .holds(&[("/measurement/unfinished_streams", 2.0)])
        .warns("2 streams ended without the event that ends them"),
    stream("ends with a finish reason", &[&[Request, Stream, Chunk(WORD), Chunk(STOPPED), End]], Answered)
        .holds(&[("/measurement/unfinished_streams", 0.0)]),
    stream("gives up within a stream", &[&[Request, Stream, Chunk(WORD), Chunk(ABORTED), Chunk(DONE), End]], FAILED)
        .code(502)
        .reports("the response ended with finish_reason 'abort'"),
    stream(
        "reports an error as an object in its data",
        &[&[
            Request,
            Stream,
            Chunk(WORD),
            Chunk("data: {\"object\":\"error\",\"message\":\"lost\",\"type\":\"x\",\"code\":507}\n\n"),
            Chunk(DONE),
            End,
        ]],
        FAILED,
    )
    .code(507)
    .reports("lost"),
    stream(
        "reports an error after words that came in one go",
        &[&[
            Request,
            Stream,
            Chunk(
                "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{}}],\"x_groq\":{\"error\":\"lost\"}}\n\n",
            ),
            Chunk(DONE),
            End,
        ]],
        FAILED,
    )
    .code(502)
    .reports("lost")
    .holds(&[("/measurement/events", 0.0), ("/measurement/merged_events", 0.0)]),
    stream(
        "reports an error by a field and stops",
        &[&[Request, Stream, Chunk(WORD), Chunk("error: {\"code\":500,\"message\":\"lost\"}\n\n"), Hold]],
        FAILED,
    )
    .requests(1)
    .code(500)
    .reports("lost"),
    stream(
        "writes a line of text into its stream",
        &[&[Request, Stream, Chunk(WORD), Chunk("upstream connect error: lost\n"), Chunk(DONE), End]],
        FAILED,
    )
    .code(502)
    .reports("upstream connect error: lost"),
    stream(
        "writes a page into its stream",
        &[&[Request, Stream, Chunk(WORD), Chunk("<html>502 Bad Gateway</html>\n"), Chunk(DONE), End]],
        FAILED,
    )
    .code(502)
    .reports("502 Bad Gateway"),
    stream(
        "reports an error by a code in its data",
        &[&[Request, Stream, Chunk(WORD), Chunk("data: {\"code\":500,\"message\":\"lost\"}\n\n"), End]],
        FAILED,
    )
    .code(500)
    .reports("lost"),
    stream("ends its message without message_stop", &[&[Request, Stream, Chunk(BLOCK), Chunk(DONE), End]], Answered)
        .args(&["--streaming", "--endpoint-type", "messages"])
        .holds(&[("/measurement/unfinished_streams", 2.0)]),
    stream("sends [DONE] twice", &[&[Request, Stream, Chunk(WORD), Chunk(DONE), Chunk(DONE), End]], Answered),
    stream("sends content after [DONE]", &[&[Request, Stream, Chunk(WORD), Chunk(DONE), Chunk(WORD), End]], Answered)
        .holds(&[("/measurement/events", 4.0)]),
    stream("sends nothing but [DONE]", &[&[Request, Stream, Chunk(DONE), End]], NO_CONTENT),
    stream("streams nothing", &[&[Request, Stream, End]], NO_CONTENT),
    stream("streams comments alone", &[&[Request, Stream, Chunk(": a\n\n: b\n\n"), End]], NO_CONTENT),
    stream(
        "streams usage alone",
        &[&[Request, Stream, Chunk("data: {\"choices\":[],\"usage\":{\"completion_tokens\":3}}\n\n"), End]],
        NO_CONTENT,
    ),
    stream(
        "streams JSON without fields",
        &[&[Request, Stream, Chunk("{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"), End]],
        NO_CONTENT,
    ),
    stream(
        "declares JSON and sends a stream",
        &[&[
            Request,
            Send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Chunk(WORD),
            End,
        ]],
        NO_CONTENT,
    ),
    stream(
        "counts NaN in its first event",
        &[&[
            Request,
            Stream,
            Chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":{\"p\":NaN}}]}\n\n"),
            Chunk(WORD),
            End,
        ]],
        Answered,
    )
    .holds(&[("/measurement/events", 4.0), ("/measurement/unreadable_events", 0.0)]),
    stream(
        "streams infinities",
        &[&[
            Request,
            Stream,
            Chunk(
                "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"p\":[-Infinity,\
         Infinity,-1e999]}]}\n\n",
            ),
            End,
        ]],
        Answered,
    )
    .holds(&[("/measurement/events", 2.0)]),
    stream(
        "streams half a surrogate pair",
        &[&[
            Request,
            Stream,
            Chunk("data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\"}}]}\n\n"),
            Chunk(WORD),
            End,
        ]],
        Answered,
    )
    .holds(&[("/measurement/events", 4.0)]),
    stream(
        "streams bytes that are no UTF-8",
        &[&[Request, Stream, Send(b"2f\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n\r\n"), End]],
        Answered,
    )
    .holds(&[("/measurement/events", 2.0)]),
    stream(
        "streams NUL bytes",
        &[&[Request, Stream, Chunk("data: {\"choices\":[{\"delta\":{\"content\":\"\0\"}}]}\n\n"), Chunk(WORD), End]],
        Answered,
    )
    .holds(&[("/measurement/unreadable_events", 2.0)]),
    stream(
        "cuts a byte order mark in two",
        &[&[
            Request,
            Stream,
            Send(b"1\r\n\xef\r\n"),
            Wait(20),
            Send(b"2\r\n\xbb\xbf\r\n"),
            Chunk(WORD),
            Chunk(WORD),
            End,
        ]],
        Answered,
    )
    .holds(&[("/measurement/events", 4.0)]),
    stream(
        "streams words that are no JSON",
        &[&[Request, Stream, Chunk("data: hello\n\n"), Chunk("data: {\"choices\":\n\n"), Chunk(WORD), End]],
        Answered,
    )
    .holds(&[("/measurement/unreadable_events", 4.0), ("/measurement/events", 2.0)])
    .warns("4 events of streams could not be read"),
    stream(
        "ends in words that are no JSON",
        &[&[Request, Stream, Chunk(WORD), Chunk("data: Internal Server Error\n\n"), End]],
        Fails("ClientPayloadError"),
    ),
    stream(
        "breaks off its last event",
        &[&[Request, Stream, Chunk(WORD), Chunk("data: {\"choices\":[{\"del"), End]],
        Fails("ClientPayloadError"),
    ),
    stream(
        "nests lists deep in an event",
        &[&[Request, Stream, Send(b"2718\r\ndata: "), Repeat(b"[", 10_000), Send(b"\n\n\r\n"), Chunk(WORD), End]],
        Answered,
    )
    .holds(&[("/measurement/unreadable_events", 2.0)]),
    stream(
        "sends 6 MB of comments without an empty line",
        &[&[
            Request,
            Stream,
            Send(b"5b8d80\r\n"),
            Repeat(b": a\n: b\r\n", 666_666),
            Send(b"ignor\n\r\n"),
            Chunk(WORD),
            End,
        ]],
        Answered,
    )
    .requests(1)
    .holds(&[("/measurement/events", 1.0)]),
    stream(
        "sends 4 MB of one line",
        &[&[
            Request,
            Stream,
            Send(b"3d0900\r\n: "),
            Repeat(b"a", 3_999_998),
            Send(b"\r\n"),
            Chunk("\n\n"),
            Chunk(WORD),
            End,
        ]],
        Answered,
    )
    .requests(1),
    stream(
        "sends a hundred thousand empty lines",
        &[&[Request, Stream, Send(b"186a0\r\n"), Repeat(b"\n", 100_000), Send(b"\r\n"), Chunk(WORD), End]],
        Answered,
    ),
    stream(
        "sends 4 million empty events",
        &[&[
            Request,
            Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 12000000\r\n\r\n"),
            Repeat(b":\n\n", 4_000_000),
        ]],
        NO_CONTENT,
    )
    .requests(1)
    .reports("1000000 events of the stream have no content"),
    stream(
        "sends 20,000 events in one go",
        &[&[
            Request,
            Stream,
            Repeat(b"2f\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\r\n", 20_000),
            End,
        ]],
        Answered,
    )
    .requests(1)
    .holds(&[("/measurement/events", 20_000.0)]),
    stream(
        "reports an error by an event and stops",
        &[&[Request, Stream, Chunk(WORD), Chunk("event: error\ndata: {\"message\":\"lost\"}\n\n"), Hold]],
        Fails("SSEResponseError"),
    )
    .requests(1)
    .code(502)
    .reports("lost"),
    stream(
        "reports an error in its data and stops",
        &[&[Request, Stream, Chunk(WORD), Chunk("data: {\"error\":{\"message\":\"lost\"}}\n\n"), Hold]],
        Fails("SSEResponseError"),
    )
    .requests(1)
    .code(502)
    .reports("lost"),
    stream(
        "sends [DONE] and more in one go and stops",
        &[&[Request, Stream, Chunk(WORD), Chunk("data: [DONE]\n\n: ping\n\n"), Hold]],
        Answered,
    )
    .requests(1),
    stream(
        "reports an error by an event and ends",
        &[&[Request, Stream, Chunk(WORD), Chunk("event: error\ndata: {\"message\":\"lost\"}\n\n"), End]],
        Fails("SSEResponseError"),
    )
    .code(502)
    .reports("lost"),
    stream(
        "reports an error in its data",
        &[&[
            Request,
            Stream,
            Chunk(WORD),
            Chunk("data: {\"error\":{\"message\":\"lost\",\"code\":503}}\n\n"),
            Chunk(DONE),
            End,
        ]],
        Fails("SSEResponseError"),
    )
    .code(503)
    .reports("lost"),
    stream(
        "reports an error that is a word",
        &[&[Request, Stream, Chunk("data: {\"error\":\"lost\"}\n\n"), End]],
        Fails("SSEResponseError"),
    )
    .code(502)
    .reports("lost"),
    stream(
        "ends lines in carriage returns",
        &[&[
            Request,
            Stream,
            Chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\r"),
            Chunk("data: [DONE]\r\r"),
            End,
        ]],
        Answered,
    ),
    stream(
        "ends lines in both",
        &[&[
            Request,
            Stream,
            Chunk("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n"),
            Chunk("data: [DONE]\r\n\r\n"),
            End,
        ]],
        Answered,
    ),
    stream(
        "breaks JSON over fields",
        &[&[Request, Stream, Chunk("id: 1\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n"), End]],
        Answered,
    ),
    stream(
        "reports usage twice",
        &[&[
            Request,
            Stream,
            Chunk(
                "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":\
         {\"completion_tokens\":1}}\n\n",
            ),
            Chunk("data: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\n"),
            End,
        ]],
        Answered,
    )
    .holds(&[("/usage_completion_tokens/avg", 7.0)]),
    stream(
        "reports absurd usage",
        &[&[
            Request,
            Stream,
            Chunk(WORD),
            Chunk("data: {\"choices\":[],\"usage\":{\"completion_tokens\":99999999999999999999}}\n\n"),
            End,
        ]],
        Answered,
    )
    .args(&["--streaming", "--use-server-token-count"])
    .holds(&[("/measurement/unreadable_usage", 2.0)])
    .warns("2 responses carried usage that cannot be")
    .warns_not("carried no usage"),
    stream(
        "drips its stream",
        &[&[Request, Stream, Drip(b"2f\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\r\n"), End]],
        Answered,
    ),
    stream("stops midway", &[&[Request, Stream, Chunk(WORD), Hold]], Fails("TimeoutError")).args(&[
        "--streaming",
        "--request-timeout-seconds",
        "0.3",
    ]),
    stream("resets midway", &[&[Request, Stream, Chunk(WORD), Wait(20), Reset]], Fails("ClientOSError"))
        .reports("ClientOSError('connection lost: connection reset by peer')"),
    stream(
        "ends a stream inside its gzip data",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTran\
         sfer-Encoding: chunked\r\n\r\n4\r\n\x1f\x8b\x08\0\r\n",
            ),
            End,
        ]],
        Fails("ClientPayloadError"),
    ),
];
