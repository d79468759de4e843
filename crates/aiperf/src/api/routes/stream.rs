//! The WebSocket.

use super::super::response::JSON;
use super::Handler::Socket;
use super::Method::Get;
use super::{Group, Returns, Route};

pub(super) const GROUP: Group = Group {
    title: "Stream",
    routes: &[Route {
        method: Get,
        path: "/ws",
        about: "A WebSocket. It pushes the kinds of messages that the client subscribes to.",
        responses: &[
            Returns(101, "", "messages as JSON text, listed below"),
            Returns(400, JSON, "`Sec-WebSocket-Key` is missing or wrong"),
            Returns(403, JSON, "the request comes from a page of another origin"),
            Returns(426, JSON, "not a WebSocket handshake of version 13"),
        ],
        handler: Socket,
    }],
};
