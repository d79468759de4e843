//! Sinks that keep records waiting for longer than they may, and why: what their threads did meanwhile, by the kernel's
//! account. A thread that waits for a core is no slow disk, and a faster one would not help it.

use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The part of a wait that a cause must explain before it is named.
const NAMED_PART: u64 = 4;
/// Share of CPU time from which the hypervisor is named.
const STOLEN_SHARE: f64 = 0.05;

/// A sink that kept records waiting for longer than they may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkStall {
    pub path: PathBuf,
    /// How often.
    pub count: u64,
    pub total: Nanos,
    pub longest: Nanos,
    /// Whether requests waited too.
    pub held_sending: bool,
    /// What its thread did meanwhile.
    pub times: StallTimes,
}

impl SinkStall {
    /// A sink that kept up so far.
    pub fn none(path: PathBuf) -> Self {
        let times = StallTimes::default();
        Self { path, count: 0, total: Nanos::ZERO, longest: Nanos::ZERO, held_sending: false, times }
    }
}

/// What a sink's thread did while records waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallTimes {
    /// How long records waited.
    pub waited: Nanos,
    /// Inside writes, neither on a core nor waiting for one: the file's own time.
    pub writing: Nanos,
    pub computing: Nanos,
    pub core_wait: Nanos,
    /// CPU time of all cores that the hypervisor took, and all of it, in ticks.
    pub stolen: u64,
    pub ticks: u64,
}

/// What kept records waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCause {
    /// Writes that did not come back.
    Writes,
    /// No core for the thread that writes.
    NoCore,
    /// The work of that thread itself.
    Computing,
    /// Nothing that is measured.
    Unknown,
}

impl StallTimes {
    pub fn add(&mut self, other: Self) {
        self.waited.0 += other.waited.0;
        self.writing.0 += other.writing.0;
        self.computing.0 += other.computing.0;
        self.core_wait.0 += other.core_wait.0;
        self.stolen += other.stolen;
        self.ticks += other.ticks;
    }

    /// The share of CPU time that the hypervisor took.
    pub fn stolen_share(&self) -> f64 {
        if self.ticks == 0 { 0.0 } else { self.stolen as f64 / self.ticks as f64 }
    }

    /// The part of a time that the hypervisor took.
    pub fn stolen_of(&self, time: Nanos) -> Nanos {
        Nanos((time.0 as f64 * self.stolen_share()) as u64)
    }

    /// What explains most of the wait.
    pub fn cause(&self) -> StallCause {
        let no_core = self.core_wait.0 + self.stolen_of(self.waited).0;
        let parts = [
            (self.writing.0, StallCause::Writes),
            (no_core, StallCause::NoCore),
            (self.computing.0, StallCause::Computing),
        ];
        let most = parts.into_iter().max_by_key(|(time, _)| *time);
        match most {
            Some((time, cause)) if time > 0 && time >= self.waited.0 / NAMED_PART => cause,
            _ => StallCause::Unknown,
        }
    }

    /// What was measured, in words.
    pub fn in_words(&self) -> String {
        let seconds = Nanos::as_secs_f64;
        match self.cause() {
            StallCause::Writes => format!("its writes took {:.1} s", seconds(self.writing)),
            StallCause::NoCore => {
                let share = self.stolen_share();
                let stolen = format!("the hypervisor took {:.0}% of CPU time", share * 100.0);
                let waited = format!("its thread waited {:.1} s for a core", seconds(self.core_wait));
                match share >= STOLEN_SHARE {
                    true if self.core_wait.0 < self.stolen_of(self.waited).0 => stolen,
                    true => format!("{waited}, and {stolen}"),
                    false => waited,
                }
            }
            StallCause::Computing => format!("its thread computed for {:.1} s", seconds(self.computing)),
            StallCause::Unknown => "neither its writes nor the wait for a core explain it".to_owned(),
        }
    }
}
