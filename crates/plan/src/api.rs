//! The live API: where it listens, and for whom.

use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// An HTTP server beside the run, for those who watch it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiPlan {
    /// The name or address of the interface it listens on, without brackets.
    pub host: String,
    pub port: u16,
    /// Somebody asked for it by name: a port that cannot be had ends the run before it begins.
    pub is_required: bool,
    /// Origins of other sites whose pages may read it; `*` is every one.
    pub cors_origins: Vec<String>,
    /// How long it stays when the run is over.
    pub stays: Nanos,
    /// From the answer to a wish to stop until it stops.
    pub shutdown_delay: Nanos,
    /// What answers that are under way may take when it stops.
    pub shutdown_timeout: Nanos,
    pub most_websockets: u32,
}

impl ApiPlan {
    /// Where it listens unless somebody says otherwise: nobody but this machine reaches it.
    pub const HOST: &'static str = "127.0.0.1";

    /// Host and port as a URL has them.
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}
