//! Traces: requests as a server once received them, one file per format and one row of [`FORMATS`].
//!
//! A trace may be larger than memory. So all of its rows are read once, on all cores, and only the position of each row
//! is kept, with what decides when it is sent. A conversation is read again by these positions on each call. What rows
//! do not contain is generated from their lengths and hash ids.
//!
//! - `fields`, `entry`: members of rows, and the content of a row
//! - `mooncake`, `bailian`, `burst_gpt`, `baseten`: the formats
//! - `row_file`, `rows`: rows and their positions, and the notes on them
//! - `row_check`: whether a run could send rows
//! - `sessions`: which rows are turns of one session
//! - `times`: when they are sent
//! - `misspelt`: members that look like known ones
//! - `synthesis`: reshaped rows
//! - `blocks`: texts for hash ids

mod bailian;
mod baseten;
mod blocks;
mod burst_gpt;
mod entry;
mod fields;
mod misspelt;
mod mooncake;
mod row_check;
mod row_file;
mod rows;
mod sessions;
mod synthesis;
mod times;

use std::borrow::Cow;
use std::sync::Arc;

use aiperf_plan::draw::Purpose;
use aiperf_plan::redact::RowSecrets;
use aiperf_plan::{Distribution, Pace, SessionColumn, TraceFormat, TracePlan};
use aiperf_types::{ContextMode, Conversation, ShapeList, Shapes, Turn};
use rand::RngExt;
use serde_json::{Map, Value};

use self::blocks::Blocks;
use self::entry::{Content, Entry, HashId, Session};
pub(crate) use self::fields::MOST_TOKENS_IN_ROW;
pub(crate) use self::row_check::RowCheck;
use self::row_file::{RowFile, RowPosition};
use self::rows::{Noting, Rows};
use self::sessions::{Order, Sessions};
use self::synthesis::{Counting, Reshaping};
use crate::error::DatasetError;
use crate::length;
use crate::session_id::SessionIds;
use crate::source::{Making, Source};
use crate::turn_shape;

/// A trace format.
struct Format {
    name: TraceFormat,
    /// An example of a row, for messages.
    example: &'static str,
    /// The names of the members that are read, to find misspelt ones; empty if all of them are required.
    members: &'static [&'static str],
    /// Tokens per hash id, unless the plan sets it.
    block_size: u64,
    open: fn(&TracePlan) -> Result<(RowFile, Layout), DatasetError>,
    /// Parses a row; `None` for one that is left out.
    read: for<'a> fn(&Layout, &'a str) -> Result<Option<Entry<'a>>, String>,
}

const FORMATS: &[Format] = &[mooncake::FORMAT, bailian::FORMAT, burst_gpt::FORMAT, baseten::FORMAT];

/// Where a file has the members of its rows.
#[derive(Debug, Default)]
struct Layout {
    /// The positions of time, input and output.
    columns: [usize; 3],
    session: Option<SessionColumn>,
    /// Columns that are not read.
    unread: Vec<String>,
}

/// A file with one row per line.
fn lines(plan: &TracePlan) -> Result<(RowFile, Layout), DatasetError> {
    Ok((RowFile::lines(&plan.path)?, Layout::default()))
}

/// The conversations of a trace, by index.
pub(crate) struct Trace {
    plan: TracePlan,
    format: &'static Format,
    layout: Layout,
    file: RowFile,
    /// The position of each row, in the order of conversations.
    places: Vec<RowPosition>,
    sessions: SessionIndex,
    shapes: Arc<Shapes>,
    reshaped: Option<Reshaped>,
    blocks: Blocks,
    trees: Purpose,
    osl: Option<Distribution>,
    output_lengths: Purpose,
    ids: SessionIds,
    notes: Vec<String>,
    secrets: RowSecrets,
}

/// The rows of conversations, and their names.
struct SessionIndex {
    ends: Vec<u32>,
    unnamed: Vec<u32>,
    /// Ids of conversations that have a number as name; otherwise empty.
    roots: Vec<i64>,
    /// The number of each conversation within its session, if sessions are split; otherwise empty.
    parts: Vec<u32>,
}

/// How rows are reshaped.
struct Reshaped {
    reshaping: Reshaping,
    /// For each row in the order of conversations, how many new ids the rows before it made.
    made_before: Vec<u64>,
}

impl Trace {
    /// Reads and checks the whole trace, and reports each row to the progress callback.
    pub(crate) fn open(plan: &TracePlan, making: Making<'_>) -> Result<Self, DatasetError> {
        let format = FORMATS.iter().find(|format| format.name == plan.format).ok_or(DatasetError::NoEntries)?;
        let refused = |fault: String| DatasetError::of_file(&plan.path, fault);
        let (file, layout) = (format.open)(plan)?;
        let block_size = plan.block_size.map_or(format.block_size, u64::from);
        let reshapes_ids = plan.synthesis.reshapes_ids();
        let noting = Noting {
            block_size: (!reshapes_ids).then_some(block_size),
            input_tokens: plan.synthesis.max_isl.is_some(),
        };
        let (mut rows, digest) = Rows::scan(&file, format, &layout, noting, making.progress)?;
        if let (true, Some(first)) = (rows.is_empty(), rows.counts.first_unreadable) {
            let (count, first) = (rows.counts.unreadable, file.at(first));
            let fault = format!(
                "has no row with valid numbers; of {count} invalid rows, the first is {first}\n  try: rows as in {}",
                format.example
            );
            return Err(refused(fault));
        }
        if rows.is_empty() {
            return Err(refused(format!("has no rows\n  try: a row for each request, as in {}", format.example)));
        }
        let misspelt = match format.members {
            [] => None,
            _ => misspelt::note(&file, format, &layout.unread, &rows.places)?,
        };
        let range = times::range(rows.times_ms.iter().copied());
        if plan.format == TraceFormat::Baseten {
            let zero = range.map_or(0.0, |(first, _)| first);
            if let Some(share) = plan.baseten.session_share {
                rows.keep(&Sessions::sampled(&rows, share, &making.draws.purpose("dataset.trace.session")));
            }
            rows.times_ms.iter_mut().for_each(|time| *time -= zero);
        }
        rows.select(&plan.window, &plan.synthesis);
        if rows.is_empty() {
            return Err(refused(times::nothing_left(&plan.window, plan.synthesis.max_isl, range)));
        }
        let mut notes = rows.counts.notes(&file, plan);
        notes.extend(misspelt);
        times::speed_up(&mut rows, plan);
        let is_closed = plan.baseten.pace == Pace::Closed;
        if let Some(cap) = plan.idle_gap_cap_ms.filter(|_| !is_closed) {
            times::reflow_rows(&mut rows, cap);
        }
        let order = if plan.format == TraceFormat::Baseten { Order::Timed } else { Order::Listed };
        let mut sessions = Sessions::of(&rows, order);
        let at = |rows: &Rows, row: u32| file.at(rows.places[row as usize].offset);
        check_modes(&rows, &sessions).map_err(|(row, fault)| DatasetError::of_file(&at(&rows, row), fault))?;
        (rows.modes, rows.sessions, rows.chats) = Default::default();
        if is_closed {
            times::close_loop(&mut rows, &sessions, plan.baseten.speedup);
            if let Some(cap) = plan.idle_gap_cap_ms {
                times::reflow_rows(&mut rows, cap);
            }
        }
        let parts = if plan.baseten.pace == Pace::OpenStrict { sessions.split() } else { Vec::new() };
        let most = plan.entries.and_then(|entries| usize::try_from(entries).ok()).unwrap_or(usize::MAX);
        sessions.ends.truncate(most);
        sessions.order.truncate(sessions.ends.last().map_or(0, |end| *end as usize));
        let long = times::cap_delays(&mut rows, plan);
        let long = long.map_err(|(row, fault)| DatasetError::of_file(&at(&rows, row), fault))?;
        notes.extend(long.note(|row| at(&rows, row as u32)));
        let mut shapes = ShapeList::with_capacity(sessions.ends.len(), sessions.order.len());
        for session in 0..sessions.ends.len() {
            let turn = |row: &u32| turn_shape(rows.delay_ms(*row as usize), rows.time_ms(*row as usize));
            shapes.push(sessions.rows(session).iter().map(turn));
        }
        let places = std::mem::take(&mut rows.places);
        let secrets = std::mem::take(&mut rows.secrets);
        drop(rows);
        let mut trace = Self {
            plan: plan.clone(),
            format,
            layout,
            places: sessions.order.iter().map(|row| places[*row as usize]).collect(),
            file,
            sessions: SessionIndex { ends: sessions.ends, unnamed: sessions.unnamed, roots: sessions.roots, parts },
            shapes: Arc::new(shapes.into()),
            reshaped: None,
            blocks: Blocks::new(making, plan.corpus, block_size, digest),
            trees: making.draws.purpose("dataset.trace.tree"),
            osl: plan.osl.clone().filter(|osl| osl.mean() >= 1.0),
            output_lengths: making.draws.purpose("dataset.osl"),
            ids: SessionIds::new(making.draws),
            notes,
            secrets,
        };
        if reshapes_ids {
            trace.reshaped = Some(trace.reshape()?);
        }
        Ok(trace)
    }

    /// Reads all rows again, in the order of the file, to find the ids that they share and those that are new.
    fn reshape(&self) -> Result<Reshaped, DatasetError> {
        let mut in_file: Vec<u32> = (0..self.places.len() as u32).collect();
        in_file.sort_unstable_by_key(|position| self.places[*position as usize].offset);
        let ids = |position: u32| {
            let place = self.places[position as usize];
            let text = self.file.row(place)?;
            let entry = self.entry(place, &text)?;
            Ok(match entry.content {
                Content::Made { hash_ids } => Some((u64::from(entry.input_tokens.unwrap_or(0).max(1)), hash_ids)),
                _ => None,
            })
        };
        let mut counting = Counting::default();
        for position in &in_file {
            if let Some((_, ids)) = ids(*position)? {
                counting.add(&ids);
            }
        }
        let mut reshaping = counting.done(self.plan.synthesis, self.blocks.size());
        let mut made_before = vec![0; self.places.len()];
        for position in in_file {
            if let Some((length, ids)) = ids(position)? {
                let made = reshaping.advance(length, &ids);
                made_before[position as usize] =
                    made.map_err(|fault| self.fault(self.places[position as usize], fault))?;
            }
        }
        Ok(Reshaped { reshaping, made_before })
    }

    fn rows_of(&self, index: usize) -> std::ops::Range<usize> {
        let start = index.checked_sub(1).map_or(0, |before| self.sessions.ends[before]);
        start as usize..self.sessions.ends[index] as usize
    }

    /// Parses a row again.
    fn entry<'a>(&self, place: RowPosition, text: &'a str) -> Result<Entry<'a>, DatasetError> {
        let entry = (self.format.read)(&self.layout, text).map_err(|fault| self.fault(place, fault))?;
        entry.ok_or_else(|| self.fault(place, "has changed since it was first read".into()))
    }

    fn fault(&self, place: RowPosition, fault: String) -> DatasetError {
        DatasetError::of_file(&self.file.at(place.offset), fault)
    }

    /// The turn of the row at a position.
    fn turn(&self, position: usize, entry: Entry<'_>) -> Result<Turn, String> {
        let plan = &self.plan;
        let row = self.places[position].offset;
        let max_tokens = match (entry.output_tokens, &self.osl) {
            (Some(tokens), _) => Some(synthesis::output_length(tokens, &plan.synthesis)),
            (None, Some(osl)) => {
                let drawn = length::draw(osl, &mut self.output_lengths.at(row));
                Some(u32::try_from(drawn).unwrap_or(u32::MAX))
            }
            (None, None) => None,
        };
        let mut extra = entry.extra.map(|extra| fields::object("extra", extra)).transpose()?;
        let turn = match entry.content {
            Content::Text(text) => Turn::text(text),
            Content::Made { hash_ids } => {
                let length = u64::from(entry.input_tokens.unwrap_or(0).max(1));
                let (length, hash_ids) = self.reshaped_row(position, length, hash_ids)?;
                Turn::text(self.blocks.text(length, &hash_ids, row))
            }
            Content::Messages { messages, tools } => Turn {
                raw_messages: Some(fields::list("messages", messages)?),
                raw_tools: tools.map(|tools| fields::list("tools", tools)).transpose()?,
                ..Turn::default()
            },
            // A raw payload stays as it is.
            Content::Payload(payload) => {
                return Ok(Turn { raw_payload: Some(fields::object("payload", payload)?), ..Turn::default() });
            }
            Content::Hinted { prompt, hash_ids, block_size } => {
                let mut hints = Map::new();
                if let Some(tokens) = max_tokens.filter(|_| plan.baseten.min_tokens) {
                    hints.insert("min_tokens".into(), tokens.into());
                }
                if plan.baseten.kv_hints {
                    if let Some(hash_ids) = hash_ids {
                        hints.insert("hash_ids".into(), Value::Array(fields::list("total_hashes", hash_ids)?));
                    }
                    let size = plan.block_size.or(block_size);
                    hints.extend(size.map(|size| ("block_size".to_owned(), size.into())));
                }
                extra = Some(hints).filter(|hints| !hints.is_empty());
                Turn::text(prompt)
            }
        };
        Ok(Turn { max_tokens, extra_body: extra, ..turn })
    }

    fn reshaped_row(&self, position: usize, length: u64, ids: Vec<HashId>) -> Result<(u64, Vec<HashId>), String> {
        let Some(Reshaped { reshaping, made_before }) = &self.reshaped else { return Ok((length, ids)) };
        let tree = self.trees.at(self.places[position].offset).random_range(0..self.plan.synthesis.prefix_roots.max(1));
        let made = reshaping.reshape(made_before[position], length, &ids, tree)?;
        Ok((made.input_length.max(1), made.hash_ids))
    }

    fn name(&self, index: usize, own: Option<String>) -> String {
        let name = self.sessions.roots.get(index).map(i64::to_string).or(own);
        let name = name.unwrap_or_else(|| self.ids.id(u64::from(self.sessions.unnamed[index])));
        self.sessions.parts.get(index).map(|part| format!("{name}#{part}")).unwrap_or(name)
    }
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace").field("plan", &self.plan).field("rows", &self.places.len()).finish_non_exhaustive()
    }
}

impl Source for Trace {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        let rows = self.rows_of(index);
        let (mut turns, mut own_name, mut is_whole) = (Vec::with_capacity(rows.len()), None, false);
        for (number, position) in rows.enumerate() {
            let place = self.places[position];
            let text = self.file.row(place)?;
            let mut entry = self.entry(place, &text)?;
            if let Session::Named(name) = std::mem::replace(&mut entry.session, Session::Alone) {
                own_name = own_name.or(Some(name.into_owned()));
            }
            is_whole |= entry.content.mode().is_whole();
            let turn = self.turn(position, entry).map_err(|fault| self.fault(place, fault))?;
            let shape = self.shapes.turn(index as u32, number as u32);
            let delay_ms = shape.delay.map(|delay| delay.0 as f64 / 1e6);
            turns.push(Turn { delay_ms, timestamp_ms: shape.timestamp_ms, ..turn });
        }
        let is_whole = is_whole || (self.plan.format == TraceFormat::Baseten && turns.len() > 1);
        Ok(Cow::Owned(Conversation {
            session_id: self.name(index, own_name),
            turns,
            context_mode: is_whole.then_some(ContextMode::MessageArrayWithResponses),
            ..Conversation::default()
        }))
    }

    fn place(&self, index: usize, turn: usize) -> Option<String> {
        let position = self.rows_of(index).nth(turn)?;
        Some(self.file.at(self.places[position].offset))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn secrets(&self) -> Option<&RowSecrets> {
        Some(&self.secrets)
    }
}

/// Refuses a session whose rows have different forms; returns the row.
fn check_modes(rows: &Rows, sessions: &Sessions) -> Result<(), (u32, String)> {
    for session in 0..sessions.ends.len() {
        let of_one = sessions.rows(session);
        let mode = rows.modes[of_one[0] as usize];
        for row in of_one {
            mode.check_same(rows.modes[*row as usize]).map_err(|fault| (*row, fault))?;
        }
    }
    Ok(())
}
