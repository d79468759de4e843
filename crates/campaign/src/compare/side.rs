//! One side of a comparison: a directory, and its comparable values.

use super::directory::Contents;
use super::metrics::{ERRORS, RATES, REQUESTS, has_records};
use super::summary::{Program, RunSummary};
use super::{CompareError, LARGEST_GAP};
use aiperf_report::aggregate::RunVerdicts;
use aiperf_report::compare::Reason;
use aiperf_report::{RecordColumns, thousands};
use aiperf_statistics::{Proportion, Sample};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most intervals that a run is cut into for a rate.
const MOST_STRETCHES: usize = 2048;
/// The least average number of requests that end in an interval.
const REQUESTS_A_STRETCH: usize = 4;

#[derive(Debug)]
pub(super) struct Side {
    pub(super) label: String,
    pub(super) path: PathBuf,
    pub(super) contents: Contents,
}

impl Side {
    pub(super) fn read(label: String, path: &Path) -> Result<Self, CompareError> {
        Ok(Self { label, path: path.to_owned(), contents: Contents::read(path)? })
    }

    /// The name in messages.
    pub(super) fn name(&self) -> String {
        format!("{} ({})", self.label, self.path.display())
    }

    pub(super) fn runs(&self) -> usize {
        match &self.contents {
            Contents::Run(_) => 1,
            Contents::Runs(runs, _) => runs.len(),
            Contents::Aggregate(aggregate) => aggregate.runs,
        }
    }

    pub(super) fn run(&self) -> Option<&RunSummary> {
        match &self.contents {
            Contents::Run(run) => Some(run),
            _ => None,
        }
    }

    fn summaries(&self) -> &[RunSummary] {
        match &self.contents {
            Contents::Run(run) => std::slice::from_ref(run),
            Contents::Runs(runs, _) => runs,
            Contents::Aggregate(_) => &[],
        }
    }

    pub(super) fn tags(&self) -> BTreeSet<&str> {
        match &self.contents {
            Contents::Aggregate(aggregate) => aggregate.samples.keys().map(String::as_str).collect(),
            _ => self.summaries().iter().flat_map(|run| run.metrics.keys().map(String::as_str)).collect(),
        }
    }

    /// The unit of a metric; `None` if it is not measured. Different units within one side are an error.
    pub(super) fn unit(&self, tag: &str) -> Result<Option<&str>, CompareError> {
        if let Contents::Aggregate(aggregate) = &self.contents {
            let stats = aggregate.samples.get(tag);
            return Ok(stats.and_then(|stats| stats.values().next()).map(|(_, unit)| unit.as_str()));
        }
        let mut units = self.summaries().iter().filter_map(|run| Some((run, run.metrics.get(tag)?.unit.as_str())));
        let Some((first, unit)) = units.next() else { return Ok(None) };
        match units.find(|(_, other)| *other != unit) {
            None => Ok(Some(unit)),
            Some((run, other)) => Err(CompareError::Units {
                tag: tag.to_owned(),
                first: format!("{unit} in {} of {}", first.label, self.name()),
                second: format!("{other} in its {}", run.label),
            }),
        }
    }

    /// A statistic of a metric over the runs of this side.
    pub(super) fn sample(&self, tag: &str, stat: &str) -> Option<Sample> {
        match &self.contents {
            Contents::Aggregate(aggregate) => Some(aggregate.samples.get(tag)?.get(stat)?.0),
            _ => {
                let values: Vec<f64> = self.summaries().iter().filter_map(|run| run.stat(tag, stat)).collect();
                Sample::of(&values)
            }
        }
    }

    /// The share of all requests of all its runs that a metric counts; `None` if there is only an aggregate.
    pub(super) fn proportion(&self, hits: &str) -> Option<Proportion> {
        let total = |tag: &str| self.summaries().iter().filter_map(|run| run.stat(tag, "avg")).sum::<f64>().max(0.0);
        Proportion::new(total(hits) as u64, (total(REQUESTS) + total(ERRORS)) as u64)
    }

    pub(super) fn config(&self) -> Option<&Value> {
        self.summaries().first().map(|run| &run.config)
    }

    /// The program that measured it; `None` if there is only an aggregate.
    pub(super) fn program(&self) -> Option<Program> {
        match &self.contents {
            Contents::Aggregate(_) => None,
            _ => Some(self.summaries().first()?.program),
        }
    }

    pub(super) fn version(&self) -> Option<&str> {
        match &self.contents {
            Contents::Aggregate(aggregate) => aggregate.version.as_deref(),
            _ => self.summaries().first()?.version.as_deref(),
        }
    }

    /// The verdicts of its runs on their own numbers. Of an aggregate alone, the worst is known.
    pub(super) fn verdicts(&self) -> RunVerdicts {
        let of_run = |run: &RunSummary| Some((run.label.clone(), run.certainty.verdict.clone()?));
        let runs = match &self.contents {
            Contents::Aggregate(aggregate) => {
                aggregate.verdict.iter().map(|it| (self.label.clone(), it.clone())).collect()
            }
            _ => self.summaries().iter().filter_map(of_run).collect(),
        };
        RunVerdicts { runs }
    }

    /// How far a statistic can be from the truth because of the measurement, in the unit of the metric; of several runs,
    /// how far their mean can be. `None` if no run knows.
    pub(super) fn bound(&self, tag: &str, stat: &str) -> Option<f64> {
        let bounds: Vec<f64> = self.summaries().iter().filter_map(|run| run.bound(tag, stat)).collect();
        // A run that does not know its error counts as exact.
        (!bounds.is_empty()).then(|| bounds.iter().sum::<f64>() / self.runs() as f64)
    }

    /// Whether a run has too few requests for a statistic.
    pub(super) fn has_too_few(&self, tag: &str, stat: &str) -> bool {
        self.summaries().iter().any(|run| run.certainty.of(tag, stat).too_few.is_some())
    }

    /// Warnings about its numbers.
    pub(super) fn notes(&self) -> Vec<String> {
        let label = &self.label;
        let mut notes: Vec<String> = Vec::new();
        for run in self.summaries() {
            let name = if self.runs() > 1 { format!("{} of {label}", run.label) } else { label.clone() };
            notes.extend(run.incomplete.iter().map(|why| format!("{name} is not complete: {why}")));
            let verdict = run.certainty.verdict.as_ref().filter(|verdict| !verdict.is_trustworthy());
            notes.extend(verdict.map(|verdict| format!("the measurement of {name} is {}", verdict.in_words())));
            notes.extend(run.doubts.iter().map(|doubt| format!("{name} doubts its numbers: {doubt}")));
        }
        if let Contents::Runs(_, without) = &self.contents
            && !without.is_empty()
        {
            notes.push(format!("{label} is without {}, which has no results", without.join(", ")));
        }
        notes
    }
}

/// The records of a side, or why they are not available.
#[derive(Debug)]
pub(super) enum Records {
    Read(TimeOrdered),
    Without(Reason),
}

/// Records, ordered by the start of their requests.
#[derive(Debug)]
pub(super) struct TimeOrdered {
    columns: RecordColumns,
    order: Vec<u32>,
}

impl Records {
    /// Reads the records of a side, as far as these metrics need them. Also returns notes on malformed records.
    pub(super) fn read(side: &Side, tags: &[String]) -> Result<(Self, Vec<String>), CompareError> {
        let Some(run) = side.run() else { return Ok((Self::Without(Reason::OneValue), Vec::new())) };
        let Some(path) = &run.records else { return Ok((Self::Without(Reason::NoRecords), Vec::new())) };
        let unread = |source| CompareError::Unreadable { path: path.clone(), source };
        let columns = RecordColumns::read(path, tags).map_err(unread)?;
        let mut notes = Vec::new();
        if let Some((line, what)) = &columns.first_malformed {
            let count = thousands(columns.malformed);
            notes.push(format!("{count} lines of {} are no records and left out; line {line}: {what}", path.display()));
        }
        if let Some(why) = &columns.cut_off {
            notes.push(format!("{} ends in the middle: {why}", path.display()));
        }
        for column in &columns.columns {
            let summary = run.metrics.get(&column.tag).map(|metric| &metric.unit);
            if let (Some(unit), Some(summary)) = (&column.unit, summary)
                && unit != summary
            {
                let tag = column.tag.clone();
                let first = format!("{summary} in the summary of {}", side.name());
                return Err(CompareError::Units { tag, first, second: format!("{unit} in its records") });
            }
        }
        let counted = run.stat("request_count", "avg").unwrap_or(columns.len() as f64);
        if (columns.len() as f64) < counted * (1.0 - LARGEST_GAP) || columns.len() > u32::MAX as usize {
            notes.push(format!(
                "{} holds {} records of {} requests that the summary counts: nothing is concluded from them",
                path.display(),
                thousands(columns.len() as u64),
                thousands(counted as u64)
            ));
            return Ok((Self::Without(Reason::IncompleteRecords), notes));
        }
        if (columns.len() as f64) > counted * (1.0 + LARGEST_GAP) {
            notes.push(format!(
                "{} holds {} records, and the summary counts {} requests: they contradict each other",
                path.display(),
                thousands(columns.len() as u64),
                thousands(counted as u64)
            ));
        }
        let mut order: Vec<u32> = (0..columns.len() as u32).collect();
        order.sort_by_key(|&at| columns.starts[at as usize]);
        Ok((Self::Read(TimeOrdered { columns, order }), notes))
    }

    /// How many there are.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Read(records) => Some(records.order.len()),
            Self::Without(_) => None,
        }
    }

    /// The values of a metric in the order of time, so that their mean is the metric; or why there are none. `mean`:
    /// the value in the summary, for rates.
    pub(super) fn series(&self, tag: &str, mean: Option<f64>) -> Result<Vec<f64>, Reason> {
        if !has_records(tag) {
            return Err(Reason::OneValue);
        }
        let records = match self {
            Self::Read(records) => records,
            Self::Without(reason) => return Err(*reason),
        };
        if let Some((_, weight)) = RATES.iter().find(|(rate, _)| *rate == tag) {
            return records.rate(*weight, mean).ok_or(Reason::OneValue);
        }
        let column = records.columns.columns.iter().find(|column| column.tag == tag).ok_or(Reason::OneValue)?;
        if column.is_list {
            return Err(Reason::Lists);
        }
        let values: Vec<f64> =
            records.order.iter().map(|&at| column.values[at as usize]).filter(|value| value.is_finite()).collect();
        if values.is_empty() { Err(Reason::OneValue) } else { Ok(values) }
    }
}

impl TimeOrdered {
    /// A rate in equal intervals of time: what the requests that ended in each interval add per second. `None` if the
    /// whole differs from the summary, because then it was counted in another way.
    fn rate(&self, weight: Option<&str>, mean: Option<f64>) -> Option<Vec<f64>> {
        let RecordColumns { starts, ends, columns, .. } = &self.columns;
        let weights = match weight {
            None => None,
            Some(tag) => Some(&columns.iter().find(|column| column.tag == tag && !column.is_list)?.values),
        };
        let (begin, end) = (*starts.iter().min()?, *ends.iter().max()?);
        let length = end.checked_sub(begin).filter(|length| *length > 0)?;
        let stretches = (ends.len() / REQUESTS_A_STRETCH).clamp(1, MOST_STRETCHES);
        let stretch_seconds = length as f64 / 1e9 / stretches as f64;
        let mut rates = vec![0.0; stretches];
        for (at, ended) in ends.iter().enumerate() {
            let since = (i128::from(*ended) - i128::from(begin)).max(0);
            let place = (since * stretches as i128 / i128::from(length)) as usize;
            let weight = weights.map_or(1.0, |weights| weights[at]);
            if weight.is_finite() {
                rates[place.min(stretches - 1)] += weight / stretch_seconds;
            }
        }
        let found = rates.iter().sum::<f64>() / stretches as f64;
        let mean = mean?;
        let scale = mean / found;
        // True also if there is nothing to divide by.
        if scale.is_nan() || (scale - 1.0).abs() > LARGEST_GAP {
            return None;
        }
        rates.iter_mut().for_each(|rate| *rate *= scale);
        Some(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_statistics::{Direction, Series, Statistic, Verdict, compare};

    /// Numbers from 0 to 1; the same for a seed.
    fn draws(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Eight users. Each sends when its last response is complete. Times are in nanoseconds.
    fn closed_loop(seed: u64, slower: f64, count: usize) -> RecordColumns {
        let mut random = draws(seed);
        let mut free = [0_i64; 8];
        let mut columns = RecordColumns::default();
        for _ in 0..count {
            let user = (0..free.len()).min_by_key(|user| free[*user]).unwrap();
            columns.starts.push(free[user]);
            free[user] += (slower * 1e6 * (20.0 - 30.0 * random().max(1e-9).ln())) as i64;
            columns.ends.push(free[user]);
        }
        columns
    }

    /// Requests that arrive at random, and wait for a server that is busy four fifths of the time.
    fn open_loop(seed: u64, slower: f64, count: usize) -> RecordColumns {
        let mut random = draws(seed);
        let (mut now, mut free) = (0.0_f64, 0.0_f64);
        let mut columns = RecordColumns::default();
        for _ in 0..count {
            now -= slower * 1e6 * random().max(1e-9).ln();
            free = free.max(now) - 0.8e6 * random().max(1e-9).ln();
            columns.starts.push(now as i64);
            columns.ends.push(free as i64);
        }
        columns
    }

    fn throughput(columns: RecordColumns) -> Series {
        let seconds = (columns.ends.iter().max().unwrap() - columns.starts.iter().min().unwrap()) as f64 / 1e9;
        let mean = columns.len() as f64 / seconds;
        let order = (0..columns.len() as u32).collect();
        let rates = TimeOrdered { columns, order }.rate(None, Some(mean)).unwrap();
        let found = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!((found / mean - 1.0).abs() < 1e-9, "{found} {mean}");
        Series::new(rates)
    }

    #[test]
    fn throughput_over_time_has_few_false_alarms_and_finds_most_changes() {
        for run in [closed_loop, open_loop] {
            let verdicts = |slower: f64| {
                let decided = (0..300_u64).filter(|pair| {
                    let (first, second) = (run(2 * pair + 1, 1.0, 1500), run(2 * pair + 2, slower, 1500));
                    let (first, second) = (throughput(first), throughput(second));
                    let found =
                        compare(&first, &second, Statistic::Mean, Direction::LargerIsBetter, 0.95).unwrap().verdict;
                    !matches!(found, Verdict::Undecided(_))
                });
                decided.count()
            };
            let (alarms, found) = (verdicts(1.0), verdicts(1.25));
            assert!(alarms <= 24, "{alarms} of 300");
            assert!(found >= 240, "{found} of 300");
        }
    }

    #[test]
    fn a_rate_without_a_value_in_the_summary_is_none() {
        let columns = closed_loop(1, 1.0, 100);
        let order = (0..100).collect();
        let records = Records::Read(TimeOrdered { columns, order });
        assert_eq!(records.series("request_throughput", Some(1e9)), Err(Reason::OneValue));
        assert_eq!(records.series("request_throughput", None), Err(Reason::OneValue));
        assert_eq!(records.series("output_token_throughput", Some(1.0)), Err(Reason::OneValue));
        assert_eq!(records.series("request_count", Some(100.0)), Err(Reason::OneValue));
    }
}
