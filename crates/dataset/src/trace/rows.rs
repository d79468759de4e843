//! What is noted of the rows of a trace: where each stands, and what decides whether it is sent, when, and with which others.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU64;

use aiperf_plan::{Synthesis, TimestampWindow, TracePlan};

use super::entry::{Chat, Content, Entry, Mode, Session};
use super::row_file::{Place, RowFile};
use super::{Format, Layout, blocks};
use crate::error::DatasetError;

/// What is noted of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Note {
    pub(super) place: Place,
    pub(super) mode: Mode,
    /// What its session is called, hashed; `None` of one that has none.
    pub(super) session: Option<NonZeroU64>,
    /// NaN is none.
    pub(super) time_ms: f64,
    pub(super) input_tokens: u32,
}

/// Rows in the order of their file. Lists of what few formats have are empty for all others.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) notes: Vec<Note>,
    /// NaN is none.
    pub(super) delays_ms: Vec<f64>,
    pub(super) durations_ms: Vec<f64>,
    pub(super) chats: Vec<Chat>,
    pub(super) counts: Counts,
}

/// Rows of which a user should know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Those that say nothing that can be sent, and the first byte of the first.
    pub(super) unreadable: u64,
    pub(super) first_unreadable: Option<u64>,
    /// Those that ask for 0 tokens of output, or have as many of input.
    pub(super) without_output: u64,
    pub(super) without_input: u64,
    pub(super) outside: u64,
    pub(super) too_long: u64,
}

impl Rows {
    /// Reads all of a file, telling of each row, and gives the digest of its bytes.
    pub(super) fn scan(
        file: &RowFile,
        format: &Format,
        layout: &Layout,
        block_size: Option<u64>,
        progress: &(dyn Fn() + Sync),
    ) -> Result<(Self, [u8; 32]), DatasetError> {
        let (pieces, digest) = file.scan(|rows: &mut Self, place, text| {
            progress();
            match (format.read)(layout, text)? {
                Some(entry) => rows.add(place, &entry, block_size),
                None => {
                    rows.counts.unreadable += 1;
                    rows.counts.first_unreadable.get_or_insert(place.offset);
                    Ok(())
                }
            }
        })?;
        // There may be many millions: a list that doubles would need half as much again.
        let mut all = Self::default();
        all.notes.reserve_exact(pieces.iter().map(|piece| piece.notes.len()).sum());
        Ok((pieces.into_iter().fold(all, Self::and), digest))
    }

    fn add(&mut self, place: Place, entry: &Entry<'_>, block_size: Option<u64>) -> Result<(), String> {
        let tokens = entry.input_tokens.unwrap_or(0);
        if let (Content::Made { hash_ids }, Some(size)) = (&entry.content, block_size) {
            blocks::check(u64::from(tokens.max(1)), hash_ids.len(), size)?;
        }
        let is_made = matches!(entry.content, Content::Made { .. });
        self.counts.without_input += u64::from(is_made && tokens == 0);
        self.counts.without_output += u64::from(entry.output_tokens == Some(0));
        if let Some(delay) = entry.delay_ms {
            self.delays_ms.resize(self.notes.len(), f64::NAN);
            self.delays_ms.push(delay);
        }
        if let Some(duration) = entry.duration_ms {
            self.durations_ms.resize(self.notes.len(), f64::NAN);
            self.durations_ms.push(duration);
        }
        let session = match &entry.session {
            Session::Named(name) => hashed(&**name),
            Session::Reply(chat) => {
                self.chats.push(*chat);
                None
            }
            Session::Alone => None,
        };
        let time_ms = entry.timestamp_ms.unwrap_or(f64::NAN);
        self.notes.push(Note { place, mode: entry.content.mode(), session, time_ms, input_tokens: tokens });
        Ok(())
    }

    /// Those of the next piece behind these.
    fn and(mut self, mut next: Self) -> Self {
        for (mine, theirs) in
            [(&mut self.delays_ms, &mut next.delays_ms), (&mut self.durations_ms, &mut next.durations_ms)]
        {
            if !theirs.is_empty() {
                mine.resize(self.notes.len(), f64::NAN);
                mine.append(theirs);
            }
        }
        self.notes.append(&mut next.notes);
        self.chats.append(&mut next.chats);
        let (mine, theirs) = (&mut self.counts, next.counts);
        mine.unreadable += theirs.unreadable;
        mine.first_unreadable = mine.first_unreadable.or(theirs.first_unreadable);
        mine.without_output += theirs.without_output;
        mine.without_input += theirs.without_input;
        self
    }

    pub(super) fn delay_ms(&self, row: usize) -> Option<f64> {
        self.delays_ms.get(row).copied().filter(|delay| !delay.is_nan())
    }

    pub(super) fn duration_ms(&self, row: usize) -> Option<f64> {
        self.durations_ms.get(row).copied().filter(|duration| !duration.is_nan())
    }

    pub(super) fn time_ms(&self, row: usize) -> Option<f64> {
        let time = self.notes[row].time_ms;
        (!time.is_nan()).then_some(time)
    }

    /// Forgets when rows were sent.
    pub(super) fn forget_times(&mut self) {
        self.notes.iter_mut().for_each(|note| note.time_ms = f64::NAN);
        self.delays_ms = Vec::new();
    }

    /// Leaves rows out by their time and length. One without a time goes with the one before it in its session, which it
    /// follows after a delay.
    pub(super) fn select(&mut self, window: &TimestampWindow, synthesis: &Synthesis) {
        let is_bounded = window.start_ms.is_some() || window.end_ms.is_some();
        let mut inside: HashMap<NonZeroU64, bool> = HashMap::new();
        let mut counts = self.counts;
        let mut is_kept = |note: &Note| {
            if is_bounded {
                let before = note.session.and_then(|session| inside.get(&session).copied()).unwrap_or(true);
                let is_inside = if note.time_ms.is_nan() { before } else { window.contains(note.time_ms) };
                if let Some(session) = note.session {
                    inside.insert(session, is_inside);
                }
                if !is_inside {
                    counts.outside += 1;
                    return false;
                }
            }
            let is_short = synthesis.max_isl.is_none_or(|most| note.input_tokens <= most);
            counts.too_long += u64::from(!is_short);
            is_short
        };
        if is_bounded || synthesis.max_isl.is_some() {
            let kept: Vec<bool> = self.notes.iter().map(&mut is_kept).collect();
            self.counts = counts;
            self.keep(&kept);
        }
    }

    /// Keeps rows of which it is said.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        fn only<T>(list: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            list.retain(|_| kept.next().copied().unwrap_or(true));
        }
        only(&mut self.notes, kept);
        only(&mut self.delays_ms, kept);
        only(&mut self.durations_ms, kept);
        only(&mut self.chats, kept);
    }
}

fn hashed(name: impl Hash) -> Option<NonZeroU64> {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    NonZeroU64::new(hasher.finish().max(1))
}

impl Counts {
    /// What was left out or changed, a line each.
    pub(super) fn told(&self, file: &RowFile, plan: &TracePlan) -> Vec<String> {
        let path = plan.path.display();
        let mut told = Vec::new();
        let mut tell = |count: u64, what: String| {
            if count > 0 {
                told.push(format!("{path}: {what}: {count}"));
            }
        };
        if let Some(first) = self.first_unreadable {
            tell(
                self.unreadable,
                format!("rows left out because their numbers are none, the first at {}", file.at(first)),
            );
        }
        tell(self.outside, "rows left out because of their timestamps".into());
        if let Some(most) = plan.synthesis.max_isl {
            tell(self.too_long, format!("rows left out because they have more than {most} input tokens"));
        }
        tell(self.without_output, "rows that were answered by 0 tokens, and ask for 1".into());
        tell(self.without_input, "rows of 0 input tokens, which get 1".into());
        told
    }
}
