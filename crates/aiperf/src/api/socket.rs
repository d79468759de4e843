//! WebSocket clients: the handshake, the messages they may send, and their connections.

use super::hub::Hub;
use super::mailbox::{EVERYTHING, Mailbox};
use super::messages::KINDS;
use super::response::ApiResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use hyper::header::{self, HeaderMap};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Value, json};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

/// Bytes of the longest message that a client may send.
pub(super) const LONGEST_MESSAGE: usize = 64 << 10;
/// Time between two heartbeats.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);
/// A silent client gets a ping.
const PING_EVERY: Duration = Duration::from_secs(20);
/// A client that leaves so many pings unanswered is disconnected.
const UNANSWERED_PINGS: u32 = 3;
/// How long a client may take to complete the closing handshake.
const FAREWELL: Duration = Duration::from_secs(1);
/// The GUID that the protocol appends to a key (RFC 6455, 4.2.2).
const PROTOCOL_ID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The response to a handshake; an error if it is not a valid handshake.
pub(super) fn handshake(method: &Method, fields: &HeaderMap) -> Result<ApiResponse, ApiResponse> {
    let lists = |name: header::HeaderName, wanted: &str| {
        let texts = fields.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(',')).any(|item| item.trim().eq_ignore_ascii_case(wanted))
    };
    if method != Method::GET || !lists(header::UPGRADE, "websocket") || !lists(header::CONNECTION, "upgrade") {
        let refusal = ApiResponse::refusal(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket: connect by ws://");
        return Err(refusal.with(header::UPGRADE, "websocket").with(header::CONNECTION, "upgrade"));
    }
    if !lists(header::SEC_WEBSOCKET_VERSION, "13") {
        let refusal = ApiResponse::refusal(StatusCode::UPGRADE_REQUIRED, "this WebSocket speaks version 13");
        return Err(refusal.with(header::SEC_WEBSOCKET_VERSION, "13"));
    }
    let key = fields.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok()).map(str::trim);
    let is_key = |key: &&str| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16);
    let Some(key) = key.filter(is_key) else {
        return Err(ApiResponse::refusal(StatusCode::BAD_REQUEST, "Sec-WebSocket-Key is 16 bytes in base64"));
    };
    let response = ApiResponse::new(StatusCode::SWITCHING_PROTOCOLS, super::response::TEXT, "");
    Ok(response
        .with(header::UPGRADE, "websocket")
        .with(header::CONNECTION, "upgrade")
        .with(header::SEC_WEBSOCKET_ACCEPT, &accepted(key)))
}

fn accepted(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{key}{PROTOCOL_ID}").as_bytes()))
}

/// The reply to a client's message, if any.
fn reply(text: &str, mailbox: &Mailbox) -> Option<Value> {
    let error = |message: String| Some(json!({ "type": "error", "message": message }));
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => value,
        Err(wrong) => return error(format!("Invalid JSON: {wrong}")),
    };
    let Value::Object(members) = &value else { return error("Payload must be a JSON object".into()) };
    let kind = members.get("type").and_then(Value::as_str)?;
    if kind == "ping" {
        return Some(json!({ "type": "pong" }));
    }
    let does = match kind {
        "subscribe" => "subscribed",
        "unsubscribe" => "unsubscribed",
        _ => return None,
    };
    let given = match members.get("message_types") {
        None => &[],
        Some(Value::Array(items)) => items.as_slice(),
        Some(_) => return error("message_types must be a list of strings".into()),
    };
    let Some(topics) = given.iter().map(Value::as_str).collect::<Option<Vec<&str>>>() else {
        return error("message_types must be a list of strings".into());
    };
    if does == "subscribed" {
        // Unknown topics are not stored: no message has them.
        let known = |topic: &&&str| **topic == EVERYTHING || KINDS.iter().any(|kind| kind.name == **topic);
        mailbox.subscribe(topics.iter().filter(known).map(|topic| (*topic).to_owned()));
    } else {
        mailbox.unsubscribe(topics.iter().copied());
    }
    Some(json!({ "type": does, "message_types": topics }))
}

/// Waits until the API ends.
pub(super) async fn ended(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Closes, and gives the client a moment to close too. A close with unread data resets the connection, and then the
/// client may lose the last messages.
async fn farewell(socket: &mut Socket, code: CloseCode, reason: &'static str) -> Result<(), tungstenite::Error> {
    socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await?;
    drain(socket).await;
    Ok(())
}

/// Reads until the other end closes; this also sends what is still buffered.
async fn drain(socket: &mut Socket) {
    let all = async { while socket.next().await.is_some_and(|message| message.is_ok()) {} };
    let _ = tokio::time::timeout(FAREWELL, all).await;
}

/// Sends the reason to a client that broke the protocol (RFC 6455, 7.1.7), if the connection still works.
async fn break_off(socket: &mut Socket, error: tungstenite::Error) -> Result<(), tungstenite::Error> {
    let (code, reason) = match &error {
        tungstenite::Error::Utf8(_) => (CloseCode::Invalid, "text is UTF-8"),
        tungstenite::Error::Capacity(_) => (CloseCode::Size, "the message is too long"),
        tungstenite::Error::Protocol(_) => (CloseCode::Protocol, "no frame of the protocol"),
        _ => return Err(error),
    };
    socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await?;
    // The following bytes cannot be split into frames, but unread data would reset the connection.
    let mut bytes = [0; 4 << 10];
    let all = async {
        loop {
            let mut rest = ReadBuf::new(&mut bytes);
            let read = poll_fn(|context| Pin::new(socket.get_mut()).poll_read(context, &mut rest)).await;
            if read.is_err() || rest.filled().is_empty() {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(FAREWELL, all).await;
    Ok(())
}

/// Serves a client until one of the two closes, or `stop` ends the API.
pub(super) async fn serve(upgrade: OnUpgrade, hub: Arc<Hub>, stop: watch::Receiver<bool>) {
    let Ok(upgraded) = upgrade.await else { return };
    let config = WebSocketConfig::default()
        .read_buffer_size(4 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(LONGEST_MESSAGE))
        .max_frame_size(Some(LONGEST_MESSAGE));
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let Some(mailbox) = hub.join() else {
        let _ = farewell(&mut socket, CloseCode::Again, "Max connections reached").await;
        return;
    };
    let _ = talk(&mut socket, &mailbox, stop).await;
    hub.leave(&mailbox);
}

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

async fn talk(
    socket: &mut Socket,
    mailbox: &Mailbox,
    mut stop: watch::Receiver<bool>,
) -> Result<(), tungstenite::Error> {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unanswered = 0;
    loop {
        tokio::select! {
            // Messages pushed before the end are sent before it.
            biased;
            () = mailbox.filled() => {
                if send_waiting(socket, mailbox).await?.is_none() {
                    return farewell(socket, CloseCode::Policy, "too slow").await;
                }
            }
            () = ended(&mut stop) => {
                send_waiting(socket, mailbox).await?;
                mailbox.set_flushed();
                return farewell(socket, CloseCode::Away, "the run is over").await;
            }
            received = socket.next() => {
                unanswered = 0;
                let received = match received {
                    None => return Ok(()),
                    Some(Ok(received)) => received,
                    Some(Err(error)) => return break_off(socket, error).await,
                };
                let response = match received {
                    Message::Text(text) => reply(&text, mailbox),
                    Message::Binary(_) => Some(json!({ "type": "error", "message": "Messages are text" })),
                    Message::Close(_) => {
                        drain(socket).await;
                        return Ok(());
                    }
                    Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => None,
                };
                if let Some(response) = response {
                    socket.send(Message::text(response.to_string())).await?;
                }
            }
            _ = pings.tick() => {
                unanswered += 1;
                if unanswered > UNANSWERED_PINGS {
                    return Ok(());
                }
                socket.send(Message::Ping(Default::default())).await?;
            }
        }
    }
}

/// Sends the waiting messages; `None` if there were too many.
async fn send_waiting(socket: &mut Socket, mailbox: &Mailbox) -> Result<Option<()>, tungstenite::Error> {
    let Some(waiting) = mailbox.take() else { return Ok(None) };
    for text in waiting {
        socket.feed(Message::Text(text)).await?;
    }
    socket.flush().await?;
    Ok(Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    fn fields(pairs: &[(&str, &str)]) -> HeaderMap {
        let field =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        pairs.iter().map(field).collect()
    }

    #[test]
    fn a_handshake_is_answered_as_the_rfc_requires() {
        let response = handshake(&Method::GET, &fields(&GOOD)).unwrap().into_response(None);
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn an_invalid_handshake_is_refused_with_a_reason() {
        for (without, status) in [(0, 426), (1, 426), (2, 426), (3, 400)] {
            let rest: Vec<_> =
                GOOD.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, pair)| *pair).collect();
            assert_eq!(handshake(&Method::GET, &fields(&rest)).unwrap_err().status, status, "{rest:?}");
        }
        assert_eq!(handshake(&Method::POST, &fields(&GOOD)).unwrap_err().status, 426);
        let short = [GOOD[0], GOOD[1], GOOD[2], ("sec-websocket-key", "c2hvcnQ=")];
        assert_eq!(handshake(&Method::GET, &fields(&short)).unwrap_err().status, 400);
    }

    #[test]
    fn clients_can_subscribe_and_get_errors() {
        let mailbox = Mailbox::default();
        let replied = |text: &str| reply(text, &mailbox).map(|reply| reply.to_string());
        assert_eq!(replied(r#"{"type":"ping"}"#).unwrap(), r#"{"type":"pong"}"#);
        let all = r#"{"type":"subscribed","message_types":["heartbeat","nope"]}"#;
        assert_eq!(replied(r#"{"type":"subscribe","message_types":["heartbeat","nope"]}"#).unwrap(), all);
        assert!(mailbox.wants("heartbeat") && !mailbox.wants("nope"));
        let none = r#"{"type":"unsubscribed","message_types":["heartbeat"]}"#;
        assert_eq!(replied(r#"{"type":"unsubscribe","message_types":["heartbeat"]}"#).unwrap(), none);
        assert!(!mailbox.wants("heartbeat"));
        assert!(replied("{").unwrap().contains("Invalid JSON: "));
        assert!(replied("[1]").unwrap().contains("Payload must be a JSON object"));
        for bad in [r#""*""#, "[1]", "{}", "null", r#"["a", null]"#] {
            let text = replied(&format!(r#"{{"type":"subscribe","message_types":{bad}}}"#)).unwrap();
            assert!(text.contains("message_types must be a list of strings"), "{text}");
        }
        assert_eq!(replied(r#"{"type":"dance"}"#), None);
        assert_eq!(replied(r#"{"type":7}"#), None);
    }

    proptest! {
        #[test]
        fn no_field_of_a_handshake_breaks_anything(
            values in proptest::collection::vec("(websocket|upgrade|13|,| |=|dGhl|[!-~]){0,8}", 4),
        ) {
            let pairs: Vec<_> = GOOD.iter().zip(&values).map(|((name, _), value)| (*name, value.as_str())).collect();
            if let Ok(response) = handshake(&Method::GET, &fields(&pairs)) {
                prop_assert_eq!(response.status, StatusCode::SWITCHING_PROTOCOLS);
                prop_assert_eq!(STANDARD.decode(values[3].trim()).unwrap().len(), 16);
            }
        }

        #[test]
        fn no_message_of_a_client_breaks_anything(text in "\\PC*", kind in "(un)?subscribe|ping|\\PC*", types in "\\PC*") {
            let mailbox = Mailbox::default();
            reply(&text, &mailbox);
            reply(&json!({ "type": kind, "message_types": [types] }).to_string(), &mailbox);
            reply(&format!(r#"{{"type":"{kind}","message_types":{types}}}"#), &mailbox);
        }
    }
}
