//! Synthetic traces of coding agents: sessions begin with a prompt that all share, continue with what the sessions of a
//! repository share, and grow turn by turn until their context is full or they start again.
//!
//! Sessions are made one after another and written at once: memory does not depend on their number.
//!
//! - [`config`]: the properties of sessions; `lognormal`: the distribution of lengths and delays
//! - `blocks`: the block ids of a prompt
//! - `session`: one session; `sessions`: all sessions, in order of arrival
//! - `rows`: the trace
//! - `facts`: what is kept of sessions, in `column`s
//! - `quality`: how closely sessions match the configuration; `comparison`: the same as text
//! - `structure`: which blocks occurred before; `pages`: everything as pages for a browser

mod blocks;
mod column;
mod comparison;
pub mod config;
mod facts;
mod fault;
mod lognormal;
mod pages;
mod quality;
mod rows;
mod session;
mod sessions;
mod structure;

pub use config::AgenticConfig;
use facts::Facts;
pub use fault::ConfigFault;
use rows::Rows;
use serde_json::json;
use sessions::Sessions;
use std::io::{self, Write};

/// A data set to make.
#[derive(Clone, Debug)]
pub struct AgenticPlan {
    pub config: AgenticConfig,
    /// The name of the configuration.
    pub name: String,
    /// At least one.
    pub sessions: u64,
    pub seed: u64,
}

/// A data set that was made.
#[derive(Debug)]
pub struct AgenticDataset {
    pub sessions: u64,
    pub turns: u64,
    /// How closely it matches the configuration.
    pub comparison: String,
}

#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error(transparent)]
    Config(#[from] ConfigFault),
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// Writes the content of a file to a given writer.
pub type WriteFile<'a> = &'a mut dyn FnMut(&mut dyn Write) -> Result<(), MakeError>;

/// The names of the files.
pub const TRACE: &str = "dataset.jsonl";
pub const MANIFEST: &str = "manifest.json";
pub const QUALITY: &str = "quality.json";
pub const COMPARISON: &str = "comparison.txt";
pub const CACHE_STRUCTURE: &str = "cache_structure.json";
pub const REPORT: &str = "report.html";
pub const CACHE_EXPLORER: &str = "cache_explorer.html";
pub const SIMULATION: &str = "simulation.html";

impl AgenticPlan {
    /// Makes the data set; the same plan gives the same files. `put` receives each file's name and its `WriteFile`.
    pub fn make(
        &self,
        mut put: impl FnMut(&'static str, WriteFile<'_>) -> Result<(), MakeError>,
    ) -> Result<AgenticDataset, MakeError> {
        let config = &self.config;
        let blocks = config.blocks();
        let mut facts = Facts::new(config);
        put(TRACE, &mut |to| {
            let mut rows = Rows::new(config.block_size);
            for session in Sessions::new(self) {
                let session = session?;
                rows.write(&session, &session.first_ids(&blocks), to)?;
                facts.add(session);
            }
            Ok(())
        })?;
        let quality = quality::quality(config, &facts);
        let comparison = comparison::comparison(config, &quality, &facts);
        let structure = structure::structure(config, &facts.kept);
        let manifest = json!({
            "seed": self.seed,
            "num_sessions": self.sessions,
            "config_name": self.name,
            "generation_params": config.json(),
        });
        let texts = [
            (MANIFEST, format!("{manifest:#}")),
            (QUALITY, format!("{quality:#}")),
            (COMPARISON, comparison.clone()),
            (CACHE_STRUCTURE, format!("{structure:#}")),
            (REPORT, pages::report(self, &quality, &facts)),
            (CACHE_EXPLORER, pages::cache_explorer(self, &structure)),
            (SIMULATION, pages::simulation(self, blocks, &facts)),
        ];
        for (name, text) in texts {
            put(name, &mut |to| Ok(to.write_all(text.as_bytes())?))?;
        }
        Ok(AgenticDataset { sessions: facts.sessions, turns: facts.turns, comparison })
    }
}
