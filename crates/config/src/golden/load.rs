//! `golden/load`: flags to phases, durations, and files with rates over time.

use super::{has_other_digits, in_directory, list, resolve, resolve_document, strings};
use crate::flags::{self, Flag};
use crate::plan::resolve_profile;
use crate::setting::Seconds;
use aiperf_golden::kinds::load::{DURATION_TEXT, FLAGS_OF_PHASES, RATE_SERIES_TEXT};
use aiperf_golden::{Tally, skips_mark};
use aiperf_plan::{Arrival, RateLevel};
use serde_json::{Value, json};

#[test]
fn golden_flags_give_the_recorded_phases_and_durations_and_series_are_read() {
    super::run(&[(FLAGS_OF_PHASES, phases), (DURATION_TEXT, duration), (RATE_SERIES_TEXT, series)]);
}

/// The flag with this name: AIPerf's internal names may have the same words in another order.
fn flag(name: &str) -> Option<&'static Flag> {
    let words = |name: &str| {
        let mut words: Vec<String> =
            name.split(['-', '_']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
        words.sort();
        words
    };
    let exact = flags::find(&format!("--{}", name.trim_start_matches('-').replace('_', "-"))).map(|(flag, _)| flag);
    exact.or_else(|| flags::all().find(|flag| words(flag.name) == words(name)))
}

fn phases(case: &Value, tally: &mut Tally) {
    let mut args = strings(&["-m", "m", "--streaming"]);
    for (name, value) in case["flags"].as_object().into_iter().flatten() {
        let Some(flag) = flag(name) else { return tally.skip(format!("there is no flag {name}")) };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        args.push(format!("{}={text}", flag.name));
    }
    match better(case) {
        Some(reason) => tally.skip(reason),
        None => tally.run(case["flags"].to_string(), || check(case, &args)),
    }
}

/// What is done differently from the recorded case, by its number in the list of improvements.
fn better(case: &Value) -> Option<&'static str> {
    let flag = |name: &str| case["flags"].get(name).filter(|value| !value.is_null());
    let any = |names: &[&str]| names.iter().any(|name| flag(name).is_some());
    let bursts = |name: &str| flag(name).and_then(Value::as_str).is_some_and(|pattern| pattern.ends_with("burst"));
    let by_rate = any(&["request_rate", "request_rate_series", "warmup_request_rate"]);
    if by_rate && (bursts("arrival_pattern") || bursts("warmup_arrival_pattern")) {
        return Some("a burst at a rate is refused (Do better 3)");
    }
    let ended = any(&["request_count", "benchmark_duration", "conversation_num"]);
    if !ended && flag("num_users").and_then(Value::as_i64).is_some_and(|users| users > 5) {
        return Some("a run that nothing ends sends twice as many requests as it has users (Do better 2)");
    }
    if any(&["user_centric_rate"]) && any(&["request_rate_ramp_duration"]) {
        return Some("the rate of users does not climb (Do better 17)");
    }
    None
}

fn check(case: &Value, args: &[String]) {
    let expected = &case["expected"];
    let errors = expected.as_object().into_iter().flatten().filter(|(key, _)| key.ends_with("error"));
    let refused: Vec<&Value> = errors.map(|(_, error)| error).collect();
    let tree = match resolve(args) {
        Err(error) if refused.is_empty() => panic!("refused: {error}"),
        Err(error) => return mentions(&error.to_string(), &refused, &case["flags"]),
        Ok(_) if !refused.is_empty() => panic!("accepted"),
        Ok(tree) => tree,
    };
    let config = tree.set_config();
    for kind in ["warmup", "profiling"] {
        let found = list(&config["phases"]).iter().find(|phase| phase["kind"] == kind).cloned().unwrap_or_default();
        let mut wanted = expected[kind].clone();
        if !wanted.is_null() {
            wanted["name"] = kind.into();
            wanted["kind"] = kind.into();
            // Twice the concurrency, unless something else ends the run.
            if wanted["requests"] == 10 && kind == "profiling" && case["flags"].get("request_count").is_none() {
                wanted["requests"] = (wanted["concurrency"].as_i64().unwrap_or(1) * 2).max(10).into();
            }
        }
        assert_eq!(found, wanted, "{kind}");
    }
}

/// The message must name the given flags and values, and one of the flags they need. Its other words are ours: the
/// recorded ones are AIPerf's.
fn mentions(text: &str, refused: &[&Value], given: &Value) {
    let given = given.as_object();
    let values: Vec<String> = given.iter().flat_map(|given| given.values()).map(value_text).collect();
    let is_given = |flag: &Flag| given.is_some_and(|given| given.keys().any(|name| self::flag(name) == Some(flag)));
    let names =
        |flag: &Flag| std::iter::once(flag.name).chain(flag.aliases.iter().copied()).any(|name| text.contains(name));
    let wanted: Vec<&str> =
        refused.iter().flat_map(|error| list(&error["mentions"])).filter_map(Value::as_str).collect();
    for value in wanted.iter().filter(|wanted| values.iter().any(|value| value == *wanted)) {
        assert!(text.contains(value), "does not mention {value}: {text}");
    }
    let known: Vec<&Flag> = wanted.iter().filter_map(|wanted| flag(wanted)).collect();
    let (of_user, others): (Vec<&Flag>, Vec<&Flag>) = known.into_iter().partition(|flag| is_given(flag));
    for flag in of_user {
        assert!(names(flag), "does not mention {}: {text}", flag.name);
    }
    assert!(others.is_empty() || others.iter().any(|flag| names(flag)), "mentions no other flag: {text}");
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn a_recorded_message_requires_flags_and_values_and_not_its_words() {
    let refused = json!({"mentions": ["--request-cancellation-rate", "--request-cancellation-delay", "0.5", "when"]});
    let given = json!({"request_cancellation_delay": 0.5});
    mentions("--request-cancellation-delay 0.5 needs --request-cancellation-rate", &[&refused], &given);
    for lacking in
        ["--request-cancellation-delay 0.5", "--request-cancellation-delay needs --request-cancellation-rate"]
    {
        assert!(std::panic::catch_unwind(|| mentions(lacking, &[&refused], &given)).is_err(), "{lacking}");
    }
}

fn series(case: &Value, tally: &mut Tally) {
    if case["op"] != "load_json" {
        return tally.skip("the rates between points are the schedule's");
    }
    if let Some(reason) = skips_mark(&case["text"]) {
        return tally.skip(reason);
    }
    tally.run(case["text"].to_string(), || {
        let args = strings(&["-m", "m", "--request-rate-series", "series.json"]);
        let read = in_directory(&json!({"series.json": case["text"]}), &Value::Null, |ctx| resolve_profile(&args, ctx));
        match (read, case["expected"].get("error")) {
            (Ok(resolved), None) => {
                assert_eq!(Some(&points(&resolved.plan().phases[0].arrival)), case["expected"].get("ok"))
            }
            // A message must name the file and its keys; the rest is that of AIPerf's validator.
            (Err(error), Some(refused)) => {
                let text = error.to_string();
                let is_key =
                    |name: &&str| case["text"].as_str().is_some_and(|file| file.contains(&format!("\"{name}\"")));
                let keys = list(&refused["mentions"]).iter().filter_map(Value::as_str).filter(is_key);
                for name in keys.chain(["series.json"]) {
                    assert!(text.contains(name), "does not mention {name}: {text}");
                }
            }
            (Ok(_), Some(_)) => panic!("accepted"),
            (Err(error), None) => panic!("refused: {error}"),
        }
    });
}

fn points(arrival: &Arrival) -> Value {
    let Arrival::Rate { rate, .. } = arrival else { panic!("not a rate: {arrival:?}") };
    let RateLevel::Series(points) = &rate.level else { panic!("not a series: {rate:?}") };
    points.iter().map(|point| json!([point.seconds, point.rate])).collect()
}

fn duration(case: &Value, tally: &mut Tally) {
    if case["input"].is_array() || case["input"].is_object() {
        return tally.skip("neither a command line nor a file gives such a value");
    }
    tally.run(case["input"].to_string(), || {
        // Only ASCII digits make a number, and a switch is no duration.
        if has_other_digits(&case["input"]) || case["input"].is_boolean() {
            let document = json!({
                "model": "m",
                "endpoint": {"url": "http://h"},
                "dataset": {"isl": 1},
                "phases": {"type": "concurrency", "duration": case["input"]},
            });
            assert!(resolve_document(&document).is_err(), "accepted");
            return;
        }
        let found = match &case["input"] {
            Value::String(text) => Seconds::parse(text).map(|seconds| crate::scalars::number(seconds.0)),
            Value::Number(n) => Some(json!(n.as_f64())),
            _ => Some(Value::Null),
        };
        assert_eq!(found, case["expected"].get("ok").cloned());
    });
}
