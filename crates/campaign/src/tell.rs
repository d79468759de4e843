//! What is said while a run is on: whoever talks to people listens here.

use aiperf_plan::LogLevel;

/// Takes messages. Called from any thread, never on the path of a byte.
pub trait Teller: Sync {
    /// Takes one message.
    fn tell(&self, level: LogLevel, message: &str);
}

/// Nobody listens.
pub struct Silent;

impl Teller for Silent {
    fn tell(&self, _: LogLevel, _: &str) {}
}
