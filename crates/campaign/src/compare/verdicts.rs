//! The conclusions about two sides: a row per statistic, a judgement per limit.

use super::CompareError;
use super::metrics::{self, SHARES, Scale, direction, is_of_successes, stats_of};
use super::rule::{Rule, Stat, Towards};
use super::side::{Records, Side};
use aiperf_metrics::registry;
use aiperf_report::compare::{
    FailedRequests, FailureChange, Failures, Judgement, LimitOutcome, Method, Numbers, Pair, Reason, Row, RowVerdict,
};
use aiperf_statistics::comparison::Doubt;
use aiperf_statistics::{
    Comparison, Direction, Proportion, Sample, Series, Verdict, compare, compare_proportions, compare_samples, fisher,
    holm,
};

/// The relative difference of request lengths above which a note is written.
const NOTABLE: f64 = 0.01;

/// What to compare between two sides.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Tags, in the order of the table.
    pub(super) shown: Vec<String>,
    /// Empty for the default statistics of each metric.
    pub(super) stats: Vec<Stat>,
    pub(super) rules: Vec<Rule>,
    /// Metrics that would be shown if the other side had them.
    pub(super) only_first: Vec<String>,
    pub(super) only_second: Vec<String>,
}

impl Wanted {
    /// Every metric that is compared, each once.
    pub(super) fn tags(&self) -> Vec<&str> {
        let mut tags: Vec<&str> = Vec::new();
        for tag in self.shown.iter().chain(self.rules.iter().map(|rule| &rule.tag)) {
            if !tags.contains(&tag.as_str()) {
                tags.push(tag);
            }
        }
        tags
    }

    fn stats_of(&self, tag: &str) -> &[Stat] {
        if self.stats.is_empty() { stats_of(tag) } else { &self.stats }
    }
}

/// How one metric of two sides is compared.
enum Basis {
    Records(Box<[Series; 2]>),
    /// Counts of requests, and the factor of their shares.
    Shares([Proportion; 2], f64),
    Trials,
    /// Not at all: only the summaries are shown.
    None(Reason),
}

/// Compares two sides, before the correction for the number of comparisons. Also returns notes for the reader.
pub(super) fn pair(
    (first, second): (&Side, &Side),
    records: (&Records, &Records),
    wanted: &Wanted,
    place: usize,
    level: f64,
) -> Result<(Pair, Vec<String>), CompareError> {
    let compared = Compared { first, second, records, level };
    let (mut rows, mut judgements) = (Vec::new(), Vec::new());
    let mut method = Method::Summaries;
    for tag in wanted.tags() {
        let basis = compared.basis(tag);
        method = match basis {
            Basis::Records(_) => Method::Records,
            Basis::Trials => Method::Trials,
            Basis::Shares(..) | Basis::None(_) => method,
        };
        if wanted.shown.iter().any(|shown| shown == tag) {
            rows.extend(wanted.stats_of(tag).iter().filter_map(|stat| compared.row(tag, *stat, &basis)));
        }
        for (at, rule) in wanted.rules.iter().enumerate().filter(|(_, rule)| rule.tag == tag) {
            let judgement = compared.judgement(rule, &basis);
            judgements.push((at, judgement.ok_or_else(|| compared.not_measured(tag, &rule.stat.to_string()))?));
        }
    }
    if rows.is_empty() {
        let stats: Vec<String> = wanted.stats.iter().map(Stat::to_string).collect();
        return Err(compared.not_measured(&wanted.shown.join(", "), &stats.join(", ")));
    }
    // In the order of the flags.
    judgements.sort_by_key(|(at, _)| *at);
    let judgements = judgements.into_iter().map(|(_, judgement)| judgement).collect();
    let mut notes = Vec::new();
    for (side, tags) in [(first, &wanted.only_first), (second, &wanted.only_second)] {
        if !tags.is_empty() {
            notes.push(format!("Only {} has {}", side.label, tags.join(", ")));
        }
    }
    notes.extend(work_note(&rows, first, second, level));
    let failures = compared.failures();
    if failures.as_ref().is_some_and(|failures| failures.second.share() > failures.first.share()) {
        // The error rate comes first.
        rows.sort_by_key(|row| row.tag != metrics::ERROR_RATE);
    }
    Ok((Pair { first: 0, second: place, method, rows, settings: Vec::new(), failures, judgements }, notes))
}

/// A note if request lengths differ: then the comparison is not only about the servers.
fn work_note(rows: &[Row], first: &Side, second: &Side, level: f64) -> Option<String> {
    let is_longer = |row: &&Row| {
        row.stat == "avg"
            && row.tag.ends_with("_sequence_length")
            && row.numbers.p.is_some_and(|p| p < 1.0 - level)
            && row.numbers.relative.is_some_and(|relative| relative.abs() >= NOTABLE)
    };
    let named: Vec<&str> = rows.iter().filter(is_longer).map(|row| row.tag.as_str()).collect();
    let (first, second) = (&first.label, &second.label);
    let verb = if named.len() == 1 { "differs" } else { "differ" };
    (!named.is_empty()).then(|| format!("{first} and {second} did not do the same work: {} {verb}", named.join(", ")))
}

struct Compared<'a> {
    first: &'a Side,
    second: &'a Side,
    records: (&'a Records, &'a Records),
    level: f64,
}

impl Compared<'_> {
    fn not_measured(&self, tags: &str, stats: &str) -> CompareError {
        let (first, second) = (self.first.name(), self.second.name());
        CompareError::NotMeasured {
            what: format!("{stats} of {tags}"),
            side: format!("both {first} and {second}"),
            way_out: "avg, which every metric has; percentiles are of metrics that each request has".to_owned(),
        }
    }

    fn failures(&self) -> Option<Failures> {
        let [first, second] = [self.first, self.second].map(|side| side.proportion(metrics::ERRORS));
        let (first, second) = (first?, second?);
        let p = fisher(first, second);
        let failed = |side: Proportion| FailedRequests { failed: side.hits, requests: side.of };
        Some(Failures {
            first: failed(first),
            second: failed(second),
            p,
            corrected_p: None,
            change: FailureChange::Undecided,
        })
    }

    /// The counts of a metric that is a share of requests, if both sides have them.
    fn shares(&self, tag: &str) -> Option<Basis> {
        let share = SHARES.iter().find(|share| share.tag == tag)?;
        let (first, second) = (self.first.proportion(share.hits)?, self.second.proportion(share.hits)?);
        let scale = match share.scale {
            Scale::By(scale) => scale,
            Scale::Count if first.of == second.of => first.of as f64,
            Scale::Count => return None,
        };
        Some(Basis::Shares([first, second], scale))
    }

    fn basis(&self, tag: &str) -> Basis {
        if let Some(shares) = self.shares(tag) {
            return shares;
        }
        if self.first.runs() > 1 || self.second.runs() > 1 {
            return Basis::Trials;
        }
        let series = |side: &Side, records: &Records| {
            let mean = side.sample(tag, "avg").map(|sample| sample.mean);
            records.series(tag, mean).map(Series::new)
        };
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| series(self.second, self.records.1));
            let first = series(self.first, self.records.0);
            (first, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        match (first, second) {
            (Ok(first), Ok(second)) => Basis::Records(Box::new([first, second])),
            (Err(reason), _) | (_, Err(reason)) => Basis::None(reason),
        }
    }

    /// `None` if a side lacks the statistic.
    fn row(&self, tag: &str, stat: Stat, basis: &Basis) -> Option<Row> {
        let direction = direction(tag);
        let (numbers, verdict) = match self.compared(tag, stat, basis, direction, (1.0, 0.0)) {
            Found::Compared(found) => (numbers(&found), self.verdict(&found, direction)),
            Found::Summaries(first, second, reason) => (of_summaries(first, second), RowVerdict::Undecided(reason)),
            Found::Nothing => return None,
        };
        let is_share = matches!(basis, Basis::Shares(..));
        let metric = registry::find(tag);
        let header = metric.map_or(tag, |metric| metric.header);
        Some(Row {
            tag: tag.to_owned(),
            header: header.to_owned(),
            short: metric.and_then(|metric| metric.short).unwrap_or(header).to_owned(),
            unit: self.first.unit(tag).ok().flatten().unwrap_or_default().to_owned(),
            stat: stat.to_string(),
            larger_is_better: match direction {
                Direction::LargerIsBetter => Some(true),
                Direction::SmallerIsBetter => Some(false),
                Direction::Neither => None,
            },
            numbers,
            is_share,
            bounds: self.bounds(tag, stat),
            too_few: (self.first.has_too_few(tag, &stat.to_string()), self.second.has_too_few(tag, &stat.to_string())),
            verdict: match direction {
                Direction::Neither => RowVerdict::Neutral,
                _ if is_nothing(&numbers, is_share) => RowVerdict::Equal,
                _ => verdict,
            },
        })
    }

    /// How far each side's value can be from the truth; `None` if neither knows.
    fn bounds(&self, tag: &str, stat: Stat) -> Option<(f64, f64)> {
        let name = stat.to_string();
        let [first, second] = [self.first, self.second].map(|side| side.bound(tag, &name));
        (first.is_some() || second.is_some()).then(|| (first.unwrap_or(0.0), second.unwrap_or(0.0)))
    }

    fn verdict(&self, found: &Comparison, direction: Direction) -> RowVerdict {
        match found.verdict {
            Verdict::Better => RowVerdict::Better,
            Verdict::Worse => RowVerdict::Worse,
            Verdict::Different => RowVerdict::Neutral,
            Verdict::Undecided(_) if direction == Direction::Neither => RowVerdict::Neutral,
            Verdict::Undecided(doubt) => RowVerdict::Undecided(self.reason(doubt)),
        }
    }

    fn reason(&self, doubt: Doubt) -> Reason {
        match doubt {
            Doubt::WithinNoise => Reason::WithinNoise,
            Doubt::TooLittleData if self.first.runs() > 1 || self.second.runs() > 1 => Reason::FewRuns,
            Doubt::TooLittleData => Reason::FewRecords,
        }
    }

    /// Compares a statistic of both sides, after the values of the first are multiplied by a factor and increased by a
    /// sum.
    fn compared(&self, tag: &str, stat: Stat, basis: &Basis, direction: Direction, (factor, sum): (f64, f64)) -> Found {
        let name = stat.to_string();
        let samples = || Some((self.first.sample(tag, &name)?, self.second.sample(tag, &name)?));
        let changed = |sample: Sample| Sample {
            mean: sample.mean * factor + sum,
            variance: sample.variance * factor * factor,
            ..sample
        };
        match basis {
            Basis::Records(sides) => {
                let [first, second] = &**sides;
                // One number per run has no percentiles, even though its intervals of time do.
                let is_rate = super::metrics::RATES.iter().any(|(rate, _)| *rate == tag);
                if is_rate && stat != Stat::MEAN {
                    return Found::Nothing;
                }
                let found = match (factor, sum) {
                    (1.0, 0.0) => compare(first, second, stat.0, direction, self.level),
                    _ => compare(&first.mapped(|value| value * factor + sum), second, stat.0, direction, self.level),
                };
                found.map_or(Found::Nothing, Found::Compared)
            }
            Basis::Shares(..) if stat != Stat::MEAN => Found::Nothing,
            Basis::Shares([first, second], scale) => {
                let found = compare_proportions(*first, *second, (factor, sum / scale), direction, self.level);
                Found::Compared(scaled(found, *scale))
            }
            Basis::Trials => samples().map_or(Found::Nothing, |(first, second)| {
                Found::Compared(compare_samples(changed(first), second, direction, self.level))
            }),
            Basis::None(reason) => samples()
                .map_or(Found::Nothing, |(first, second)| Found::Summaries(changed(first).mean, second.mean, *reason)),
        }
    }

    fn judgement(&self, rule: &Rule, basis: &Basis) -> Option<Judgement> {
        let none = Direction::Neither;
        let (first, second) = match self.compared(&rule.tag, rule.stat, basis, none, (1.0, 0.0)) {
            Found::Compared(found) => (found.first, found.second),
            Found::Summaries(first, second, _) => (first, second),
            Found::Nothing => return None,
        };
        let limit = rule.limit(first);
        let (interval, p, outcome) = match self.compared(&rule.tag, rule.stat, basis, none, limit) {
            Found::Compared(found) => (Some(found.interval), Some(found.p), self.outcome(rule, &found)),
            Found::Summaries(_, _, reason) => (None, None, LimitOutcome::Undecided(reason)),
            Found::Nothing => return None,
        };
        Some(Judgement {
            rule: rule.text.clone(),
            unit: self.first.unit(&rule.tag).ok().flatten().unwrap_or_default().to_owned(),
            first,
            second,
            relative: (first != 0.0).then(|| (second - first) / first.abs()),
            limit: first * limit.0 + limit.1,
            interval,
            p,
            corrected_p: None,
            is_of_successes: is_of_successes(&rule.tag),
            more_failures: None,
            bound: self.bounds(&rule.tag, rule.stat).map_or(0.0, |(first, second)| first * limit.0.abs() + second),
            outcome,
        })
    }

    /// Whether the whole interval is on one side of the limit.
    fn outcome(&self, rule: &Rule, found: &Comparison) -> LimitOutcome {
        let is_beyond = match rule.towards {
            Towards::Above => found.difference > 0.0,
            Towards::Below => found.difference < 0.0,
        };
        match found.verdict {
            Verdict::Undecided(Doubt::TooLittleData) => LimitOutcome::Undecided(self.reason(Doubt::TooLittleData)),
            // Values that never vary and are exactly at the limit are not beyond it.
            Verdict::Undecided(Doubt::WithinNoise) if found.interval == (0.0, 0.0) => LimitOutcome::Within,
            Verdict::Undecided(Doubt::WithinNoise) => LimitOutcome::Undecided(Reason::WithinNoise),
            _ if is_beyond => LimitOutcome::Beyond,
            _ => LimitOutcome::Within,
        }
    }
}

fn scaled(found: Comparison, scale: f64) -> Comparison {
    Comparison {
        first: found.first * scale,
        second: found.second * scale,
        difference: found.difference * scale,
        interval: (found.interval.0 * scale, found.interval.1 * scale),
        ..found
    }
}

enum Found {
    Compared(Comparison),
    /// The values of both summaries, and why there is no more.
    Summaries(f64, f64, Reason),
    Nothing,
}

fn numbers(found: &Comparison) -> Numbers {
    Numbers {
        first: found.first,
        second: found.second,
        difference: found.difference,
        relative: found.relative,
        interval: Some(found.interval),
        p: Some(found.p),
        corrected_p: None,
        effective: Some(found.effective),
    }
}

/// Whether both sides counted nothing: zero throughout. The interval of a share allows for what more requests might
/// show, so it is never empty.
fn is_nothing(numbers: &Numbers, is_share: bool) -> bool {
    let is_certain = is_share || numbers.interval.is_none_or(|interval| interval == (0.0, 0.0));
    (numbers.first, numbers.second) == (0.0, 0.0) && is_certain
}

fn of_summaries(first: f64, second: f64) -> Numbers {
    let difference = second - first;
    let relative = (first != 0.0).then(|| difference / first.abs());
    Numbers { first, second, difference, relative, interval: None, p: None, corrected_p: None, effective: None }
}

/// Withdraws verdicts and outcomes that do not hold after the correction for their number.
pub(super) fn correct(pairs: &mut [Pair], level: f64) {
    let mut rows: Vec<&mut Row> =
        pairs.iter_mut().flat_map(|pair| &mut pair.rows).filter(|row| row.could_be()).collect();
    let corrected = holm(&rows.iter().map(|row| row.numbers.p.unwrap_or(f64::NAN)).collect::<Vec<_>>());
    for (row, p) in rows.iter_mut().zip(corrected) {
        row.numbers.corrected_p = Some(p);
        if matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse) && is_chance(p, level) {
            row.verdict = RowVerdict::Undecided(Reason::ManyComparisons);
        }
    }
    correct_failures(pairs, level);
    let judgements = pairs.iter_mut().flat_map(|pair| &mut pair.judgements);
    let mut judgements: Vec<&mut Judgement> = judgements.filter(|judgement| judgement.could_be()).collect();
    let corrected = holm(&judgements.iter().map(|one| one.p.unwrap_or(f64::NAN)).collect::<Vec<_>>());
    for (judgement, p) in judgements.iter_mut().zip(corrected) {
        judgement.corrected_p = Some(p);
        let was_certain = judgement.interval == Some((0.0, 0.0));
        if matches!(judgement.outcome, LimitOutcome::Within | LimitOutcome::Beyond)
            && is_chance(p, level)
            && !was_certain
        {
            judgement.outcome = LimitOutcome::Undecided(Reason::ManyComparisons);
        }
    }
    // After the correction: withdrawn verdicts are still among those that were looked at.
    withdraw_within_bounds(pairs);
    break_for_failures(pairs);
}

/// Withdraws verdicts and outcomes that the error of the measurements could turn around.
fn withdraw_within_bounds(pairs: &mut [Pair]) {
    for pair in pairs {
        for row in &mut pair.rows {
            let is_decided = matches!(row.verdict, RowVerdict::Better | RowVerdict::Worse);
            if is_decided && row.bound() > 0.0 && row.numbers.difference.abs() <= row.bound() {
                row.verdict = RowVerdict::Undecided(Reason::ErrorBound);
            }
        }
        for judgement in &mut pair.judgements {
            let is_decided = matches!(judgement.outcome, LimitOutcome::Within | LimitOutcome::Beyond);
            // Values that never vary and are exactly at the limit are those of the same run.
            let is_same = judgement.interval == Some((0.0, 0.0));
            let margin = (judgement.second - judgement.limit).abs();
            if is_decided && !is_same && judgement.bound > 0.0 && margin <= judgement.bound {
                judgement.outcome = LimitOutcome::Undecided(Reason::ErrorBound);
            }
        }
    }
}

/// If failures rose for certain, every limit on requests that succeeded is broken.
fn break_for_failures(pairs: &mut [Pair]) {
    for pair in pairs {
        let Some(failures) = pair.failures.as_ref().filter(|failures| failures.rose()) else { continue };
        for judgement in pair.judgements.iter_mut().filter(|judgement| judgement.is_of_successes) {
            judgement.outcome = LimitOutcome::Beyond;
            judgement.more_failures = Some((failures.first.share(), failures.second.share()));
        }
    }
}

fn correct_failures(pairs: &mut [Pair], level: f64) {
    let mut all: Vec<&mut Failures> = pairs.iter_mut().filter_map(|pair| pair.failures.as_mut()).collect();
    let corrected = holm(&all.iter().map(|failures| failures.p).collect::<Vec<_>>());
    for (failures, p) in all.iter_mut().zip(corrected) {
        failures.corrected_p = Some(p);
        failures.change = match failures.second.share() > failures.first.share() {
            _ if is_chance(p, level) => FailureChange::Undecided,
            true => FailureChange::Rose,
            false => FailureChange::Fell,
        };
    }
}

fn is_chance(p: f64, level: f64) -> bool {
    p.is_nan() || p >= 1.0 - level
}

/// Whether an item can have a verdict, so that the correction counts it.
trait Countable {
    fn could_be(&self) -> bool;
}

impl Countable for Row {
    fn could_be(&self) -> bool {
        matches!(self.verdict, RowVerdict::Better | RowVerdict::Worse | RowVerdict::Undecided(Reason::WithinNoise))
    }
}

impl Countable for Judgement {
    fn could_be(&self) -> bool {
        matches!(
            self.outcome,
            LimitOutcome::Within | LimitOutcome::Beyond | LimitOutcome::Undecided(Reason::WithinNoise)
        )
    }
}
