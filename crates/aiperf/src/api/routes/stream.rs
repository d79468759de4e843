//! The run as it happens.

use super::super::answer::JSON;
use super::Handler::Socket;
use super::Method::Get;
use super::{Group, Route, Told};

pub(super) const GROUP: Group = Group {
    title: "Stream",
    routes: &[Route {
        method: Get,
        path: "/ws",
        about: "A WebSocket that pushes messages of the kinds that a client subscribes to.",
        answers: &[
            Told(101, "", "messages as JSON text, see below"),
            Told(400, JSON, "no key of a handshake"),
            Told(403, JSON, "a page of another origin asked"),
            Told(426, JSON, "no handshake of version 13"),
        ],
        handler: Socket,
    }],
};
