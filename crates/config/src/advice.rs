//! Advice in refusals: what to use instead of a missing feature. No advice may lead to another refusal, so advice that
//! names a refused flag is replaced here, whatever its source.

use crate::error::Problem;
use crate::flags::{self, Flag, Status};

/// The end of a refusal of a missing feature.
pub(crate) const NOT_YET: &str = "not there yet";

/// What to use instead of something that is refused for a reason: for a flag, and for a key of a file.
struct Instead {
    reason: &'static str,
    flag: &'static str,
    key: &'static str,
}

/// Advice that names neither a flag nor a key.
const fn same(reason: &'static str, advice: &'static str) -> Instead {
    Instead { reason, flag: advice, key: advice }
}

const INSTEAD: &[Instead] = &[
    Instead {
        reason: "settings are not searched",
        flag: "a sweep over values, as in --concurrency 1,2,4,8",
        key: "a sweep over values, as in concurrency: [1, 2, 4, 8]",
    },
    Instead {
        reason: "the dataset defines the content of requests",
        flag: "images, audio or video of the dataset: --image-batch-size 1",
        key: "images, audio or video of the dataset: images: {batch_size: 1}",
    },
    Instead {
        reason: "agentic traces are not replayed",
        flag: "synthetic prompts: --isl N --osl N",
        key: "synthetic prompts: dataset: {isl: N, osl: N}",
    },
    Instead {
        reason: "Weka traces are not replayed",
        flag: "recorded sessions of another kind: --public-dataset exgentic_v2",
        key: "recorded sessions of another kind: dataset: {type: public, dataset: exgentic_v2}",
    },
    same("load does not adapt to measurements", "several phases, each with its own load"),
    same("responses are not graded", "the summary without accuracy"),
    Instead {
        reason: "results are not sent to MLflow",
        flag: "the files of the run: --artifact-dir DIR",
        key: "the files of the run: artifacts: {dir: DIR}",
    },
    Instead {
        reason: "results are not sent to Weights & Biases",
        flag: "the files of the run: --artifact-dir DIR",
        key: "the files of the run: artifacts: {dir: DIR}",
    },
    Instead {
        reason: "plots are not drawn",
        flag: "the files of the run, as CSV and JSON: --artifact-dir DIR",
        key: "the files of the run, as CSV and JSON: artifacts: {dir: DIR}",
    },
    Instead {
        reason: "LoRA adapters are not selected",
        flag: "the adapter's name as --model",
        key: "the adapter's name as model",
    },
    Instead { reason: "the load decides the number of workers", flag: "--workers-max N", key: "workers: N" },
];

fn instead(reason: &str) -> Option<&'static Instead> {
    INSTEAD.iter().find(|instead| instead.reason == reason)
}

/// The advice for a flag that is refused for a reason.
pub(crate) fn without_flag(spelled: &str, reason: &str) -> String {
    without(spelled, instead(reason).map(|instead| instead.flag))
}

/// The advice for a setting of a file that is refused for a reason.
pub(crate) fn without_key(path: &str, reason: &str) -> String {
    without(path, instead(reason).map(|instead| instead.key))
}

fn without(name: &str, instead: Option<&str>) -> String {
    match instead {
        Some(instead) => format!("without {name}: {instead}"),
        None => format!("leave {name} out"),
    }
}

/// The flags in a text.
pub(crate) fn flags_named(text: &str) -> impl Iterator<Item = &'static Flag> {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    text.split(end).filter(|word| word.starts_with("--")).filter_map(|word| Some(flags::find(word)?.0))
}

/// The reason for which a flag is always refused, whatever its value.
fn refused_for(flag: &Flag) -> Option<&'static str> {
    if let Status::NotYet(reason) = flag.status { Some(reason) } else { None }
}

/// The problem, with advice that can be followed.
pub(crate) fn followable(mut problem: Problem) -> Problem {
    let Some(hint) = &problem.hint else { return problem };
    // A refusal may name the flag to leave out.
    if problem.what.ends_with(NOT_YET) {
        return problem;
    }
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
        Some(format!("without {}: {}", spelled.unwrap_or(flag.name), instead(reason)?.flag))
    });
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    /// The advice in the tables names only flags that are accepted.
    #[test]
    fn what_to_use_instead_is_never_refused_itself() {
        for Instead { reason, flag: instead, .. } in INSTEAD {
            for word in instead.split_whitespace().filter(|word| word.starts_with("--")) {
                let (flag, _) = flags::find(word.trim_end_matches([',', '.', ':'])).expect(word);
                assert!(refused_for(flag).is_none(), "{reason}: {word} is refused");
            }
        }
    }

    #[test]
    fn advice_for_a_file_names_no_flag() {
        for Instead { reason, key, .. } in INSTEAD {
            assert!(!key.contains("--"), "{reason}: {key}");
        }
    }

    #[test]
    fn every_reason_has_something_to_use_instead() {
        let of_flags = flags::all().filter_map(refused_for);
        for reason in of_flags.chain(keys::reasons()) {
            assert!(instead(reason).is_some(), "no alternative is given: {reason}");
        }
    }

    #[test]
    fn every_row_is_about_a_reason_for_which_something_is_refused() {
        let reasons: Vec<&str> = flags::all().filter_map(refused_for).chain(keys::reasons()).collect();
        for Instead { reason, .. } in INSTEAD {
            assert!(reasons.contains(reason), "nothing is refused because {reason}");
        }
    }
}
