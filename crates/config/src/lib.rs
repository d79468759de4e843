//! Flags, YAML and environment to a plan, and every message about bad input.
//!
//! One table of flags and one definition of each section of the configuration drive everything: parsing, validation,
//! help, completions, the manual, the JSON schema and the documents in `docs/`. Flags and a file both become one tree
//! of values that know where they came from; types are read from it once, rules between settings are checked on the
//! types, and the result either becomes a [`aiperf_plan::Plan`] or is refused by the names the user wrote. Nothing
//! that was asked for is ignored in silence: what does not exist yet is refused, what can have no effect is noted.
//!
//! Nothing here sends anything or reads a clock. Files are read only where a setting names them.
//!
//! # Layout
//! - `context`: the inputs of resolving; [`error`]: messages about bad input
//! - `range`, `scalars`, `choice`, `names`: what a number or a name may be
//! - `os_text`, [`small_file`], `row_file`: arguments that are no text, and files that settings name
//! - `tree`: values with their origin
//! - [`sections`]: every setting, one file a section; [`setting`] is what a setting is
//! - [`flags`]: every flag, one table; range, default and text come from the setting
//! - `tokens`, `values`, `given`: a command line to the flags that were given
//! - `compose`: flags over a document, that of a file or an empty one
//! - `file`: a YAML file to a document
//! - `sweep`: lists, variants, recipes and searches to runs
//! - `rules`: what settings may not be together
//! - `resolve`: all of these in order, to a [`Tree`]
//! - `plan`: a tree to a plan; `keys` lists which settings act
//! - [`environment`]: every `AIPERF_*` variable, one table
//! - `advice`: the way out of a refusal
//! - `export`, `command_line`, `show`: what leaves the process, without secrets
//! - `help`, [`completion`], `manual`, `schema`, `init`: texts made from the tables
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
