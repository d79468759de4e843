//! The lengths of the requests of a trace, and how much of them a prefix cache could serve.
//!
//! A trace is read once. Memory grows with the number of distinct ids, prefixes and positions of ids, and by about 40
//! bytes per row. A prefix is stored as the prefix before it and its last id, never as a list.

use super::lines::{Lines, members, shown, whole};
use super::numbers::{deviation, mean, quantile};
use crate::error::DatasetError;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// The statistics of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    pub requests: u64,
    pub prefixes: u64,
    /// First ids with which more than one request begins.
    pub groups: u64,
    pub reuse: f64,
    pub input: Option<Spread>,
    pub output: Option<Spread>,
    /// Tokens of blocks that occur at the same position in other requests.
    pub context: Option<Spread>,
    /// The other tokens of a request.
    pub unique: Option<Spread>,
    pub hit_rate: Option<Spread>,
}

/// The distribution of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub deviation: f64,
    pub min: f64,
    pub p25: f64,
    pub median: f64,
    pub p75: f64,
    pub max: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let (mean, deviation) = (mean(&values), deviation(&values));
        values.sort_unstable_by(f64::total_cmp);
        let at = |q| quantile(&values, q);
        Some(Self { mean, deviation, min: at(0.0), p25: at(0.25), median: at(0.5), p75: at(0.75), max: at(1.0) })
    }

    fn json(of: Option<&Self>) -> Value {
        of.map_or(Value::Null, |one| {
            json!({
                "mean": one.mean, "std_dev": one.deviation, "min": one.min, "p25": one.p25, "median": one.median,
                "p75": one.p75, "max": one.max,
            })
        })
    }
}

impl Analysis {
    /// Analyses a file, within `room` bytes of memory if that is known. Refuses a file without rows.
    pub fn read(path: &Path, block_size: u64, room: Option<u64>) -> Result<Self, DatasetError> {
        Self::of(Lines::open(path)?, block_size, room)
    }

    fn of(lines: Lines, block_size: u64, room: Option<u64>) -> Result<Self, DatasetError> {
        let (mut lines, mut counts) = (lines.within(room), Counts::default());
        while let Some((line, text)) = lines.next()? {
            let added = Request::read(text).and_then(|request| {
                counts.has_room(request.ids.len(), room)?;
                counts.add(&request);
                Ok(())
            });
            added.map_err(|fault| lines.fault(line, fault))?;
        }
        if counts.rows.is_empty() { Err(lines.empty()) } else { Ok(counts.analysis(block_size)) }
    }

    /// As a JSON document, indented by two blanks.
    pub fn json(&self) -> String {
        let whole = |of: Option<&Spread>, value: fn(&Spread) -> f64| of.map_or(0, |spread| value(spread) as u64);
        let share = |of: Option<&Spread>| of.map_or(0.0, |spread| spread.mean);
        let (input, output) = (self.input.as_ref(), self.output.as_ref());
        let document = json!({
            "total_requests": self.requests,
            "unique_prefixes": self.prefixes,
            "num_prefix_groups": self.groups,
            "cache_hit_rate": share(self.hit_rate.as_ref()),
            "min_isl": whole(input, |spread| spread.min),
            "max_isl": whole(input, |spread| spread.max),
            "avg_isl": share(input),
            "min_osl": whole(output, |spread| spread.min),
            "max_osl": whole(output, |spread| spread.max),
            "avg_osl": share(output),
            "prefix_reuse_ratio": self.reuse,
            "isl_stats": Spread::json(input),
            "osl_stats": Spread::json(output),
            "context_length_stats": Spread::json(self.context.as_ref()),
            "unique_prompt_length_stats": Spread::json(self.unique.as_ref()),
            "hit_rate_stats": Spread::json(self.hit_rate.as_ref()),
        });
        format!("{document:#}")
    }
}

/// The content of a row.
#[derive(Debug)]
struct Request {
    input: f64,
    output: f64,
    ids: Vec<i128>,
}

impl Request {
    fn read(text: &str) -> Result<Self, String> {
        let mut row = members(text)?;
        let input = length(&row, "input_length")?;
        let output = length(&row, "output_length")?;
        let ids = match row.remove("hash_ids") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(ids)) => {
                let id = |id: &Value| {
                    whole(id).ok_or_else(|| format!("hash_ids holds {}, and an id is a whole number", shown(id)))
                };
                ids.iter().map(id).collect::<Result<_, _>>()?
            }
            Some(other) => return Err(format!("hash_ids must be a list of whole numbers, not {}", shown(&other))),
        };
        Ok(Self { input, output, ids })
    }
}

fn length(row: &Map<String, Value>, name: &str) -> Result<f64, String> {
    let Some(value) = row.get(name).filter(|value| !value.is_null()) else { return Ok(0.0) };
    match whole(value) {
        Some(number) if (0..=i128::from(u64::MAX)).contains(&number) => Ok(number as f64),
        _ => Err(format!("{name} must be a whole number of at least 0, not {}", shown(value))),
    }
}

/// What is kept of a row.
#[derive(Debug)]
struct Row {
    input: f64,
    output: f64,
    ids: u32,
    /// Its ids that occur at the same position in another row.
    shared: u32,
    /// Its ids before the first one that no earlier row had.
    hits: u32,
}

#[derive(Debug, Default)]
struct Counts {
    rows: Vec<Row>,
    /// A number for each id: ids of earlier rows have lower numbers than those that a row introduces.
    ids: HashMap<i128, u32>,
    /// The number of a prefix, from 1, by the prefix before it and its last id.
    prefixes: HashMap<(u32, u32), u32>,
    /// Whether each prefix occurred more than once.
    met: Vec<bool>,
    occurrences: u64,
    /// The first row with an id at a position, or [`SHARED`].
    places: HashMap<(u32, u32), u32>,
}

/// Bytes per row while statistics are computed: the sorted values of a metric.
const WORKING: u64 = 16;

/// Bytes of a table or list while it grows by `more` entries. A table has spare capacity, and one more byte per entry.
fn grown<T>(len: usize, capacity: usize, more: usize) -> u64 {
    let bytes = |capacity: usize| (capacity as u64 * 8 / 7).next_power_of_two() * (size_of::<T>() as u64 + 1);
    let now = if capacity == 0 { 0 } else { bytes(capacity) };
    if len + more > capacity { now + bytes((len + more).max(2 * capacity)) } else { now }
}

/// In place of a row: several rows have it.
const SHARED: u32 = u32::MAX;

impl Counts {
    /// Whether a row with `more` ids fits: a full table is copied to one twice as large, and both exist meanwhile.
    fn has_room(&self, more: usize, room: Option<u64>) -> Result<(), String> {
        let Some(room) = room else { return Ok(()) };
        let need = grown::<Row>(self.rows.len(), self.rows.capacity(), 1)
            + grown::<bool>(self.met.len(), self.met.capacity(), more)
            + grown::<(i128, u32)>(self.ids.len(), self.ids.capacity(), more)
            + grown::<((u32, u32), u32)>(self.prefixes.len(), self.prefixes.capacity(), more)
            + grown::<((u32, u32), u32)>(self.places.len(), self.places.capacity(), more)
            + WORKING * (self.rows.len() as u64 + 1);
        if need <= room {
            return Ok(());
        }
        let size = |bytes: u64| format!("{:.2} GB", bytes as f64 / 1e9);
        Err(format!(
            "takes {} of memory with the rows before it, and {} are free\n  what is kept grows with the ids and prefixes that \
             are distinct\n  try: fewer rows in a file of their own, or a machine with more memory",
            size(need),
            size(room)
        ))
    }

    fn add(&mut self, request: &Request) {
        let row = self.rows.len() as u32;
        let known = self.ids.len() as u32;
        let (mut shared, mut hits, mut before) = (0, None, 0);
        for (place, id) in request.ids.iter().enumerate() {
            let next = self.ids.len() as u32;
            let id = *self.ids.entry(*id).or_insert(next);
            if id >= known {
                hits.get_or_insert(place as u32);
            }
            let next = self.prefixes.len() as u32 + 1;
            before = match self.prefixes.entry((before, id)) {
                Entry::Occupied(known) => {
                    self.met[*known.get() as usize - 1] = true;
                    *known.get()
                }
                Entry::Vacant(new) => {
                    self.met.push(false);
                    *new.insert(next)
                }
            };
            self.occurrences += 1;
            match self.places.entry((place as u32, id)) {
                Entry::Vacant(new) => drop(new.insert(row)),
                Entry::Occupied(mut known) => {
                    shared += 1;
                    let first = known.insert(SHARED);
                    if first != SHARED {
                        self.rows[first as usize].shared += 1;
                    }
                }
            }
        }
        let ids = request.ids.len() as u32;
        self.rows.push(Row { input: request.input, output: request.output, ids, shared, hits: hits.unwrap_or(ids) });
    }

    fn analysis(&self, block_size: u64) -> Analysis {
        let of = |value: fn(&Row) -> f64| Spread::of(self.rows.iter().map(value).collect());
        let context = |row: &Row| match row.ids {
            0 => 0.0,
            ids if ids == row.shared => row.input,
            _ => f64::from(row.shared) * block_size as f64,
        };
        let with_ids = self.rows.iter().filter(|row| row.ids > 0);
        let once = self.met.iter().filter(|again| !**again).count() as u64;
        let is_group = |(prefix, number): (&(u32, u32), &u32)| prefix.0 == 0 && self.met[*number as usize - 1];
        Analysis {
            requests: self.rows.len() as u64,
            prefixes: self.prefixes.len() as u64,
            groups: self.prefixes.iter().filter(|entry| is_group(*entry)).count() as u64,
            reuse: if self.occurrences == 0 { 0.0 } else { (self.occurrences - once) as f64 / self.occurrences as f64 },
            input: of(|row| row.input),
            output: of(|row| row.output),
            context: Spread::of(self.rows.iter().map(context).collect()),
            // With ids beyond the end of a request, the difference would be negative.
            unique: Spread::of(self.rows.iter().map(|row| (row.input - context(row)).max(0.0)).collect()),
            hit_rate: Spread::of(with_ids.map(|row| f64::from(row.hits) / f64::from(row.ids)).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::kinds::datasets::{NUMBERED_PREFIXES, TRACE_REPORT};
    use proptest::prelude::*;
    use std::io::Cursor;

    fn analysis(rows: &[Value], block_size: u64) -> Analysis {
        let mut counts = Counts::default();
        rows.iter().for_each(|row| counts.add(&Request::read(&row.to_string()).unwrap()));
        counts.analysis(block_size)
    }

    /// The reference has negative lengths where this code has 0, and all values that depend on them.
    fn skip(case: &Value) -> Option<String> {
        let least = case["report"]["unique_prompt_length_stats"]["min"].as_f64();
        least.is_some_and(|least| least < 0.0).then(|| "a length is never negative here".into())
    }

    fn assert_near(found: &Value, wanted: &Value, at: &str) {
        match (found, wanted) {
            (Value::Object(found), Value::Object(wanted)) => {
                assert!(found.keys().eq(wanted.keys()), "{at}: {found:?}");
                found.iter().for_each(|(key, value)| assert_near(value, &wanted[key], key));
            }
            (Value::Number(found), Value::Number(wanted)) => {
                assert_eq!(found.is_f64(), wanted.is_f64(), "{at}");
                let (found, wanted) = (found.as_f64().unwrap(), wanted.as_f64().unwrap());
                assert!((found - wanted).abs() <= 1e-12 * wanted.abs(), "{at}: {found}, not {wanted}");
            }
            _ => assert_eq!(found, wanted, "{at}"),
        }
    }

    #[test]
    fn golden_traces_give_the_recorded_reports() {
        TRACE_REPORT.run(skip, |case| {
            let found = analysis(case["rows"].as_array().unwrap(), case["block_size"].as_u64().unwrap());
            assert_near(&serde_json::from_str(&found.json()).unwrap(), &case["report"], "");
        });
    }

    #[test]
    fn golden_prefixes_are_numbered_as_recorded() {
        NUMBERED_PREFIXES.run(
            |_| None,
            |case| {
                let sequences = case.get("text_block_sequences").unwrap_or(&case["token_block_sequences"]);
                let (mut counts, mut blocks) = (Counts::default(), Vec::<String>::new());
                let mut id = |block: &Value| {
                    let block = block.to_string();
                    let known = blocks.iter().position(|known| *known == block).unwrap_or(blocks.len());
                    if known == blocks.len() {
                        blocks.push(block);
                    }
                    known as i128
                };
                let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
                let mut found = Vec::new();
                for sequence in list(sequences) {
                    let ids: Vec<i128> = list(&sequence).iter().map(&mut id).collect();
                    counts.add(&Request { input: 0.0, output: 0.0, ids: ids.clone() });
                    let next = |before: &mut u32, id: &i128| {
                        *before = counts.prefixes[&(*before, counts.ids[id])];
                        Some(*before - 1)
                    };
                    found.push(ids.iter().scan(0, next).collect::<Vec<u32>>());
                }
                assert_eq!(json!(found), case["ids"]);
            },
        );
    }

    #[test]
    fn a_length_is_never_negative() {
        let rows = [json!({"input_length": 100, "hash_ids": [1, 2]}), json!({"input_length": 100, "hash_ids": [1, 3]})];
        let unique = analysis(&rows, 512).unique.unwrap();
        assert_eq!((unique.min, unique.max), (0.0, 0.0));
    }

    #[test]
    fn ids_may_be_as_large_as_hashes() {
        let rows = [json!({"hash_ids": [u64::MAX]}), json!({"hash_ids": [u64::MAX]}), json!({"hash_ids": [-1]})];
        let found = analysis(&rows, 512);
        assert_eq!((found.prefixes, found.groups), (2, 1));
    }

    #[test]
    fn a_trace_that_does_not_fit_is_refused_at_the_row_that_exceeds_memory() {
        let within = |text: &str, room: u64| {
            let lines = Lines::of("x.jsonl".into(), Cursor::new(text.as_bytes().to_vec())).unwrap();
            Analysis::of(lines, 512, Some(room)).map_err(|error| error.to_string())
        };
        let row = |from: usize| json!({"hash_ids": (from..from + 100).collect::<Vec<_>>()}).to_string();
        let rows: Vec<String> = (0..50).map(|number| row(100 * number)).collect();
        let error = within(&rows.join("\n"), 200_000).unwrap_err();
        assert!(
            error.contains("x.jsonl:") && error.contains("of memory") && error.contains("try: fewer rows"),
            "{error}"
        );
        assert_eq!(within(&rows.join("\n"), 2_000_000).unwrap().requests, 50);
        let long = within(&format!("{}\n{}", row(0), " ".repeat(10_000)), 200_000).unwrap_err();
        assert!(long.contains("x.jsonl:2") && long.contains("memory to read"), "{long}");
    }

    /// The definitions, taken literally.
    fn slowly(rows: &[Vec<u8>]) -> (u64, u64, Vec<usize>) {
        let mut prefixes = HashMap::<&[u8], u64>::new();
        let mut places = HashMap::<(usize, u8), u64>::new();
        for row in rows {
            (1..=row.len()).for_each(|end| *prefixes.entry(&row[..end]).or_default() += 1);
            row.iter().enumerate().for_each(|(place, id)| *places.entry((place, *id)).or_default() += 1);
        }
        let shared = |row: &Vec<u8>| row.iter().enumerate().filter(|(place, id)| places[&(*place, **id)] > 1).count();
        let groups = prefixes.iter().filter(|(prefix, count)| prefix.len() == 1 && **count > 1).count();
        (prefixes.len() as u64, groups as u64, rows.iter().map(shared).collect())
    }

    proptest! {
        #[test]
        fn one_pass_agrees_with_the_definitions(rows in prop::collection::vec(prop::collection::vec(0_u8..4, 0..6), 0..12)) {
            let mut counts = Counts::default();
            for row in &rows {
                counts.add(&Request { input: 1.0, output: 1.0, ids: row.iter().map(|id| i128::from(*id)).collect() });
            }
            let found = counts.analysis(1);
            let (prefixes, groups, shared) = slowly(&rows);
            prop_assert_eq!((found.prefixes, found.groups), (prefixes, groups));
            prop_assert_eq!(counts.rows.iter().map(|row| row.shared as usize).collect::<Vec<_>>(), shared);
        }

        #[test]
        fn any_bytes_are_analysed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(lines) = Lines::of("any".into(), Cursor::new(bytes)) {
                let _ = Analysis::of(lines, 512, None);
            }
        }

        #[test]
        fn rows_of_any_shape_are_analysed_or_refused(rows in "(\\{\"(input_length|hash_ids|output_length)\":(-?[0-9]{1,25}|\\[[0-9,\"]{0,9}\\]|null|1e[0-9]{1,3})\\}[\n ]){0,4}") {
            if let Ok(lines) = Lines::of("any".into(), Cursor::new(rows)) {
                let _ = Analysis::of(lines, u64::MAX, None);
            }
        }
    }
}
