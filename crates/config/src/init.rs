//! Configuration files to start from.

use crate::error::Problem;
use crate::nearest::nearest;

/// A file to start from.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub name: &'static str,
    /// Its category in the list.
    pub category: &'static str,
    pub about: &'static str,
    /// Why it cannot be run yet, and so is not offered.
    pub not_yet: Option<&'static str>,
    text: &'static str,
}

macro_rules! templates {
    ($($category:literal { $($name:literal: $about:literal $(, not yet: $reason:literal)?;)* })*) => {
        /// Every file to start from.
        pub const TEMPLATES: &[Template] = &[$($(
            Template {
                name: $name,
                category: $category,
                about: $about,
                not_yet: crate::setting::given_or!([$( Some($reason) )?] None),
                text: include_str!(concat!("../templates/", $name, ".yaml")),
            },
        )*)*];
    };
}

templates! {
    "Start here" {
        "minimal": "The smallest configuration that runs";
        "streaming-chat": "Streamed chat at a fixed concurrency, with a warmup";
        "every-setting": "The settings most benchmarks use, explained";
    }
    "Load" {
        "duration": "Load for a duration instead of a number of requests";
        "request-rate": "Requests at a rate, arriving at random";
        "user-centric": "Users that continue their conversations";
        "rate-steps": "Rates that rise from phase to phase, without a pause between them";
        "rate-series": "A rate that changes over time";
    }
    "Data" {
        "multi-turn": "Conversations of several turns";
        "file": "Your own prompts";
        "trace-replay": "A trace replayed at its own times";
    }
    "Several runs" {
        "repeat": "The same run several times, with confidence intervals";
        "concurrency-sweep": "One run for each concurrency";
        "scenarios": "Runs that differ in several settings";
        "search": "The largest concurrency that meets an objective", not yet: "settings are not searched";
    }
    "Files" {
        "variables": "Variables, templates and the environment in a file";
    }
}

/// Names of the files that can be run.
pub fn offered_templates() -> impl Iterator<Item = &'static str> {
    TEMPLATES.iter().filter(|template| template.not_yet.is_none()).map(|template| template.name)
}

/// The text of a file to start from, with the model and URL filled in. A name that is unknown or cannot be run yet is a
/// problem.
pub fn config_init(name: &str, model: Option<&str>, url: Option<&str>) -> Result<String, Problem> {
    let Some(template) = TEMPLATES.iter().find(|template| template.name == name) else {
        let problem = Problem::new(format!("there is no template '{name}'"));
        return Err(match nearest(name, offered_templates()) {
            Some(near) => problem.hint(format!("--template {near}")),
            None => problem,
        });
    };
    if let Some(reason) = template.not_yet {
        return Err(Problem::new(format!("the template '{name}' is not there yet")).because(reason));
    }
    Ok(template.filled(model, url))
}

impl Template {
    /// Its text, with the model and URL filled in.
    pub fn filled(&self, model: Option<&str>, url: Option<&str>) -> String {
        let put = |text: String, from: &str, to: Option<&str>| match to {
            Some(to) => text.replace(from, &crate::yaml_text::plain(to)),
            None => text,
        };
        let text = put(self.text.to_owned(), "Qwen/Qwen3-0.6B", model);
        put(text, "http://localhost:8000", url)
    }
}

/// The list of files to start from, grouped.
pub fn config_templates() -> String {
    let mut out = String::new();
    let mut last = "";
    for template in TEMPLATES.iter().filter(|template| template.not_yet.is_none()) {
        if template.category != last {
            out.push_str(&format!("{}{}:\n", if last.is_empty() { "" } else { "\n" }, template.category));
            last = template.category;
        }
        out.push_str(&format!("  {:18} {}\n", template.name, template.about));
    }
    out.push_str("\nPrint one: aiperf config init --template NAME\n");
    out
}
