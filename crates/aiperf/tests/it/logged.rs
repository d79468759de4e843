//! A server that logs its requests.

use crate::bench::serve;
use aiperf_sim::{SimConfig, SimHandle};
use serde_json::Value;
use tempfile::TempDir;

/// A server that logs its requests.
pub(crate) struct Server {
    sim: SimHandle,
    pub(crate) dir: TempDir,
}

impl Server {
    pub(crate) fn start(config: SimConfig) -> Self {
        let dir = TempDir::new().unwrap();
        let sim = serve(SimConfig { truth_log: Some(dir.path().join("truth.jsonl")), ..config });
        Self { sim, dir }
    }

    pub(crate) fn url(&self) -> String {
        self.sim.url()
    }

    /// Writes a file next to the log, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Its log of every request, in the order in which responses ended.
    pub(crate) fn stop(self) -> Vec<Value> {
        let path = self.dir.path().join("truth.jsonl");
        self.sim.stop().unwrap();
        std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
