//! What the real binary says to a server that writes down every request: datasets of every kind.
//!
//! # Layout
//! - [`recorded`]: a run, and the requests that the server received; [`bench`] is that of the tests of whole runs
//! - [`bodies`]: bodies that were encoded beforehand, or made while the run is on
//! - [`media`]: images, audio and video that are made
//! - [`files`]: files of every layout
//! - [`models`]: several models in one run
//! - [`seeds`]: the same seed, the same dataset
//! - [`public`]: public datasets; [`tokenizers`]: what counts, by every name; [`hub`]: where both come from
//! - [`lengths`], [`corpora`], [`prefixes`]: made-up text, its lengths, what it is of and what stands before it
//! - [`markers`]: what keeps requests out of a server's cache
//! - [`examples`]: the commands of the documentation
//! - [`trace_tools`]: commands for traces, which send nothing
//! - [`traces`]: requests as a server once received them

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
