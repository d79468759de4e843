//! Notes on the rows of a trace: the position of each, and what decides whether it is sent, when, and with which
//! others.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aiperf_plan::redact::RowSecrets;
use aiperf_plan::{Synthesis, TimestampWindow, TracePlan};

use super::entry::{Chat, Content, Entry, Mode, Session};
use super::row_file::{RowFile, RowPosition};
use super::{Format, Layout, blocks};
use crate::error::DatasetError;

/// Rows in the order of their file, with one list per property. There may be many millions of rows, and a list that is
/// no longer needed is freed. A list is empty if no row has the property.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) places: Vec<RowPosition>,
    pub(super) modes: Vec<Mode>,
    /// NaN means none.
    pub(super) times_ms: Vec<f64>,
    /// Hashes of session ids; 0 means none.
    pub(super) sessions: Vec<u64>,
    /// NaN means none.
    pub(super) delays_ms: Vec<f64>,
    pub(super) durations_ms: Vec<f64>,
    pub(super) chats: Vec<Chat>,
    /// Only if rows are selected by them.
    pub(super) input_tokens: Vec<u32>,
    pub(super) counts: Counts,
    pub(super) secrets: RowSecrets,
}

/// What to check and note.
#[derive(Clone, Copy)]
pub(super) struct Noting {
    /// Tokens per hash id, if the number of ids must match the lengths of rows.
    pub(super) block_size: Option<u64>,
    pub(super) input_tokens: bool,
}

/// Counts of rows that the user should know about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Rows without valid numbers, and the first byte of the first one.
    pub(super) unreadable: u64,
    pub(super) first_unreadable: Option<u64>,
    /// Rows that request 0 output tokens, or have 0 input tokens.
    pub(super) without_output: u64,
    pub(super) without_input: u64,
    pub(super) outside: u64,
    pub(super) too_long: u64,
}

impl Rows {
    /// Reads the whole file, reports each row to the progress callback, and returns the digest of its bytes.
    pub(super) fn scan(
        file: &RowFile,
        format: &Format,
        layout: &Layout,
        noting: Noting,
        progress: &(dyn Fn() + Sync),
    ) -> Result<(Self, [u8; 32]), DatasetError> {
        let (pieces, digest) = file.scan(|rows: &mut Self, place, text| {
            progress();
            match (format.read)(layout, text)? {
                Some(entry) => rows.add(place, &entry, noting),
                None => {
                    rows.counts.unreadable += 1;
                    rows.counts.first_unreadable.get_or_insert(place.offset);
                    Ok(())
                }
            }
        })?;
        let count = pieces.iter().map(|piece| piece.places.len()).sum();
        let mut all = Self::default();
        all.places.reserve_exact(count);
        all.modes.reserve_exact(count);
        all.times_ms.reserve_exact(count);
        for piece in pieces {
            all.append(piece, count);
        }
        Ok((all, digest))
    }

    fn add(&mut self, place: RowPosition, entry: &Entry<'_>, noting: Noting) -> Result<(), String> {
        let tokens = entry.input_tokens.unwrap_or(0);
        if let (Content::Made { hash_ids }, Some(size)) = (&entry.content, noting.block_size) {
            blocks::check_row(entry.input_tokens, hash_ids, size)?;
        }
        self.add_secrets(entry);
        let is_made = matches!(entry.content, Content::Made { .. });
        self.counts.without_input += u64::from(is_made && tokens == 0);
        self.counts.without_output += u64::from(entry.output_tokens == Some(0));
        let row = self.places.len();
        let session = match &entry.session {
            Session::Named(name) => Some(hashed(&**name)),
            Session::Reply(chat) => {
                self.chats.push(*chat);
                None
            }
            Session::Alone => None,
        };
        note(&mut self.sessions, row, session, 0);
        note(&mut self.delays_ms, row, entry.delay_ms, f64::NAN);
        note(&mut self.durations_ms, row, entry.duration_ms, f64::NAN);
        note(&mut self.input_tokens, row, noting.input_tokens.then_some(tokens), 0);
        self.places.push(place);
        self.modes.push(entry.content.mode());
        self.times_ms.push(entry.timestamp_ms.unwrap_or(f64::NAN));
        Ok(())
    }

    /// Adds the secrets of a row that has members of its own. A row that is invalid is refused when it is sent.
    fn add_secrets(&mut self, entry: &Entry<'_>) {
        if let Some(Ok(extra)) = entry.extra.map(|extra| serde_json::from_str(extra.get())) {
            self.secrets.add_members(&extra);
        }
        let bodies = match &entry.content {
            Content::Messages { messages, tools } => [Some(*messages), *tools],
            Content::Payload(payload) => [Some(*payload), None],
            Content::Made { .. } | Content::Text(_) | Content::Hinted { .. } => [None, None],
        };
        bodies.into_iter().flatten().for_each(|body| self.secrets.add_body(body.get().as_bytes()));
    }

    /// Appends the rows of the next piece; `count` is the number of rows in all pieces.
    fn append(&mut self, next: Self, count: usize) {
        let rows = self.places.len();
        join(&mut self.sessions, next.sessions, rows, count, 0);
        join(&mut self.delays_ms, next.delays_ms, rows, count, f64::NAN);
        join(&mut self.durations_ms, next.durations_ms, rows, count, f64::NAN);
        join(&mut self.input_tokens, next.input_tokens, rows, count, 0);
        self.places.extend(next.places);
        self.modes.extend(next.modes);
        self.times_ms.extend(next.times_ms);
        self.chats.extend(next.chats);
        let (mine, theirs) = (&mut self.counts, next.counts);
        mine.unreadable += theirs.unreadable;
        mine.first_unreadable = mine.first_unreadable.or(theirs.first_unreadable);
        mine.without_output += theirs.without_output;
        mine.without_input += theirs.without_input;
        self.secrets.add_rows(&next.secrets);
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The hash of a row's session id, if it has one.
    pub(super) fn session(&self, row: usize) -> Option<u64> {
        self.sessions.get(row).copied().filter(|session| *session != 0)
    }

    pub(super) fn delay_ms(&self, row: usize) -> Option<f64> {
        self.delays_ms.get(row).copied().filter(|delay| !delay.is_nan())
    }

    pub(super) fn duration_ms(&self, row: usize) -> Option<f64> {
        self.durations_ms.get(row).copied().filter(|duration| !duration.is_nan())
    }

    pub(super) fn time_ms(&self, row: usize) -> Option<f64> {
        let time = self.times_ms[row];
        (!time.is_nan()).then_some(time)
    }

    /// Drops all timestamps.
    pub(super) fn forget_times(&mut self) {
        self.times_ms.fill(f64::NAN);
        self.delays_ms = Vec::new();
    }

    /// Leaves out rows by time and length. A row without a time follows the one before it in its session after a delay,
    /// so it is sent if that one is.
    pub(super) fn select(&mut self, window: &TimestampWindow, synthesis: &Synthesis) {
        let is_bounded = window.start_ms.is_some() || window.end_ms.is_some();
        let mut inside: HashMap<u64, bool> = HashMap::new();
        let mut counts = self.counts;
        let mut is_kept = |row: usize| {
            if is_bounded {
                let session = self.session(row);
                let before = session.and_then(|session| inside.get(&session).copied()).unwrap_or(true);
                let is_inside = self.time_ms(row).map_or(before, |time| window.contains(time));
                if let Some(session) = session {
                    inside.insert(session, is_inside);
                }
                if !is_inside {
                    counts.outside += 1;
                    return false;
                }
            }
            let is_short = synthesis.max_isl.is_none_or(|most| self.input_tokens[row] <= most);
            counts.too_long += u64::from(!is_short);
            is_short
        };
        if is_bounded || synthesis.max_isl.is_some() {
            let kept: Vec<bool> = (0..self.len()).map(&mut is_kept).collect();
            self.counts = counts;
            self.keep(&kept);
        }
        self.input_tokens = Vec::new();
    }

    /// Keeps the rows whose flag is true.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        fn only<T>(list: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            list.retain(|_| kept.next().copied().unwrap_or(true));
        }
        only(&mut self.places, kept);
        only(&mut self.modes, kept);
        only(&mut self.times_ms, kept);
        only(&mut self.sessions, kept);
        only(&mut self.delays_ms, kept);
        only(&mut self.durations_ms, kept);
        only(&mut self.chats, kept);
        only(&mut self.input_tokens, kept);
    }
}

/// Notes a value of a row in a list that may be empty so far.
fn note<T: Copy>(list: &mut Vec<T>, row: usize, value: Option<T>, none: T) {
    if let Some(value) = value {
        list.resize(row, none);
        list.push(value);
    }
}

/// Appends such a list to that of the rows before.
fn join<T: Copy>(list: &mut Vec<T>, next: Vec<T>, rows: usize, count: usize, none: T) {
    if !next.is_empty() {
        list.reserve_exact(count - list.len());
        list.resize(rows, none);
        list.extend(next);
    }
}

/// A hash that is never 0.
fn hashed(name: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish().max(1)
}

impl Counts {
    /// Notes on rows that were left out or changed, one line each.
    pub(super) fn notes(&self, file: &RowFile, plan: &TracePlan) -> Vec<String> {
        let path = plan.path.display();
        let mut notes = Vec::new();
        let mut note = |count: u64, what: String| {
            if count > 0 {
                notes.push(format!("{path}: {what}: {count}"));
            }
        };
        if let Some(first) = self.first_unreadable {
            note(
                self.unreadable,
                format!("rows left out because their numbers are invalid, the first at {}", file.at(first)),
            );
        }
        note(self.outside, "rows left out because of their timestamps".into());
        if let Some(most) = plan.synthesis.max_isl {
            note(self.too_long, format!("rows left out because they have more than {most} input tokens"));
        }
        note(self.without_output, "rows with a response of 0 tokens, which request 1".into());
        note(self.without_input, "rows of 0 input tokens, which get 1".into());
        notes
    }
}
