//! Sends a request and times every byte of its response.
//!
//! Nothing here knows what a request means. A [`Client`] belongs to one worker thread and its runtime; it turns an
//! [`OutgoingRequest`] request into an [`aiperf_types::Exchange`]: raw bytes, and the instant and lag of each read.
//!
//! # Layout
//! - [`clock`]: the two clocks, and an absolute timer
//! - [`turn`]: the turns of a thread's loop, and whether it was late
//! - [`stamp`]: the one read primitive: length, instant, lag
//! - [`stamped_stream`]: what a connection looks like to those who speak over it
//! - [`framer`]: HTTP/1.1 responses without a socket
//! - [`body`]: a finished exchange's body, span by span with the read that delivered it
//! - [`encoding`]: compressed bodies made plain, read by read
//! - [`charset`]: bodies of text in the charset they declare
//! - [`receive`]: what a read adds to an exchange
//! - [`stream_end`]: streams whose last event has come while nothing ends them
//! - `socket`: TCP and Unix sockets; [`tls`]: sessions on them; [`connection`]: one or the other
//! - [`origin`]: which server a URL names; [`target`]: the servers that requests go to; [`proxy`]: proxies between
//! - [`http2`]: HTTP/2: many exchanges on one connection
//! - [`connect`]: name resolution, socket options, connecting
//! - [`handshake`]: what a connect takes, where nothing is sent over it
//! - [`pace`]: how often a server that takes no connections is tried
//! - [`pool`]: idle connections and limits
//! - [`cancel`]: stopping a request from outside; [`timers`]: deadlines of any length
//! - [`legs`]: a request of several legs, and who follows its responses; [`redirect`]: those that servers ask for
//! - `earlier_legs`: legs of a request that are over
//! - [`client`]: one request from start to end; [`fetch`]: calls that are not measured;
//!   [`download`]: files fetched to disk by such calls
//! - [`from_plan`]: settings of connections and calls, from the plan
//! - [`budget`]: memory of all responses in flight together
//! - [`buffers`]: read buffers that come back from the record threads
//! - [`os_error`]: errors of the operating system; [`sys`]: the few system calls that have no safe wrapper
//!
//! # Invariants
//! - This crate makes every connection of the program. It knows nothing of what a request means: `dialect` passes in,
//!   as functions, which event is the last of a stream (`stream_end`).
//! - Only `from_plan` knows the plan. All other files take their own settings.
//! - On the hot path a read is one `recvmsg` into the buffer of its exchange, its timestamps and one entry of the
//!   timeline.
//! - Over TLS, plaintext carries the stamp of the raw read that completed it. Decoded bytes carry the stamp of the read
//!   that completed them, and the exchange also keeps the bytes as received.
//! - Each step of a request (blocked, lookup, connect with TLS, sending, waiting, receiving) begins when the previous
//!   one ended. So the steps add up (`aiperf_types::http_phases`).
//! - What a server can make the client do is bounded: bytes per response and of all responses in flight (`receive`,
//!   `budget`), heads (`framer`, `http2/exchange.rs`), frames without progress (`http2/tap.rs`), decoding (`encoding`).
//! - A pooled connection that ends within a second of the request, before a byte of the response, is replaced by a new
//!   one, once. All workers share the pace at which a server that accepts no connections is retried (`pace`).
//! - A stream has 2 s to end after its last event (`stream_end`). Then the client ends it.
//! - An HTTP/2 exchange is kept as an HTTP/1 head and a body. So nothing downstream knows the difference.
//! - When a leg is over, a pure script decides whether another follows (`legs`, `redirect`). The record has all of
//!   them.
//! - A redirect to another server carries no secret (`redirect`, `engine/src/sending/secrets.rs`): secret headers are
//!   left out, and a body with secrets is not sent.
//! - `unsafe` occurs in `sys` only: TCP_INFO, TCP_QUICKACK, SCHED_IDLE, niceness, the registration with tokio.

pub mod body;
pub mod budget;
pub mod buffers;
pub mod cancel;
pub mod charset;
pub mod client;
pub mod clock;
pub mod connect;
pub mod connection;
pub mod download;
mod earlier_legs;
pub mod encoding;
pub mod fetch;
pub mod framer;
pub mod from_plan;
pub mod handshake;
pub mod http2;
pub mod legs;
pub mod origin;
pub mod os_error;
pub mod pace;
pub mod pool;
pub mod proxy;
pub mod receive;
pub mod redirect;
mod socket;
pub mod stamp;
pub mod stamped_stream;
pub mod stream_end;
pub mod sys;
pub mod target;
pub mod timers;
pub mod tls;
pub mod turn;

pub use budget::ResponseBudget;
pub use buffers::{BufferReturn, ReadBuffers};
pub use cancel::{Cancel, CancelReason};
pub use client::{Client, ClientSettings, OutgoingRequest, PlannedCancel, Protocol, Reuse};
pub use clock::DeadlineTimer;
pub use connect::{AddressChoice, ConnectSettings, Outstanding, Resolution, SocketOptions};
pub use download::{Download, DownloadError, Patience};
pub use fetch::{Call, FetchError, FetchSession, FetchTimes, Fetched, Fetcher, SessionSettings};
pub use handshake::{Closing, Handshake};
pub use legs::{Leg, Script, Step, Watch};
pub use origin::Origin;
pub use pace::ConnectPace;
pub use proxy::{Proxy, ProxyChoice};
pub use redirect::{Private, Redirects};
pub use stamp::StampMode;
pub use stream_end::{END_PATIENCE, StreamEnd};
pub use timers::Timers;
pub use tls::{Identity, TlsSettings, TlsSetupError, Trust};
