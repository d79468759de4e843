//! The way out of a refusal: what to use instead of something that is not there yet. No advice may lead into another
//! refusal, so one that names a flag that is refused itself is replaced here, wherever it came from.

use crate::error::Problem;
use crate::flags::{self, Flag, Status};

/// What to use instead, by the reason for which something is refused.
const INSTEAD: &[(&str, &str)] = &[
    ("settings are not searched", "a run for each setting, as in --concurrency 8"),
    ("settings are not swept", "one value, and a run for each"),
    ("settings are not swept or searched", "one run for each setting"),
    ("a benchmark is one run", "repeat the command, each time with another --artifact-dir"),
    ("requests hold text only", "prompts of text: --isl N"),
    ("videos are not generated", "prompts of text: --isl N"),
    ("ranking requests are not made", "prompts of text: --isl N"),
    ("a request has one prompt", "one prompt a request, and --concurrency N for many at once"),
    ("traces are not replayed", "synthetic prompts: --isl N --osl N"),
    ("traces are not reshaped", "synthetic prompts: --isl N --osl N"),
    ("agentic traces are not replayed", "synthetic prompts: --isl N --osl N"),
    ("conversations are not read", "synthetic prompts: --isl N --osl N"),
    ("files of conversations are not read", "synthetic prompts: --isl N --osl N"),
    ("public datasets are not downloaded", "synthetic prompts: --isl N --osl N"),
    ("prompts come from the built-in corpus", "--random-seed N for other prompts of it"),
    ("prompts have one normal length", "a mean and a deviation: --isl N --isl-stddev N"),
    ("prompts have no prefix or system message", "longer prompts: --isl N"),
    ("prompts carry no marker", "more prompts than requests: --num-dataset-entries N"),
    ("conversations have one turn", "requests of one turn: --request-count N"),
    ("history is sent as it is", "requests of one turn: --request-count N"),
    ("requests are sent by concurrency, not by rate", "--concurrency N"),
    ("requests are sent by concurrency, not by user", "--concurrency N"),
    ("requests are not sent by timestamp", "--concurrency N"),
    ("concurrency is constant", "--concurrency N, and --warmup-request-count N before it"),
    ("load is constant within a phase", "phases of their own, each with its concurrency"),
    ("prefills are not limited apart", "--concurrency N, which limits all requests"),
    ("a phase begins when the one before has ended", "phases one after the other"),
    ("answers are not graded", "the summary of speed alone"),
    ("generated texts are not kept", "the records: --export-level records"),
    ("results are not sent to MLflow", "the files of the run: --artifact-dir DIR"),
    ("results are not sent to Weights & Biases", "the files of the run: --artifact-dir DIR"),
    ("metrics are not sent by OTLP", "the files of the run: --artifact-dir DIR"),
    ("there is no live API", "statistics in the log: --stats-interval SECONDS"),
    ("plots are not drawn", "the files of the run, as CSV and JSON: --artifact-dir DIR"),
    ("files of your own are not made", "the files of the run: --artifact-dir DIR"),
    ("the network is not probed", "ping, beside the run"),
    ("metrics of the server are not collected", "--no-server-metrics, and the server's /metrics page"),
    ("GPU telemetry is not collected", "--no-gpu-telemetry, and nvidia-smi beside the run"),
    ("prompts are sent to the first model only", "one model, and a run for each"),
    ("adapters are not asked for", "the adapter's name as --model"),
    ("the number of workers is decided by the load", "--workers-max N"),
    ("the main branch of a tokenizer is used", "the directory of another: --tokenizer DIR"),
    ("prompts are counted without a chat template", "the server's own count: --use-server-token-count"),
    ("sessions are named by the standard headers only", "the header X-Correlation-ID, which names the session"),
    ("only JSON bodies are sent", "JSON bodies, which are the default"),
    ("bodies are not made from templates", "members of the body: --extra-inputs key:value"),
];

fn instead(reason: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(known, _)| *known == reason).map(|(_, instead)| *instead)
}

/// The way around something that is refused for a reason.
pub(crate) fn without(name: &str, reason: &str) -> String {
    match instead(reason) {
        Some(instead) => format!("without {name}: {instead}"),
        None => format!("leave {name} out"),
    }
}

/// Flags that a text names.
pub(crate) fn flags_named(text: &str) -> impl Iterator<Item = &'static Flag> {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    text.split(end).filter(|word| word.starts_with("--")).filter_map(|word| Some(flags::find(word)?.0))
}

/// The reason for which a flag is refused whatever its value.
fn refused_for(flag: &Flag) -> Option<&'static str> {
    if let Status::NotYet(reason) = flag.status { Some(reason) } else { None }
}

/// A problem whose advice can be followed.
pub(crate) fn followable(mut problem: Problem) -> Problem {
    let Some(hint) = &problem.hint else { return problem };
    let leads_on = flags_named(hint).any(|flag| refused_for(flag).is_some());
    let subject = problem.what.split([' ', ':', '=']).next().unwrap_or_default();
    let in_vain = flags::find(subject).is_some_and(|(flag, _)| refused_for(flag).is_some());
    if !leads_on && !in_vain {
        return problem;
    }
    let named = flags_named(&problem.what).chain(problem.hint.iter().flat_map(|hint| flags_named(hint)));
    let refused = named.into_iter().find_map(|flag| Some((flag, refused_for(flag)?)));
    problem.hint = refused.and_then(|(flag, reason)| {
        let spelled =
            problem.what.split_whitespace().find(|word| flags::find(word).is_some_and(|(one, _)| one == flag));
        Some(format!("without {}: {}", spelled.unwrap_or(flag.name), instead(reason)?))
    });
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    /// The advice of every refusal in the tables names only flags that are accepted.
    #[test]
    fn what_to_use_instead_is_never_refused_itself() {
        for (reason, instead) in INSTEAD {
            for word in instead.split_whitespace().filter(|word| word.starts_with("--")) {
                let (flag, _) = flags::find(word.trim_end_matches([',', '.', ':'])).expect(word);
                assert!(refused_for(flag).is_none(), "{reason}: {word} is refused");
            }
        }
    }

    #[test]
    fn every_reason_has_something_to_use_instead() {
        let of_flags = flags::all().filter_map(refused_for);
        for reason in of_flags.chain(keys::reasons()) {
            assert!(instead(reason).is_some(), "nothing is said to be used instead: {reason}");
        }
    }

    #[test]
    fn every_row_is_about_a_reason_for_which_something_is_refused() {
        let reasons: Vec<&str> = flags::all().filter_map(refused_for).chain(keys::reasons()).collect();
        for (reason, _) in INSTEAD {
            assert!(reasons.contains(reason), "nothing is refused because {reason}");
        }
    }
}
