//! Whole bodies.

use crate::hostile::table::ExpectedOutcome::{Answered, Fails};
use crate::hostile::table::Step::{Close, Drip, Hold, Json, Repeat, Request, Send};
use crate::hostile::table::{CHAT, Row, stream, whole};

const NO_CONTENT: crate::hostile::table::ExpectedOutcome = Fails("InvalidInferenceResultError");

pub(crate) const ROWS: &[Row] = &[
    whole("answers well", &[&[Request, Json(CHAT)]], Answered).holds(&[("/output_sequence_length/avg", 2.0)]),
    stream("does not stream", &[&[Request, Json(CHAT)]], Answered).holds(&[("/measurement/not_streamed", 2.0)]),
    whole(
        "sends more than it announced",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi there\"}}]} and this was not announced",
            ),
        ]],
        Answered,
    )
    .holds(&[("/http_req_connection_reused/avg", 0.0)]),
    whole(
        "sends another answer behind the first",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi there\"}}]}HTTP/1.1 500 Oops\r\nContent\
         -Length: 0\r\n\r\n",
            ),
        ]],
        Answered,
    ),
    stream(
        "sends events behind the length of a stream",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 47\r\n\r\n\
         data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\
         \"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
            ),
        ]],
        Answered,
    )
    .holds(&[("/measurement/events", 2.0)]),
    whole(
        "sends a body with a 204",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 204 No Content\r\nContent-Type: application/json\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi\"}}]}",
            ),
        ]],
        NO_CONTENT,
    ),
    whole("sends nothing with a 204", &[&[Request, Send(b"HTTP/1.1 204 No Content\r\n\r\n")]], NO_CONTENT),
    whole("sends an empty body", &[&[Request, Json("")]], NO_CONTENT),
    whole("sends an empty object", &[&[Request, Json("{}")]], NO_CONTENT),
    whole("sends a list", &[&[Request, Json("[1,2,3]")]], NO_CONTENT),
    whole("sends null", &[&[Request, Json("null")]], NO_CONTENT),
    whole("sends choices that are a number", &[&[Request, Json(r#"{"choices":5}"#)]], NO_CONTENT),
    whole("sends a message that is a list", &[&[Request, Json(r#"{"choices":[{"message":[]}]}"#)]], NO_CONTENT),
    whole(
        "sends content that is a number",
        &[&[Request, Json(r#"{"choices":[{"message":{"content":5}}]}"#)]],
        NO_CONTENT,
    ),
    whole(
        "sends content that is null",
        &[&[Request, Json(r#"{"choices":[{"message":{"content":null}}]}"#)]],
        NO_CONTENT,
    ),
    whole("sends broken JSON", &[&[Request, Json(r#"{"choices":[{"message":{"content":"hi"#)]], NO_CONTENT),
    whole(
        "sends a page of HTML as success",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n\
         <html></html>",
            ),
        ]],
        NO_CONTENT,
    ),
    whole(
        "sends NUL bytes",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n\0\0\0\0")]],
        NO_CONTENT,
    ),
    whole(
        "sends a picture",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n\x89PNG")]],
        NO_CONTENT,
    ),
    whole(
        "sends JSON that is no UTF-8",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n\
         \"\xff\"",
            ),
        ]],
        Fails("UnicodeDecodeError"),
    )
    .reports("UnicodeDecodeError('"),
    whole(
        "ends a body inside its gzip data",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\0")]],
        Fails("ClientPayloadError"),
    )
    .reports("ClientPayloadError(\"the response ends within its 'gzip' data\")"),
    whole(
        "nests lists a hundred thousand deep",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"), Repeat(b"[", 100_000)]],
        NO_CONTENT,
    ),
    whole(
        "nests objects beside the answer",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 60050\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi\"}}],\"deep\":",
            ),
            Repeat(b"[", 30_000),
            Repeat(b"]", 30_000),
            Send(b"}"),
        ]],
        Answered,
    ),
    whole(
        "reports an error as success",
        &[&[Request, Json(r#"{"error":{"message":"it's broken","code":507}}"#)]],
        Fails("ResponseError"),
    )
    .code(507)
    .reports(r#"ResponseError("the server answered with an error: it's broken")"#),
    whole(
        "answers two texts with one vector",
        &[&[Request, Json("{\"data\":[{\"object\":\"embedding\",\"embedding\":[0.5]}]}")]],
        Answered,
    )
    .args(&["--endpoint-type", "embeddings", "--batch-size-text", "2"])
    .holds(&[("/measurement/short_of_vectors", 2.0)])
    .warns("2 responses held fewer vectors than their requests had inputs"),
    whole(
        "counts NaN",
        &[&[Request, Json(r#"{"choices":[{"message":{"content":"hi there"},"logprob":NaN}]}"#)]],
        Answered,
    )
    .holds(&[("/output_sequence_length/avg", 2.0)]),
    whole(
        "begins with a byte order mark",
        &[&[Request, Json("\u{feff}{\"choices\":[{\"message\":{\"content\":\"hi there\"}}]}")]],
        Answered,
    ),
    whole(
        "sends half a surrogate pair",
        &[&[Request, Json(r#"{"choices":[{"message":{"content":"hi \ud83d"}}]}"#)]],
        Answered,
    ),
    whole(
        "counts 10^20 tokens",
        &[&[
            Request,
            Json(
                "{\"choices\":[{\"message\":{\"content\":\"hi there\"}}],\"usage\":\
         {\"prompt_tokens\":100000000000000000000,\"completion_tokens\":\
         2}}",
            ),
        ]],
        Answered,
    )
    .holds(&[("/measurement/unreadable_usage", 2.0), ("/usage_completion_tokens/avg", 2.0)])
    .warns("2 responses carried usage that cannot be"),
    whole(
        "counts tokens below zero",
        &[&[
            Request,
            Json(
                "{\"choices\":[{\"message\":{\"content\":\"hi there\"}}],\"usage\":\
         {\"prompt_tokens\":-5,\"completion_tokens\":2.5}}",
            ),
        ]],
        Answered,
    )
    .holds(&[("/measurement/unreadable_usage", 2.0)]),
    whole(
        "counts more than fits a number",
        &[&[
            Request,
            Json(
                "{\"choices\":[{\"message\":{\"content\":\"hi there\"}}],\"usage\":\
         {\"prompt_tokens\":1e999,\"completion_tokens\":2}}",
            ),
        ]],
        Answered,
    )
    .holds(&[("/usage_completion_tokens/avg", 2.0)]),
    whole(
        "sends a word as usage",
        &[&[Request, Json(r#"{"choices":[{"message":{"content":"hi there"}}],"usage":"much"}"#)]],
        Answered,
    ),
    whole(
        "sends everything twice",
        &[&[Request, Json(r#"{"choices":[],"choices":[{"message":{"content":"hi","content":"hi there"}}]}"#)]],
        Answered,
    )
    .holds(&[("/output_sequence_length/avg", 2.0)]),
    whole(
        "closes within its body",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{\"choices\":"), Close]],
        Fails("ClientPayloadError"),
    )
    .reports("ClientPayloadError('body ended after 11 of 400 bytes')"),
    whole(
        "stops within its body",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{\"choices\":"), Hold]],
        Fails("TimeoutError"),
    )
    .args(&["--request-timeout-seconds", "0.3"]),
    whole(
        "ends its body by closing",
        &[&[Request, Send(b"HTTP/1.1 200 OK\r\n\r\n"), Send(CHAT.as_bytes()), Close]],
        Answered,
    ),
    whole(
        "sends its answer byte by byte",
        &[&[
            Request,
            Drip(
                b"HTTP/1.1 200 OK\r\nContent-Length: 48\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"hi there\"}}]}",
            ),
        ]],
        Answered,
    ),
    whole(
        "sends an answer of 5 MB",
        &[&[
            Request,
            Send(
                b"HTTP/1.1 200 OK\r\nContent-Length: 5000077\r\n\r\n\
         {\"choices\":[{\"message\":{\"content\":\"",
            ),
            Repeat(b"hello ", 833_333),
            Send(b"aa\"}}],\"usage\":{\"completion_tokens\":833334}}"),
        ]],
        Answered,
    )
    .args(&["--use-server-token-count"])
    .holds(&[("/output_sequence_length/avg", 833_334.0)]),
    whole(
        "counts reasoning beside the completion",
        &[&[
            Request,
            Json(
                "{\"choices\":[{\"message\":{\"content\":\"hi there\"}}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":3,\
                 \"total_tokens\":63,\"completion_tokens_details\":{\"reasoning_tokens\":50}}}",
            ),
        ]],
        Answered,
    )
    .args(&["--use-server-token-count"])
    .holds(&[("/output_sequence_length/avg", 53.0), ("/output_token_count/avg", 3.0), ("/measurement/doubtful_usage", 0.0)]),
    whole(
        "counts tokens that contradict each other",
        &[&[
            Request,
            Json(
                "{\"choices\":[{\"message\":{\"content\":\"hi there\"}}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":3,\
                 \"total_tokens\":13,\"completion_tokens_details\":{\"reasoning_tokens\":50}}}",
            ),
        ]],
        Answered,
    )
    .args(&["--use-server-token-count"])
    .holds(&[("/output_sequence_length/avg", 3.0), ("/measurement/doubtful_usage", 2.0)])
    .warns("2 responses carried token counts that contradict each other"),
    whole(
        "thinks in parts of its content",
        &[&[
            Request,
            Json(
                "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\
                 \"let me see\"}]},{\"type\":\"text\",\"text\":\"hi there\"}]}}]}",
            ),
        ]],
        Answered,
    )
    .holds(&[("/reasoning_token_count/avg", 3.0), ("/output_sequence_length/avg", 5.0)]),
];
