//! The nouns that two or more crates of aiperf use.
//!
//! Plain data with no behaviour beyond its own validity: no clock, no socket, no file. A type moves here when a
//! second crate needs it.
//!
//! # Layout
//! - [`time`]: nanoseconds on the monotonic and on the wall clock, and the anchor between them
//! - [`endpoint`]: endpoint types and what each can do
//! - [`body`]: what goes out, piece by piece
//! - [`conversation`]: conversations, turns, media
//! - [`shape`]: when the turns of a conversation may be sent
//! - [`id`]: ids as text
//! - [`read`]: one read from a connection, and how exact its instant is
//! - [`exchange`]: one request and its response as bytes with a timeline
//! - [`http_phases`]: how the time of an exchange falls into phases
//! - [`failure`]: why an exchange ended without a whole response
//! - [`error`]: why a request failed, as records report it
//! - [`response`]: what a dialect read out of the bytes: content marks, usage, texts; [`spec_decode`]: speculative decoding
//! - [`record`]: one finished request as the metrics see it; [`trace`]: its HTTP exchange step by step;
//!   [`raw`]: the exchange as it was
//! - [`limits`]: what results are held against
//! - [`stats`]: the statistics of a metric
//! - [`character`]: characters that act on a terminal
//! - [`log`]: levels of messages
//! - [`binary_form`]: values as bytes that travel between machines
//! - [`number_map`]: maps by numbers that count up
//! - [`media_type`]: what the type of a body means
//! - [`verdict`]: whether the numbers of a run are those of the server
//! - [`event`]: what a run reports while it is on
//! - [`gpu_vendor`]: who made a GPU
//! - [`guard`]: code of others that may panic
//!
//! # Invariants
//! - The crate is pure: no socket, no clock, no file, no async.
//! - Integers stay integers. Nanoseconds and counts have 64 bits, sums have 128. So merging two halves gives the whole.
//! - A failure is typed where it happens (`Failure`). `engine/src/failure_names.rs` names it when its record is
//!   written.
//! - A value that travels between machines is CBOR (`binary_form`). It begins with its name and version, and a program
//!   of another version refuses it.
//! - Run events contain no event per record. Phases and messages reach every listener; of snapshots only the latest
//!   does. Instants are on the monotonic clock. One anchor, taken before the run starts, turns them into wall time for
//!   everyone.

pub mod binary_form;
pub mod body;
pub mod character;
pub mod conversation;
pub mod endpoint;
pub mod error;
pub mod event;
pub mod exchange;
pub mod failure;
pub mod gpu_vendor;
pub mod guard;
pub mod http_phases;
pub mod id;
pub mod limits;
pub mod log;
pub mod media_type;
pub mod number_map;
pub mod raw;
pub mod read;
pub mod record;
pub mod response;
pub mod shape;
pub mod spec_decode;
pub mod stats;
pub mod time;
pub mod trace;
pub mod verdict;

pub use binary_form::{BinaryForm, FormError};
pub use body::Body;
pub use character::acts_on_terminal;
pub use conversation::{ContextMode, Conversation, Media, Turn};
pub use endpoint::{BodyKind, EndpointKind, NeedsFile, Traits};
pub use error::RequestError;
pub use event::{
    EndpointSnapshot, GpuSnapshot, GpuState, GpuValue, Histogram, HistogramPoint, Histograms, LatencyBucket, Message,
    MetricSnapshot, MetricsSnapshot, PhaseEnding, PhaseMoment, PhaseProgress, PhaseStage, PhaseStarted, PhaseTargets,
    Preparing, Progress, RunEvent, RunStarted, SeriesSnapshot, ServerSnapshot, Source, SourceKind, WorkerProgress,
};
pub use exchange::{CacheMarker, EarlierLeg, Exchange, PhaseIndex, Phases, RequestTag, Timeline};
pub use failure::Failure;
pub use gpu_vendor::GpuVendor;
pub use id::{CorrelationId, uuid_text};
pub use limits::{Limit, Precision, SlaFilter, SlaOp, Slo, SloFault, Thresholds};
pub use log::LogLevel;
pub use number_map::NumberMap;
pub use raw::{RawBody, RawEvents, RawExchange, RawResponse};
pub use read::{Read, Uncertainty};
pub use record::{HttpTiming, Measured, PhaseId, PhaseKind, RecordMeta, TokenCounts};
pub use response::{ContentMark, Parsed, Reply, ResponseTokens, Usage, VideoFacts};
pub use shape::{Branch, Shape, ShapeList, Shapes, TurnShape};
pub use spec_decode::SpecDecode;
pub use stats::Stats;
pub use time::{MonoNs, Nanos, WallAnchor, WallNs};
pub use trace::HttpTrace;
pub use verdict::{Grade, Reason, Verdict};
