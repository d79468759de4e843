//! Configuration files to start from.

/// A file to start from.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub name: &'static str,
    /// Which kind it is of.
    pub category: &'static str,
    /// What it is for.
    pub about: &'static str,
    text: &'static str,
}

macro_rules! templates {
    ($($category:literal { $($name:literal: $about:literal,)* })*) => {
        /// Every file to start from.
        pub const TEMPLATES: &[Template] = &[$($(
            Template { name: $name, category: $category, about: $about, text: include_str!(concat!("../templates/", $name, ".yaml")) },
        )*)*];
    };
}

templates! {
    "Start here" {
        "minimal": "The least that runs",
        "streaming-chat": "Streamed chat at a fixed concurrency, with a warmup",
        "every-setting": "The settings most benchmarks use, explained",
    }
    "Load" {
        "duration": "Load for a time instead of a number of requests",
        "request-rate": "Requests at a rate, arriving at random",
        "user-centric": "Users that come back to their conversations",
        "rate-steps": "A rate that changes over time",
    }
    "Data" {
        "multi-turn": "Conversations of several turns",
        "file": "Prompts from a file",
        "trace-replay": "A trace replayed at its own times",
    }
    "Several runs" {
        "repeat": "The same run several times, with confidence intervals",
        "concurrency-sweep": "One run for each concurrency",
        "scenarios": "Runs that differ in more than one setting",
        "search": "The largest concurrency that keeps an objective",
    }
    "Files" {
        "variables": "Variables, templates and the environment in a file",
    }
}

/// The text of a file to start from, with the model and URL put in; `None` for an unknown name.
pub fn config_init(name: &str, model: Option<&str>, url: Option<&str>) -> Option<String> {
    let template = TEMPLATES.iter().find(|template| template.name == name)?;
    let put = |text: String, from: &str, to: Option<&str>| match to {
        Some(to) => text.replace(from, &crate::show::plain(to)),
        None => text,
    };
    let text = put(template.text.to_owned(), "Qwen/Qwen3-0.6B", model);
    Some(put(text, "http://localhost:8000", url))
}

/// The list of files to start from, grouped.
pub fn config_templates() -> String {
    let mut out = String::new();
    let mut last = "";
    for template in TEMPLATES {
        if template.category != last {
            out.push_str(&format!("{}{}:\n", if last.is_empty() { "" } else { "\n" }, template.category));
            last = template.category;
        }
        out.push_str(&format!("  {:18} {}\n", template.name, template.about));
    }
    out.push_str("\nPrint one: aiperf config init --template NAME\n");
    out
}
