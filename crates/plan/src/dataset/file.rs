//! Conversations from files.

use super::Distribution;
use super::speed_bench::{SPEED_BENCH, SpeedBench};
use aiperf_types::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use std::path::PathBuf;

/// Conversations from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilePlan {
    pub source: FileSource,
    pub format: FileFormat,
    /// The most conversations that are used, from the first; `None` uses all. For a random pool: how many are drawn.
    pub entries: Option<u64>,
    /// The requested output length if the file has none.
    pub osl: Option<Distribution>,
    /// Timestamps that are used, in milliseconds, both ends included. Rows without a timestamp are used.
    pub window: TimestampWindow,
    /// The most input tokens of a captured request that is used.
    pub max_isl: Option<u64>,
    /// The factor of delays.
    pub delay_ratio: f64,
    /// The largest delay after the factor, in milliseconds.
    pub delay_cap_ms: Option<f64>,
    /// Whether a leading system turn becomes the system message, because the endpoint sends one. Otherwise it is a turn
    /// like any other.
    pub hoist_system: bool,
    /// How many contents of each kind a request of a random pool has.
    pub batches: BatchSizes,
    /// Whether an image whose id an earlier turn of the conversation has sent is replaced by the id alone.
    pub strip_known_images: bool,
    /// How images by URL are fetched and sent inline; `None` sends the URLs.
    pub inline_images: Option<MediaFetching>,
}

/// The source of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// A file, or a folder of files if the format allows it.
    Path(PathBuf),
    /// Written in the configuration itself.
    Records {
        /// The configuration file and the key, for messages.
        place: String,
        lists: Vec<RecordList>,
    },
}

/// Rows with a common name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordList {
    /// The name of a pool; empty if there is only one list.
    pub name: String,
    pub rows: Vec<Value>,
}

/// How many contents of each kind a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSizes {
    pub texts: u32,
    pub images: u32,
    pub audios: u32,
    pub videos: u32,
}

/// How files that rows name by URL are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaFetching {
    /// For each file.
    pub timeout: Nanos,
    pub at_once: u32,
}

/// Which timestamps are used, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimestampWindow {
    pub start_ms: Option<f64>,
    pub end_ms: Option<f64>,
}

impl FilePlan {
    /// All rows of a file, unchanged.
    pub fn new(path: impl Into<PathBuf>, format: FileFormat) -> Self {
        Self::of(FileSource::Path(path.into()), format)
    }

    /// All rows of a source, unchanged.
    pub fn of(source: FileSource, format: FileFormat) -> Self {
        Self {
            source,
            format,
            entries: None,
            osl: None,
            window: TimestampWindow::default(),
            max_isl: None,
            delay_ratio: 1.0,
            delay_cap_ms: None,
            hoist_system: true,
            batches: BatchSizes::default(),
            strip_known_images: false,
            inline_images: None,
        }
    }
}

impl Default for BatchSizes {
    fn default() -> Self {
        Self { texts: 1, images: 1, audios: 1, videos: 1 }
    }
}

impl Default for MediaFetching {
    fn default() -> Self {
        Self { timeout: Nanos::from_millis(60_000), at_once: 10 }
    }
}

impl TimestampWindow {
    pub fn contains(&self, timestamp_ms: f64) -> bool {
        self.start_ms.is_none_or(|start| start <= timestamp_ms) && self.end_ms.is_none_or(|end| timestamp_ms <= end)
    }
}

/// The format of conversations in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// One line per conversation of one turn.
    SingleTurn,
    /// One line per conversation, or several lines with the same name.
    MultiTurn,
    /// One line per content; requests are drawn from them.
    RandomPool,
    /// One line per whole body, sent unchanged.
    RawPayload,
    /// One document of sessions with their whole bodies, as a run writes it.
    InputsJson,
    /// Requests that a SageMaker endpoint captured, with their times.
    SagemakerDataCapture,
    /// One line per question of SPEED-Bench.
    SpeedBench(&'static SpeedBench),
}

impl FileFormat {
    /// Formats with a fixed name; SPEED-Bench has a table.
    const PLAIN: &'static [Self] = &[
        Self::SingleTurn,
        Self::MultiTurn,
        Self::RandomPool,
        Self::RawPayload,
        Self::InputsJson,
        Self::SagemakerDataCapture,
    ];

    /// Every format; those of SPEED-Bench are last.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::PLAIN.iter().copied().chain(SPEED_BENCH.iter().map(Self::SpeedBench))
    }

    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleTurn => "single_turn",
            Self::MultiTurn => "multi_turn",
            Self::RandomPool => "random_pool",
            Self::RawPayload => "raw_payload",
            Self::InputsJson => "inputs_json",
            Self::SagemakerDataCapture => "sagemaker_data_capture",
            Self::SpeedBench(of) => of.name,
        }
    }

    /// The format with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::all().find(|format| format.name() == name)
    }

    /// Whether it can be read from a folder.
    pub fn has_folders(self) -> bool {
        matches!(self, Self::RandomPool | Self::RawPayload | Self::SagemakerDataCapture)
    }

    /// Whether it contains whole bodies, which are sent unchanged.
    pub fn is_verbatim(self) -> bool {
        matches!(self, Self::RawPayload | Self::InputsJson)
    }

    /// Whether its rows are recorded traffic: their timestamps set the schedule by default, requests that are too long
    /// may be left out, and a run does not write the requests again.
    pub fn is_recorded(self) -> bool {
        matches!(self, Self::SagemakerDataCapture)
    }

    /// Whether its rows may have timestamps.
    pub fn has_times(self) -> bool {
        matches!(self, Self::SingleTurn | Self::MultiTurn | Self::SagemakerDataCapture)
    }

    /// Whether its conversations may have several turns that build on each other.
    pub fn has_turns(self) -> bool {
        matches!(self, Self::MultiTurn | Self::InputsJson | Self::SpeedBench(_))
    }
}

impl Serialize for FileFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FileFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| de::Error::custom(format!("no format of files is called '{name}'")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_written_and_read_by_its_name() {
        for format in FileFormat::all() {
            let written = serde_json::to_value(format).unwrap();
            assert_eq!(written, format.name());
            assert_eq!(serde_json::from_value::<FileFormat>(written).unwrap(), format);
        }
        assert_eq!(FileFormat::all().count(), 38);
        assert!(serde_json::from_value::<FileFormat>("csv".into()).is_err());
    }
}
