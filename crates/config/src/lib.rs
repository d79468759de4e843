//! Flags, YAML and environment to a plan, and every message about bad input.
//!
//! One table of flags and one definition per section of the configuration drive everything: parsing, validation, help,
//! completions, the manual, the JSON schema and the documents in `docs/`. Flags and a file both become one tree of
//! values with their origins. Types are read from the tree once, and rules between settings are checked on the types.
//! The result either becomes a [`aiperf_plan::Plan`], or is refused with the names that the user wrote. Nothing is
//! ignored silently: missing features are refused, settings without effect get a note.
//!
//! Nothing here sends anything or reads a clock. Only files that settings name are read.
//!
//! # Layout
//! - `context`: the inputs of resolving; [`error`]: messages about bad input
//! - `range`, `scalars`, `choice`, `names`: valid numbers and names
//! - `os_text`, [`small_file`], `row_file`: arguments that are not UTF-8, and files that settings name
//! - `tree`: values with their origin
//! - [`sections`]: every setting, one file per section; [`setting`]: the definition of a setting
//! - [`flags`]: every flag, one table; range, default and text come from the setting
//! - `tokens`, `values`, `given`: a command line to the given flags; `parse`: values with a syntax of their own;
//!   `payload_template`: the source of a payload template
//! - `compose`: flags over a document, that of a file or an empty one
//! - `file`: a YAML file to a document
//! - `sweep`: lists, variants, recipes and searches to runs
//! - `rules`: which settings exclude each other
//! - `resolve`: all of these in order, to a [`Tree`]
//! - `plan`: a tree to a plan; `keys` lists which settings act
//! - [`environment`]: every `AIPERF_*` variable, one table
//! - `advice`: advice in refusals
//! - `export`, `command_line`, `show`: output without secrets; `yaml_text`: texts as YAML
//! - `help`, [`completion`], `manual`, `schema`, `init`: texts generated from the tables
//!
//! # Invariants
//! - Only this crate reads the flags and YAML files that make a plan.
//! - Flags are laid over a document: that of a file, or an empty one.
//! - The section of a setting defines its type, range, default and text. A flag that sets it takes them from there.
//! - A choice is an enum with names, and a flag is a constant. So code cannot ask for one that does not exist.
//! - Flags are one file per area and one table (`flags`); settings are one file per section (`sections`).
//! - `input_config` has one form. `Setting::full` writes every setting that holds; `export.rs` fills in the sections
//!   that every run has.
//! - `plan/user_files.rs` renders user files, with the bounds of all templates. They are checked before a run and
//!   written before it starts. None leaves the artifact directory, and none takes the name of a file of the run
//!   (`rules/files.rs`).
//! - Listed cells, such as those of a grid, are planned before the first run. For others the plan has a function that
//!   plans them on demand (`plan/points.rs`).

mod advice;
mod choice;
mod command_line;
pub mod completion;
mod compose;
mod context;
#[cfg(test)]
mod docs;
pub mod environment;
pub mod error;
mod export;
mod file;
pub mod flags;
mod given;
#[cfg(test)]
mod golden;
mod help;
mod init;
mod keys;
mod manual;
mod names;
mod os_text;
mod parse;
mod payload_template;
mod plan;
mod range;
mod resolve;
mod row_file;
mod rules;
mod scalars;
mod schema;
pub mod sections;
pub mod setting;
mod show;
pub mod small_file;
mod sweep;
mod tokens;
mod tree;
mod values;
mod yaml_text;

use aiperf_plan::nearest;

pub use command_line::{secrets as secrets_in_arguments, shown as cli_command};
pub use context::Context;
pub use error::{ConfigError, Problem};
pub use help::{long_help, short_help};
pub use init::{TEMPLATES, Template, config_init, config_templates, offered_templates};
pub use manual::man_page;
pub use os_text::{argument, path as path_argument};
pub use plan::{Resolved, resolve_profile};
pub use resolve::{RunVariation, Tree, resolve_config, resolve_file};
pub use schema::json_schema;
pub use show::{expanded, show_resolved, validate};
