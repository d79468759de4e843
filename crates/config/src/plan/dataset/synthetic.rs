//! Synthetic conversations.

use super::text::{self, is_set};
use super::{counted_by, first_set, media};
use crate::error::Problem;
use crate::flags::{CONVERSATION_NUM, REQUEST_COUNT};
use crate::resolve::Tree;
use crate::rules::DATASET_TOKENS;
use crate::sections::dataset::{Dataset, MEAN_TURN_DELAY, MEAN_TURNS, SYNTHETIC_ENTRIES};
use crate::sections::distribution::Distribution;
use aiperf_plan::dataset::Shape;
use aiperf_plan::{DatasetPlan, Distribution as Drawn, MediaPlan, PairedLengths, RankingsPlan, SyntheticPlan, Turns};

const TURNS: &str = "benchmark.datasets.0.turns";

pub(super) fn synthetic(
    tree: &Tree,
    dataset: &Dataset,
    media: MediaPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> DatasetPlan {
    let prompts = dataset.prompts.clone().unwrap_or_default();
    let (isl, osl) = (prompts.isl.as_ref().map(Distribution::drawn), prompts.osl.as_ref().map(Distribution::drawn));
    // Media need no text with them.
    let isl = isl.filter(|isl| isl.mean() > 0.0 || media.is_empty());
    let text = text::text(tree, dataset, &prompts, notes);
    let pairs = text::pairs(tree, &prompts, &text, notes, problems);
    if let Some(isl) = isl.as_ref().filter(|_| pairs.is_none()) {
        at_least_one(tree, isl, "prompts.isl", "a prompt needs at least one token", problems);
    }
    let turns = turns(tree, dataset, notes);
    let tokens = pairs.as_ref().map_or_else(|| isl.as_ref().map_or(1.0, likely), PairedLengths::input_mean).max(1.0);
    let tokens = (tokens + f64::from(text.prefixes.tokens())) * f64::from(text.batch_size);
    let size = ConversationSize { tokens, turns: likely(&turns.count) };
    let entries = prompts_made(tree, dataset.entries, size, notes, problems);
    let bytes = media.bytes() * turns.count.mean().max(1.0);
    let entries = media::conversations_made(tree, entries, bytes, notes, problems);
    let osl = osl.filter(|osl| osl.mean() >= 1.0);
    DatasetPlan::Synthetic(SyntheticPlan { entries, isl, osl, pairs, text, turns, media })
}

fn turns(tree: &Tree, dataset: &Dataset, notes: &mut Vec<String>) -> Turns {
    let of = |distribution: &Option<Distribution>, usual: f64| {
        distribution.as_ref().map_or(Drawn::fixed(usual), Distribution::drawn)
    };
    let count = of(&dataset.turns, MEAN_TURNS);
    let delay_ms = of(&dataset.turn_delay, MEAN_TURN_DELAY);
    for key in ["turn_delay", "turn_delay_ratio"] {
        let at = format!("benchmark.datasets.0.{key}");
        if count.largest() < 2.0 && tree.node.find(&at).is_some() {
            let what = first_set(tree, &at);
            notes.push(format!("{what} has no effect: a conversation of one turn has nothing to wait for"));
        }
    }
    Turns { count, delay_ms, delay_ratio: dataset.turn_delay_ratio() }
}

pub(super) fn rankings(
    tree: &Tree,
    dataset: &Dataset,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> DatasetPlan {
    let rankings = dataset.rankings.clone().unwrap_or_default();
    let mut of = |distribution: Distribution, key: &str| {
        let key = format!("rankings.{key}");
        let length = distribution.drawn();
        at_least_one(tree, &length, &key, "a query and a passage need at least one token", problems);
        length
    };
    let passages = of(rankings.passages(), "passages");
    let passage_tokens = of(rankings.passage_tokens(), "passage_tokens");
    let query_tokens = of(rankings.query_tokens(), "query_tokens");
    for (key, have) in [
        ("prompts.isl", "lengths"),
        ("prompts.osl", "lengths"),
        ("prompts.sequence_distribution", "lengths"),
        ("prompts.random_range_ratio", "lengths"),
        ("prompts.batch_size", "numbers"),
        ("prefix_prompts", "prefixes"),
    ] {
        let at = format!("benchmark.datasets.0.{key}");
        if is_set(tree, &at) {
            let what = first_set(tree, &at);
            notes
                .push(format!("{what} has no effect: queries and passages of a ranking request have their own {have}"));
        }
    }
    let corpus = text::corpus(&dataset.prompts.clone().unwrap_or_default());
    let plan = RankingsPlan { entries: 0, corpus, passages, passage_tokens, query_tokens };
    let size = ConversationSize { tokens: plan.tokens().max(1.0), turns: 1.0 };
    let entries = prompts_made(tree, dataset.entries, size, notes, problems);
    DatasetPlan::Rankings(RankingsPlan { entries, ..plan })
}

fn at_least_one(tree: &Tree, length: &Drawn, key: &str, why: &str, problems: &mut Vec<Problem>) {
    if length.mean() >= 1.0 {
        return;
    }
    let at = format!("benchmark.datasets.0.{key}");
    let node = tree.node.find(&format!("{at}.mean")).or_else(|| tree.node.find(&at));
    let what = node.map_or_else(|| at.clone(), |node| tree.places.subject(node, &at));
    problems.push(Problem::new(format!("{what} must be at least 1")).because(why).at(at));
}

/// The size of a conversation.
#[derive(Clone, Copy)]
struct ConversationSize {
    /// Of one turn.
    tokens: f64,
    turns: f64,
}

/// How many prompts of this size are made. A number that the user set is made or refused. If only requests are counted,
/// prompts are reused above a limit.
fn prompts_made(
    tree: &Tree,
    asked: Option<i64>,
    size: ConversationSize,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> u32 {
    let asked = asked.unwrap_or(SYNTHETIC_ENTRIES).max(1) as f64;
    let tokens = size.tokens * size.turns;
    let at = "benchmark.datasets.0.entries";
    let node = tree.node.find(at);
    let mut made = asked;
    if node.is_none() || counted_by(tree, REQUEST_COUNT) || counted_by(tree, CONVERSATION_NUM) {
        made = asked.min((DATASET_TOKENS / tokens).max(1.0).floor());
        if made < asked {
            notes.push(format!(
                "{made} prompts are made, not {asked}, and used again: all prompts together are at most {DATASET_TOKENS} \
                 tokens. A server that caches prefixes responds to those it has seen faster"
            ));
        }
    } else if asked * tokens > DATASET_TOKENS && asked * size.tokens <= DATASET_TOKENS {
        // One turn per conversation would fit.
        let what = first_set(tree, TURNS);
        problems.push(
            Problem::new(format!("{what} makes conversations of {tokens} tokens: {asked} are too many"))
                .because(format!("all prompts together are at most {DATASET_TOKENS} tokens"))
                .hint("fewer turns, or fewer conversations, which are reused")
                .at(TURNS),
        );
    } else if asked * tokens > DATASET_TOKENS {
        let what = node.map_or_else(|| at.to_owned(), |node| tree.places.subject(node, at));
        problems.push(
            Problem::new(format!("{what} prompts of {tokens} tokens are too many"))
                .because(format!("all prompts together are at most {DATASET_TOKENS} tokens"))
                .hint("fewer prompts, which are reused, or shorter ones")
                .at(at),
        );
    }
    // Both limits fit into 32 bits.
    made as u32
}

/// A length in tokens or turns that most draws do not exceed.
fn likely(length: &Drawn) -> f64 {
    let deviation = match length.shape {
        Shape::Normal { stddev, .. } => stddev,
        _ => 0.0,
    };
    (length.mean() + deviation).max(1.0)
}
