//! The options of `aiperf schedule`, in addition to those of `profile`.

use aiperf_campaign::rehearsal::{AssumedServer, AssumedTime, NoTime};
use aiperf_config::completion::{Values, Word};
use std::path::PathBuf;

/// Latencies of the assumed server by default, in milliseconds.
pub(super) const USUAL_TTFT: f64 = 100.0;
pub(super) const USUAL_LATENCY: f64 = 1000.0;

/// The parsed options of `aiperf schedule`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    pub(super) server: AssumedServer,
    pub(super) lines: Option<LinesTo>,
    pub(super) picture: Option<PathBuf>,
    /// Whether existing files are overwritten.
    pub(super) force: bool,
    /// Everything else: the arguments of `profile`.
    pub(super) profile: Vec<String>,
}

/// The destination of the lines of dispatches.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LinesTo {
    Stdout,
    File(PathBuf),
}

struct Own {
    name: &'static str,
    about: &'static str,
    takes: Takes,
}

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Nothing,
    Time,
    File,
    /// An optional file name.
    MaybeFile,
}

const OWN: &[Own] = &[
    Own { name: "--assume-ttft", about: "Time to the first token", takes: Takes::Time },
    Own { name: "--assume-latency", about: "Time to the end of a response", takes: Takes::Time },
    Own { name: "--jsonl", about: "A line of JSON for each dispatch, on stdout or in a file", takes: Takes::MaybeFile },
    Own { name: "--svg", about: "A picture of the arrivals", takes: Takes::File },
    Own { name: "--force", about: "Overwrite existing files", takes: Takes::Nothing },
];

/// The options for shell completion.
pub(crate) fn completed() -> Vec<Word> {
    let values = |takes| match takes {
        Takes::Nothing => Values::Nothing,
        Takes::Time => Values::Any,
        Takes::File | Takes::MaybeFile => Values::Path,
    };
    let word = |own: &Own| Word { spelling: own.name.into(), about: own.about.into(), values: values(own.takes) };
    OWN.iter().map(word).collect()
}

impl Options {
    /// Takes the options out of the arguments; an error if one is invalid.
    pub(super) fn take(args: &[String]) -> Result<Self, String> {
        let usual = AssumedServer { ttft: AssumedTime::Fixed(USUAL_TTFT), latency: AssumedTime::Fixed(USUAL_LATENCY) };
        let mut options = Self { server: usual, lines: None, picture: None, force: false, profile: Vec::new() };
        let mut given: Vec<&str> = Vec::new();
        let mut args = args.iter().peekable();
        while let Some(arg) = args.next() {
            let (name, attached) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (arg.as_str(), None),
            };
            let Some(own) = OWN.iter().find(|own| own.name == name.replace('_', "-")) else {
                options.profile.push(arg.clone());
                continue;
            };
            if given.contains(&own.name) {
                return Err(format!("{} is given twice\n  try: one of them", own.name));
            }
            given.push(own.name);
            let is_value = |next: &&String| !next.starts_with('-');
            let value = match own.takes {
                Takes::Nothing => None,
                _ => attached.clone().or_else(|| args.next_if(is_value).cloned()),
            };
            match (own.takes, value.filter(|value| !value.is_empty())) {
                (Takes::Nothing, _) if attached.is_some() => return Err(format!("{name} takes no value")),
                (Takes::Nothing, _) => options.force = true,
                (Takes::Time, Some(text)) => options.assume(own.name, &text)?,
                (Takes::File, Some(path)) => options.picture = Some(path.into()),
                (Takes::MaybeFile, Some(path)) => options.lines = Some(LinesTo::File(path.into())),
                (Takes::MaybeFile, None) => options.lines = Some(LinesTo::Stdout),
                (Takes::Time, None) => return Err(format!("{name} needs a time\n  try: {name} 250")),
                (Takes::File, None) => return Err(format!("{name} needs a file\n  try: {name} schedule.svg")),
            }
        }
        match (&options.lines, &options.picture) {
            (Some(LinesTo::File(lines)), Some(picture)) if lines == picture => {
                Err(format!("--jsonl and --svg are both to be written to {}\n  try: two files", lines.display()))
            }
            _ => Ok(options),
        }
    }

    fn assume(&mut self, name: &str, text: &str) -> Result<(), String> {
        let time = text.parse().map_err(|why| match why {
            NoTime::Unreadable | NoTime::Nothing => format!(
                "{name} {text} is no length of time\n  try: a time above 0 as in {name} 250 (milliseconds) or {name} 2s, \
                 or {name} normal:250,50 or {name} lognormal:250,50 (mean and deviation)"
            ),
            NoTime::TooLong => format!("{name} {text} is longer than a day\n  try: 86400s or less"),
        })?;
        match name {
            "--assume-ttft" => self.server.ttft = time,
            _ => self.server.latency = time,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str) -> Result<Options, String> {
        Options::take(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn own_options_are_taken_out_and_the_others_stay_unchanged() {
        let options = take("-m x --svg a.svg --assume_latency=50 --jsonl --url h:1 --force").expect("options");
        assert_eq!(options.profile, ["-m", "x", "--url", "h:1"]);
        assert_eq!(
            (options.picture, options.lines, options.force),
            (Some("a.svg".into()), Some(LinesTo::Stdout), true)
        );
        assert_eq!(options.server.latency, AssumedTime::Fixed(50.0));
    }

    #[test]
    fn lines_go_to_a_file_that_is_named() {
        for line in ["--jsonl a.jsonl -m x", "--jsonl=a.jsonl -m x", "-m x --jsonl a.jsonl"] {
            assert_eq!(take(line).expect("options").lines, Some(LinesTo::File("a.jsonl".into())), "{line}");
        }
    }

    #[test]
    fn an_error_names_the_option() {
        for (line, message) in [
            ("--svg", "--svg needs a file"),
            ("--svg --force", "--svg needs a file"),
            ("--assume-ttft", "--assume-ttft needs a time"),
            ("--assume-latency 0", "--assume-latency 0 is no length of time"),
            ("--assume-ttft normal:1", "--assume-ttft normal:1 is no length of time"),
            ("--assume-ttft 1e308", "--assume-ttft 1e308 is longer than a day"),
            ("--assume-latency lognormal:2s,90000s", "--assume-latency lognormal:2s,90000s is longer than a day"),
            ("--svg a --svg b", "--svg is given twice"),
            ("--force=yes", "--force takes no value"),
            ("--svg a --jsonl a", "both to be written to a"),
        ] {
            let error = take(line).expect_err(line);
            assert!(error.contains(message), "{error}");
        }
    }
}
