//! Datasets of every kind: the requests of the real binary to a server that records them.
//!
//! # Layout
//! - [`recorded`]: a run, and the requests that the server received; [`bench`] is that of the tests of whole runs
//! - [`bodies`]: bodies encoded before the run, or during it
//! - [`media`]: generated images, audio and video
//! - [`files`]: files of every layout
//! - [`models`]: several models in one run
//! - [`seeds`]: the same seed, the same dataset
//! - [`public`]: public datasets; [`tokenizers`]: tokenizers by every name; [`hub`]: the source of both
//! - [`lengths`], [`corpora`], [`prefixes`]: generated text: its lengths, its content and the text before it
//! - [`markers`]: markers that keep requests out of a server's cache
//! - [`examples`]: the commands of the documentation
//! - [`trace_tools`]: commands for traces, which send nothing
//! - [`traces`]: replayed traces

mod bodies;
mod corpora;
mod examples;
mod files;
mod lengths;
mod markers;
mod media;
mod models;
mod prefixes;
mod public;
mod recorded;
mod seeds;
mod tokenizers;
mod trace_tools;
mod traces;
