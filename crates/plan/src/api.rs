//! The live API: where it listens, and for which clients.

use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// An HTTP server during the run, for users who watch it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiPlan {
    /// The name or address of the interface it listens on, without brackets.
    pub host: String,
    pub port: u16,
    /// The user asked for it explicitly: if the port is unavailable, the run fails before it starts.
    pub is_required: bool,
    /// Origins of other sites whose pages may read it; `*` allows every origin.
    pub cors_origins: Vec<String>,
    /// How long it stays after the end of the run.
    pub stays: Nanos,
    /// From the response to a shutdown request until the shutdown.
    pub shutdown_delay: Nanos,
    /// How long responses under way may take at the shutdown.
    pub shutdown_timeout: Nanos,
    pub most_websockets: u32,
}

impl ApiPlan {
    /// The default interface: only this machine can reach it.
    pub const HOST: &'static str = "127.0.0.1";

    /// Host and port in the form of a URL.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}
