//! `--variant`: the same command with some flags changed.

use crate::error::Problem;
use crate::flags;
use crate::flags::{
    Flag, SEARCH_DIRECTION, SEARCH_INITIAL_POINTS, SEARCH_MAX_ITERATIONS, SEARCH_METRIC, SEARCH_PERCENTILE_POOLING,
    SEARCH_PLANNER, SEARCH_RANDOM_SEED, SEARCH_RECIPE, SEARCH_SLA, SEARCH_SLA_TIER, SEARCH_SPACE, SEARCH_STAT,
    SEARCH_STYLE, VARIANT,
};
use crate::given::GivenFlags;
use crate::parse::variant;
use crate::tokens::{Raw, RawFlag};
use crate::tree::Node;
use serde_json::{Map, Value, json};

/// Flags about a search, which itself defines the runs.
const SEARCHES: &[&Flag] = &[
    SEARCH_SPACE,
    SEARCH_METRIC,
    SEARCH_STAT,
    SEARCH_DIRECTION,
    SEARCH_MAX_ITERATIONS,
    SEARCH_INITIAL_POINTS,
    SEARCH_RANDOM_SEED,
    SEARCH_PLANNER,
    SEARCH_PERCENTILE_POOLING,
    SEARCH_SLA,
    SEARCH_SLA_TIER,
    SEARCH_RECIPE,
    SEARCH_STYLE,
];

/// A variant to run: its name and the flags it changes.
pub(crate) struct Variant {
    pub name: String,
    pub given: Vec<RawFlag>,
}

pub(crate) fn variants(given: &GivenFlags) -> Result<Vec<Variant>, Vec<Problem>> {
    let texts = given.texts(VARIANT);
    let spelled = given.spelled(VARIANT);
    let mut problems = Vec::new();
    if texts.len() == 1 {
        problems.push(
            Problem::new(format!("{spelled} needs at least two"))
                .because("one variant is the run itself")
                .hint("give its settings as flags: --isl, --osl, --concurrency"),
        );
    }
    let lists = given.spellings(|given| given.sweep().is_some());
    if !lists.is_empty() {
        problems.push(
            Problem::exclusive(spelled, format_args!("several values of {}", lists.join(", ")))
                .because("each defines the runs")
                .hint("put the values into the variants"),
        );
    }
    let search = given.among(SEARCHES);
    if !search.is_empty() {
        problems.push(Problem::exclusive(spelled, search.join(", ")).because("each defines the runs"));
    }
    let mut out: Vec<Variant> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match one(text, index) {
            Ok(variant) if out.iter().any(|other| other.name == variant.name) => {
                problems.push(Problem::new(format!("two variants are named '{}'", variant.name)));
            }
            Ok(variant) => out.push(variant),
            Err(rule) => problems.push(
                Problem::new(format!("{spelled} '{text}' {rule}")).hint(format!("{spelled} 'NAME:isl=128,osl=64'")),
            ),
        }
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

fn one(text: &str, index: usize) -> Result<Variant, String> {
    let (name, settings) = variant(text)?;
    let mut given = Vec::new();
    for (key, value) in settings {
        let spelled = format!("--{}", key.replace('_', "-"));
        let Some((flag, positive)) = flags::find(&spelled).filter(|(flag, _)| *flag != VARIANT) else {
            let near = crate::nearest::nearest(&spelled, flags::spellings());
            return Err(match near {
                Some(near) => {
                    format!("has '{key}', which is no flag; did you mean '{}'?", near.trim_start_matches('-'))
                }
                None => format!("has '{key}', which is no flag"),
            });
        };
        let raw = match (&value, flag.kind) {
            (Value::Bool(on), flags::FlagType::Bool) => Raw::Bool(*on == positive),
            (Value::String(text), _) => Raw::Tokens(vec![text.clone()]),
            (other, _) => Raw::Tokens(vec![other.to_string()]),
        };
        given.push(RawFlag { flag, spelled, raw });
    }
    Ok(Variant { name: name.unwrap_or_else(|| format!("v{index}")), given })
}

/// The changes of a variant: the subtrees of its benchmark that differ from the base.
pub(crate) fn difference(base: &Node, other: &Node) -> Value {
    let mut out = Map::new();
    for (key, value) in other.entries() {
        let before = base.get(key);
        let json = value.to_json();
        if before.is_some_and(|before| before.to_json() == json) {
            continue;
        }
        let changed = match before {
            Some(before) if before.is_map() && value.is_map() => difference(before, value),
            Some(before)
                if !before.items().is_empty() && value.items().iter().all(|item| item.get("name").is_some()) =>
            {
                value.items().iter().filter_map(|item| named(before, item)).collect()
            }
            _ => json,
        };
        out.insert(key.clone(), changed);
    }
    Value::Object(out)
}

fn named(before: &Node, item: &Node) -> Option<Value> {
    let name = item.get("name")?.to_json();
    let old = before.items().iter().find(|old| old.get("name").map(Node::to_json).as_ref() == Some(&name));
    let mut changed = match old {
        Some(old) => difference(old, item),
        None => item.to_json(),
    };
    if changed == json!({}) {
        return None;
    }
    if let Value::Object(map) = &mut changed {
        map.shift_insert(0, "name".to_owned(), name);
    }
    Some(changed)
}
