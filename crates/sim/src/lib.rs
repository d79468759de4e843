//! A simulated inference server: something to practise on, and something to measure a client against.
//!
//! It speaks the APIs of inference servers (chat, completions, responses, messages, embeddings, rankings, images,
//! videos, transcriptions and others: see `apis`) in the shapes of vLLM and of those servers, with scripted latency,
//! length and faults, and writes down the truth: when each request arrived and each event left. It shares no code with
//! the client, so that a common misreading cannot cancel out, and it writes its own sockets, so that nothing buffers
//! between an event and its stamp.
//!
//! ```no_run
//! use aiperf_sim::{Sim, SimConfig};
//!
//! let server = Sim::spawn(SimConfig::default())?;
//! println!("listening on {}", server.url());
//! server.stop()?;
//! # Ok::<(), aiperf_sim::SimError>(())
//! ```
//!
//! What is guaranteed: a response has exactly the tokens of its `usage`; its text is that many tokens of `o200k_base`
//! (see [`SimConfig`] for what decides the number); every event of a stream is one write; events leave at absolute
//! moments, so that a late one does not delay those after it. `prompt_tokens` is an
//! estimate: it counts words and punctuation marks, and differs by some percent from what a tokenizer counts.
//!
//! # Layout
//! - `config`: all settings; `spread`, `fault`, `page_fault`: the kinds of some of them; `error`: why a server cannot
//!   start
//! - `sim`: a server from its binding to its stop
//! - `reactor`: the loop of one thread; `shared`: the state of all threads; `timers`, `slots`, `clock`: deadlines,
//!   connections by number, clocks
//! - `stream`, `socket`, `tls`, `stamps`: connections, their reads and writes, and receive stamps
//! - `http`, `http2`, `hpack`: requests from bytes
//! - `apis`: one file per API: reads requests and words responses; `vocabulary`, `speculation`: the words, and
//!   speculative decoding
//! - `script`, `redirect`, `exchange`: which response comes when
//! - `reply`, `encoding`: responses to bytes; `canned`: responses made beforehand
//! - `metrics`, `exposition`, `pages`: counts, and the pages that show them
//! - `truth`, `idle`: the log, and the priority of its thread
//!
//! # Invariants
//! - The crate depends on no other crate of the workspace: a shared misreading must not cancel out.
//! - Besides the live API of `aiperf`, nothing else in the workspace listens on a socket.
//! - One file per API (`apis`) and per kind of metrics page (`exposition`); each folder has one table.
//! - One event is one write and one stamp.
//! - `unsafe` occurs in `idle` only (SCHED_IDLE).

mod apis;
mod canned;
mod clock;
mod config;
mod encoding;
mod error;
mod exchange;
mod exposition;
mod fault;
mod hpack;
mod http;
mod http2;
mod idle;
mod metrics;
mod page_fault;
mod pages;
mod reactor;
mod redirect;
mod reply;
mod script;
mod shared;
mod sim;
mod slots;
mod socket;
mod speculation;
mod spread;
mod stamps;
mod stream;
mod timers;
mod tls;
mod truth;
mod vocabulary;

pub use config::{DEFAULT_MODEL, SimConfig};
pub use encoding::{ContentEncoding, EncodingError};
pub use error::SimError;
pub use exposition::{FamilyType, MetricsFormat, MetricsFormatError, MetricsKind, MetricsKindError};
pub use fault::{Fault, FaultError, FaultRate};
pub use page_fault::{PageFault, PageFaultError, PageFaultKind};
pub use redirect::{Redirect, Target};
pub use sim::{Sim, SimHandle, StopHandle};
pub use spread::{Latency, Spread, SpreadError, parse_duration};
pub use tls::{Certificate, CertificateError, TlsOptions};
