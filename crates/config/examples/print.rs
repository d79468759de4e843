//! Prints what is made from the tables: `cargo run -p aiperf-config --example print -- long-help`.

use aiperf_config::{config_templates, json_schema, long_help, man_page, short_help};
use std::io::Write;

fn main() {
    let what = std::env::args().nth(1).unwrap_or_default();
    let text = match what.as_str() {
        "long-help" => long_help(),
        "man" => man_page(env!("CARGO_PKG_VERSION"), &[]),
        "schema" => serde_json::to_string_pretty(&json_schema()).unwrap_or_default(),
        "templates" => config_templates(),
        _ => short_help(),
    };
    // A reader that closes the pipe early is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
