//! `random_pool`: one entry per line, from which requests are drawn.
//!
//! For each conversation, one row is drawn from each pool, and their contents are sent together. With batch sizes,
//! there is one pool, and contents are drawn from all of its rows. A draw is a function of the seed, the pool or kind,
//! and the number of the conversation.

use std::borrow::Cow;
use std::sync::Arc;

use aiperf_plan::draw::Purpose;
use aiperf_plan::{BatchSizes, FileFormat, FilePlan};
use aiperf_types::{Conversation, Media, Shapes, Turn};
use rand::RngExt;

use super::contents::Contents;
use super::fault::Fault;
use super::layout::Layout;
use super::media::MediaKind;
use super::notes::Ignored;
use super::room::{FEWER, Room};
use super::row::{Encode, Row};
use super::text::Text;
use super::{
    Folder, Format, OutputLengths, ReadRow, RowSpan, may_be_row, media_folder, place_of, single_turn, texts, wav,
};
use crate::error::DatasetError;
use crate::session_id::SessionIds;
use crate::source::{Making, Source};

pub(super) const FORMAT: Format = Format {
    name: FileFormat::RandomPool.name(),
    example: r#"{"text": "hello"}"#,
    layout: Layout::Lines,
    folder: Folder::PoolAFile,
    context_mode: |_| None,
    hoists_system: false,
    unique_names: false,
    relative_times: false,
    read,
};

/// Conversations to draw if the plan sets no number.
const ENTRIES: u64 = 100;

fn read(mut row: Row, encode: Encode<'_>) -> Result<ReadRow, Fault> {
    row.check_type(FORMAT.name)?;
    let turn = single_turn::read_contents(&mut row, encode)?;
    Ok(ReadRow { turns: vec![turn], ignored: row.rest(), ..ReadRow::default() })
}

/// Rows to draw from.
#[derive(Debug)]
struct Pool {
    name: String,
    places: Vec<RowSpan>,
    draws: Purpose,
}

/// Contents of one kind, each by its row and its number within the row.
#[derive(Debug)]
struct Batch {
    kind: MediaKind,
    size: u32,
    contents: Vec<(u32, u32)>,
    draws: Purpose,
}

/// Conversations drawn from pools, by index.
#[derive(Debug)]
pub(super) struct Pools {
    texts: Vec<Text>,
    pools: Vec<Pool>,
    /// With batches, the contents of each kind; otherwise one row is drawn from each pool.
    batches: Option<Vec<Batch>>,
    contents: Contents,
    lengths: OutputLengths,
    ids: SessionIds,
    shapes: Arc<Shapes>,
    notes: Vec<String>,
}

impl Pools {
    pub(super) fn open(plan: &FilePlan, making: Making<'_>) -> Result<Self, DatasetError> {
        let Making { draws, room, progress, media, .. } = making;
        let entries = plan.entries.unwrap_or(ENTRIES);
        if entries == 0 {
            return Err(DatasetError::NoEntries);
        }
        let refused = |fault: String| DatasetError::of_file(&place_of(&plan.source), fault);
        let shapes = u32::try_from(entries).map(Shapes::single).map_err(|_| {
            refused(format!("at most {} entries are drawn\n  try: fewer --num-dataset-entries", u32::MAX))
        })?;
        let mut room = Room::new(room);
        let (texts, no_files) = texts(&plan.source, &FORMAT, &mut room)?;
        let mut contents = Contents::new(media_folder(&plan.source), plan.inline_images.is_some());
        let (mut pools, mut held, mut ignored) = (Vec::new(), Held::default(), Ignored::default());
        for (file, text) in texts.iter().enumerate() {
            let mut places = Vec::new();
            for (line, range) in text.rows() {
                let at_fault = |fault: Fault| DatasetError::of_file(&text.at(line), fault.0);
                let mut bytes = range.len() as u64;
                may_be_row(bytes).map_err(at_fault)?;
                let row = Row::read(text.slice(range.clone()), &FORMAT).map_err(at_fault)?;
                let read = read(row, &mut |kind, content| {
                    bytes += contents.admit(kind, content, &|| text.at(line), &mut room)?;
                    Ok(String::new())
                });
                let ReadRow { turns, ignored: members, .. } = read.map_err(at_fault)?;
                room.can_make(bytes).map_err(at_fault)?;
                ignored.add(members, || text.at(line));
                let added = held.add(&turns[0], places.len() as u32);
                let kept = 2 * (size_of::<RowSpan>() + added * size_of::<(u32, u32)>()) as u64;
                room.take(kept, "another row", FEWER).map_err(at_fault)?;
                places.push(RowSpan { file: file as u32, line, start: range.start, end: range.end });
                progress();
            }
            if places.is_empty() {
                let fault = format!("has no rows\n  try: a line for each entry, as in {}", FORMAT.example);
                return Err(DatasetError::of_file(text.path(), fault));
            }
            let draws = draws.purpose(&format!("dataset.random_pool.{file}"));
            pools.push(Pool { name: text.pool_name(), places, draws });
        }
        if pools.is_empty() {
            return Err(refused("has no pools\n  try: a list of entries".into()));
        }
        contents.fetch(media, &mut room)?;
        let batches =
            held.batches(plan.batches, pools.len(), &|kind| draws.purpose(&format!("dataset.random_pool.{kind:?}")));
        let batches = batches.map_err(refused)?;
        Ok(Self {
            texts,
            pools,
            batches,
            contents,
            lengths: OutputLengths::new(plan, draws),
            ids: SessionIds::new(draws),
            shapes: Arc::new(shapes),
            notes: no_files.into_iter().chain(ignored.note()).collect(),
        })
    }

    fn row(&self, place: &RowSpan) -> Result<Turn, DatasetError> {
        let text = &self.texts[place.file as usize];
        let row = Row::read(text.slice(place.start..place.end), &FORMAT);
        let read = row.and_then(|row| read(row, &mut |kind, content| self.contents.encoded(kind, content)));
        let mut read = read.map_err(|fault| DatasetError::of_file(&text.at(place.line), fault.0))?;
        Ok(read.turns.pop().unwrap_or_default())
    }

    /// The contents of one row of each pool, in one turn.
    fn merged(&self, index: u64) -> Result<Turn, DatasetError> {
        let mut turn = Turn::default();
        for pool in &self.pools {
            let mut drawn = self.row(pool.drawn(index))?;
            for (all, of_row) in kinds_mut(&mut turn).into_iter().zip(kinds_mut(&mut drawn)) {
                // Media with a name keep it.
                of_row
                    .iter_mut()
                    .filter(|media| media.name.is_empty())
                    .for_each(|media| media.name.clone_from(&pool.name));
                all.append(of_row);
            }
        }
        Ok(turn)
    }

    /// Contents of each kind, as many as the batch size.
    fn drawn(&self, batches: &[Batch], index: u64) -> Result<Turn, DatasetError> {
        let mut turn = Turn::default();
        for batch in batches {
            let mut draws = batch.draws.at(index);
            let mut contents = Vec::with_capacity(batch.size as usize);
            for _ in 0..batch.size {
                let (row, number) = batch.contents[draws.random_range(0..batch.contents.len())];
                let mut drawn = self.row(&self.pools[0].places[row as usize])?;
                let media = std::mem::take(of_kind(&mut drawn, batch.kind));
                contents.extend(media.into_iter().flat_map(|media| media.contents).nth(number as usize));
            }
            *of_kind(&mut turn, batch.kind) = vec![Media { name: String::new(), contents, uuids: Vec::new() }];
        }
        Ok(turn)
    }
}

impl Pool {
    fn drawn(&self, index: u64) -> &RowSpan {
        &self.places[self.draws.at(index).random_range(0..self.places.len())]
    }
}

impl Source for Pools {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        let index = index as u64;
        let mut turn = match &self.batches {
            Some(batches) => self.drawn(batches, index)?,
            None => self.merged(index)?,
        };
        let audio = turn.audios.first().and_then(|audio| audio.contents.first());
        turn.audio_duration_seconds = audio.and_then(|audio| wav::seconds(audio));
        let mut turns = vec![turn];
        self.lengths.fill(&mut turns, index);
        Ok(Cow::Owned(Conversation { session_id: self.ids.id(index), turns, ..Conversation::default() }))
    }

    fn place(&self, index: usize, _turn: usize) -> Option<String> {
        let place = self.batches.is_none().then(|| self.pools[0].drawn(index as u64))?;
        Some(self.texts[place.file as usize].at(place.line))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// The contents of the rows of all pools, by kind.
#[derive(Default)]
struct Held {
    by_kind: [Vec<(u32, u32)>; 4],
    has_names: bool,
}

impl Held {
    /// Adds the contents of a row; returns how many they are.
    fn add(&mut self, turn: &Turn, row: u32) -> usize {
        let mut added = 0;
        for (held, media) in self.by_kind.iter_mut().zip([&turn.texts, &turn.images, &turn.audios, &turn.videos]) {
            self.has_names |= media.iter().any(|media| !media.name.is_empty() || !media.uuids.is_empty());
            let contents = media.iter().map(|media| media.contents.len()).sum::<usize>();
            held.extend((0..contents as u32).map(|number| (row, number)));
            added += contents;
        }
        added
    }

    /// The batches to draw; `None` if every kind that occurs has a batch size of one.
    fn batches(
        self,
        sizes: BatchSizes,
        pools: usize,
        draws: &dyn Fn(MediaKind) -> Purpose,
    ) -> Result<Option<Vec<Batch>>, String> {
        let kinds = [
            (MediaKind::Text, sizes.texts),
            (MediaKind::Image, sizes.images),
            (MediaKind::Audio, sizes.audios),
            (MediaKind::Video, sizes.videos),
        ];
        let there: Vec<_> = kinds.into_iter().zip(self.by_kind).filter(|(_, held)| !held.is_empty()).collect();
        if there.iter().all(|((_, size), _)| *size == 1) {
            return Ok(None);
        }
        if pools > 1 {
            return Err(format!(
                "has {pools} pools, and batches are drawn from one\n  try: one file, or leave the batch sizes out"
            ));
        }
        if self.has_names {
            return Err(
                "has contents with names or ids, which batches would lose\n  try: contents without names, or leave \
                        the batch sizes out"
                    .into(),
            );
        }
        let batch = |((kind, size), contents): ((MediaKind, u32), Vec<(u32, u32)>)| {
            (size > 0).then(|| Batch { kind, size, contents, draws: draws(kind) })
        };
        let batches: Vec<Batch> = there.into_iter().filter_map(batch).collect();
        if batches.is_empty() {
            return Err(
                "has only kinds of contents whose batch size is 0, so requests would be empty\n  try: a batch \
                        size of 1 or more for one of them"
                    .into(),
            );
        }
        Ok(Some(batches))
    }
}

fn kinds_mut(turn: &mut Turn) -> [&mut Vec<Media>; 4] {
    [&mut turn.texts, &mut turn.images, &mut turn.audios, &mut turn.videos]
}

fn of_kind(turn: &mut Turn, kind: MediaKind) -> &mut Vec<Media> {
    match kind {
        MediaKind::Text => &mut turn.texts,
        MediaKind::Image => &mut turn.images,
        MediaKind::Audio => &mut turn.audios,
        MediaKind::Video => &mut turn.videos,
    }
}
