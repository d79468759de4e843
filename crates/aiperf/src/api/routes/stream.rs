//! The WebSocket.

use super::super::answer::JSON;
use super::Handler::Socket;
use super::Method::Get;
use super::{Group, Returns, Route};

pub(super) const GROUP: Group = Group {
    title: "Stream",
    routes: &[Route {
        method: Get,
        path: "/ws",
        about: "A WebSocket that pushes messages of the kinds that a client subscribes to.",
        answers: &[
            Returns(101, "", "messages as JSON text, see below"),
            Returns(400, JSON, "no key of a handshake"),
            Returns(403, JSON, "a page of another origin asked"),
            Returns(426, JSON, "no handshake of version 13"),
        ],
        handler: Socket,
    }],
};
