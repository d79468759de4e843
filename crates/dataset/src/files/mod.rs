//! Conversations from files: one file per format, one arm of [`format`].
//!
//! The text of a file stays in memory as it is, with the position of each row in it, and a row is parsed again whenever
//! its conversation is needed. So a dataset takes the memory of its file, whatever its rows contain. Every row is
//! parsed once before anything is sent. A row that cannot be parsed ends the run, and so does a file that does not fit
//! into memory.

mod contents;
mod fault;
mod folder;
mod inputs_json;
mod layout;
mod media;
mod multi_turn;
mod notes;
mod random_pool;
mod raw_payload;
mod room;
mod row;
mod sagemaker;
mod selection;
mod single_turn;
mod speed_bench;
mod text;
mod wav;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aiperf_plan::draw::Purpose;
use aiperf_plan::redact::RowSecrets;
use aiperf_plan::{Distribution, Draws, FileFormat, FilePlan, FileSource, RecordList};
use aiperf_types::{ContextMode, Conversation, ShapeList, Shapes, Turn};

use self::contents::Contents;
use self::fault::Fault;
use self::folder::files_of;
use self::layout::Layout;
pub(crate) use self::media::shown;
use self::notes::{Ignored, LeftOut};
use self::random_pool::Pools;
use self::room::{FEWER, Room, size};
use self::row::{Encode, Row};
use self::selection::{Selection, TurnNote};
use self::text::Text;
pub(crate) use self::wav::seconds as wav_seconds;
use crate::error::DatasetError;
use crate::length;
use crate::long_delays::LongDelays;
use crate::session_id::SessionIds;
use crate::source::{LARGEST_REQUEST, Making, Source};

/// One format of rows, and how they are read.
#[derive(Debug)]
struct Format {
    /// The name in messages.
    name: &'static str,
    /// An example of a row, for messages.
    example: &'static str,
    layout: Layout,
    folder: Folder,
    /// The context mode of a conversation with this many turns; `None` is the default mode.
    context_mode: fn(usize) -> Option<ContextMode>,
    /// Whether a leading system turn may become the system message of its conversation.
    hoists_system: bool,
    /// Whether two rows with the same id are an error; otherwise they are one conversation.
    unique_names: bool,
    /// Whether timestamps count from the first of them, and conversations are ordered by them.
    relative_times: bool,
    read: fn(Row, Encode<'_>) -> Result<ReadRow, Fault>,
}

/// What a folder of this format contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Folder {
    Refused,
    /// Every `*.jsonl` in the folder is a conversation.
    ConversationAFile,
    /// Every file in the folder is a pool.
    PoolAFile,
    /// Every `*.jsonl` in the folder and its subfolders, all as one file.
    AllFiles,
}

const fn format(of: FileFormat) -> &'static Format {
    match of {
        FileFormat::SingleTurn => &single_turn::FORMAT,
        FileFormat::MultiTurn => &multi_turn::FORMAT,
        FileFormat::RandomPool => &random_pool::FORMAT,
        FileFormat::RawPayload => &raw_payload::FORMAT,
        FileFormat::InputsJson => &inputs_json::FORMAT,
        FileFormat::SagemakerDataCapture => &sagemaker::FORMAT,
        FileFormat::SpeedBench(_) => &speed_bench::FORMAT,
    }
}

/// Reads and checks the rows of a plan.
pub(crate) fn source(plan: &FilePlan, making: Making<'_>) -> Result<Box<dyn Source>, DatasetError> {
    match plan.format {
        FileFormat::RandomPool => Ok(Box::new(Pools::open(plan, making)?)),
        _ => Ok(Box::new(Files::open(plan, making)?)),
    }
}

/// The content of a row.
#[derive(Debug, Default)]
struct ReadRow {
    /// Rows with the same id are turns of one conversation.
    session_id: Option<String>,
    turns: Vec<Turn>,
    /// Members of the row that the format does not use.
    ignored: Vec<String>,
    /// The category, in formats that can be filtered by it.
    category: Option<String>,
    /// The number of input tokens, if the row has it.
    input_length: Option<u64>,
}

/// The texts of a plan, and a note on entries of the folder that are not files.
fn texts(source: &FileSource, format: &Format, room: &mut Room) -> Result<(Vec<Text>, Option<String>), DatasetError> {
    match source {
        FileSource::Path(path) => {
            let (paths, no_files) = files_of(path, format)?;
            let read = |path| Text::read(path, format.layout, room);
            Ok((paths.into_iter().map(read).collect::<Result<_, _>>()?, no_files))
        }
        FileSource::Records { place, lists } => {
            let text = |list: &RecordList| Text::of_records(place, &list.name, &list.rows, room);
            Ok((lists.iter().map(text).collect::<Result<_, _>>()?, None))
        }
    }
}

/// Where the files that rows name are searched, after the working directory.
fn media_folder(source: &FileSource) -> PathBuf {
    match source {
        FileSource::Path(path) => path.parent().unwrap_or(Path::new("")).to_owned(),
        FileSource::Records { .. } => PathBuf::new(),
    }
}

/// The location of all rows, for messages.
fn place_of(source: &FileSource) -> String {
    match source {
        FileSource::Path(path) => path.display().to_string(),
        FileSource::Records { place, .. } => format!("{place}: records"),
    }
}

/// Bytes that a row takes beside its text: its place, those of its conversation and its shape, and its turns, in lists
/// that grow by doubling. While rows are sorted, its place is stored once more, with its number and the next free
/// position.
const BYTES_A_ROW: u64 = (2 * (size_of::<RowSpan>() + size_of::<Rows>() + size_of::<RowNote>() + size_of::<usize>())
    + size_of::<RowSpan>()
    + size_of::<u32>()
    + size_of::<usize>()) as u64;
/// Bytes that each of its turns takes: its note, and its shape while that is still there.
const BYTES_A_TURN: u64 = 2 * (size_of::<TurnNote>() + size_of::<u64>() + size_of::<f64>()) as u64;
/// Bytes that an id takes beside its text. The table grows by doubling, is at most seven eighths full, and exists twice
/// while it grows: four times the entry in all.
const BYTES_A_NAME: u64 = 4 * size_of::<(String, u32)>() as u64;

/// The position of a row.
#[derive(Clone, Copy, Debug)]
struct RowSpan {
    file: u32,
    line: u32,
    start: usize,
    end: usize,
}

/// Notes on a row, until all rows are read.
#[derive(Clone, Copy, Debug)]
struct RowNote {
    conversation: u32,
    /// The end of its turns in the list of all turns.
    turns_end: usize,
}

/// Notes on all rows, in order.
#[derive(Default)]
struct Notes {
    rows: Vec<RowNote>,
    turns: Vec<TurnNote>,
    left_out: LeftOut,
}

impl Notes {
    fn turns_of(&self, row: usize) -> &[TurnNote] {
        let first = row.checked_sub(1).map_or(0, |before| self.rows[before].turns_end);
        &self.turns[first..self.rows[row].turns_end]
    }
}

/// The rows of a conversation, and its number among conversations without an id.
#[derive(Clone, Copy, Debug)]
struct Rows {
    first: usize,
    count: usize,
    unnamed: Option<u64>,
}

/// Conversations of files, by index.
#[derive(Debug)]
pub(crate) struct Files {
    format: &'static Format,
    texts: Vec<Text>,
    /// Ordered by conversation, then by line.
    places: Vec<RowSpan>,
    conversations: Vec<Rows>,
    shapes: Arc<Shapes>,
    selection: Selection,
    contents: Contents,
    lengths: OutputLengths,
    strips_images: bool,
    /// The zero of timestamps, in milliseconds.
    zero_ms: f64,
    ids: SessionIds,
    notes: Vec<String>,
    /// Those in extra members.
    secrets: RowSecrets,
}

impl Files {
    /// Reads and checks all rows, and reports each to the progress callback. Memory is limited by `making.room`.
    fn open(plan: &FilePlan, making: Making<'_>) -> Result<Self, DatasetError> {
        let Making { draws, room, progress: read, media, .. } = making;
        if plan.entries == Some(0) {
            return Err(DatasetError::NoEntries);
        }
        let mut room = Room::new(room);
        let format = format(plan.format);
        let (texts, no_files) = texts(&plan.source, format, &mut room)?;
        let mut files = Self {
            format,
            texts,
            places: Vec::new(),
            conversations: Vec::new(),
            shapes: Arc::new(Shapes::single(0)),
            selection: Selection::new(plan, format),
            contents: Contents::new(media_folder(&plan.source), plan.inline_images.is_some()),
            lengths: OutputLengths::new(plan, draws),
            strips_images: plan.strip_known_images,
            zero_ms: 0.0,
            ids: SessionIds::new(draws),
            notes: no_files.into_iter().collect(),
            secrets: RowSecrets::default(),
        };
        let is_folder = matches!(&plan.source, FileSource::Path(path) if path.is_dir());
        let a_file_each = is_folder && format.folder == Folder::ConversationAFile;
        let kept = RowFilter::new(plan);
        let mut notes = files.check_rows(a_file_each, &kept, &mut room, read)?;
        if notes.rows.is_empty() {
            let fault = notes
                .left_out
                .nothing_left(kept.category, kept.max_isl)
                .unwrap_or_else(|| format!("has no rows\n  try: a line for each request, as in {}", format.example));
            return Err(DatasetError::of_file(&place_of(&plan.source), fault));
        }
        files.contents.fetch(media, &mut room)?;
        if format.relative_times {
            let times = || notes.turns.iter().filter_map(TurnNote::timestamp_ms);
            files.zero_ms = times().fold(f64::INFINITY, f64::min);
            notes.turns.iter_mut().for_each(|turn| turn.move_back(files.zero_ms));
        }
        let order = files.group(&notes);
        let row_at = |position: usize| order.as_ref().map_or(position, |order| order[position] as usize);
        let turns_at = |position: usize| notes.turns_of(row_at(position));
        if format.relative_times {
            let time = |rows: &Rows| turns_at(rows.first).first().and_then(TurnNote::timestamp_ms).unwrap_or(0.0);
            files.conversations.sort_by(|one, other| time(one).total_cmp(&time(other)));
        }
        files.select(turns_at, a_file_each, plan.entries);
        if files.conversations.is_empty() {
            let fault = files.selection.nothing_left(&notes.turns);
            return Err(DatasetError::of_file(&place_of(&plan.source), fault));
        }
        files.notes.extend(notes.left_out.notes(kept.category, kept.max_isl));
        Ok(files)
    }

    /// Reads every row, and notes its conversation and what decides how its turns are sent.
    fn check_rows(
        &mut self,
        a_file_each: bool,
        kept: &RowFilter,
        room: &mut Room,
        read: impl Fn(),
    ) -> Result<Notes, DatasetError> {
        let mut notes = Notes::default();
        let mut by_name: HashMap<String, u32> = HashMap::new();
        let mut ignored = Ignored::default();
        for (file, text) in self.texts.iter().enumerate() {
            let mut of_file = None;
            for (line, range) in text.rows() {
                let place = RowSpan { file: file as u32, line, start: range.start, end: range.end };
                let at_fault = |fault: Fault| DatasetError::of_file(&text.at(line), fault.0);
                let mut bytes = range.len() as u64;
                may_be_row(bytes).and_then(|()| room.can_make(bytes)).map_err(at_fault)?;
                let row = Row::read(text.slice(range), self.format).map_err(at_fault)?;
                let contents = &mut self.contents;
                let read_row = (self.format.read)(row, &mut |kind, content| {
                    bytes += contents.admit(kind, content, &|| text.at(line), room)?;
                    Ok(String::new())
                });
                let read_row = read_row.map_err(at_fault)?;
                if !kept.keeps(&read_row, &mut notes.left_out) {
                    read();
                    continue;
                }
                let ReadRow { session_id, turns, ignored: members, .. } = read_row;
                room.can_make(bytes).map_err(at_fault)?;
                self.selection.check_delays(&turns).map_err(at_fault)?;
                ignored.add(members, || text.at(line));
                turns.iter().flat_map(|turn| &turn.extra_body).for_each(|extra| self.secrets.add_members(extra));
                let next = self.conversations.len() as u32;
                // Files without rows use up a number too. Other conversations get numbers when it is known which are
                // sent.
                let number = if a_file_each { file as u64 } else { 0 };
                let name_bytes = session_id.as_ref().map_or(0, |name| BYTES_A_NAME + name.len() as u64);
                let (conversation, unnamed) = match session_id {
                    _ if a_file_each => (*of_file.get_or_insert(next), Some(number)),
                    None => (next, Some(number)),
                    Some(name) => (*by_name.entry(name).or_insert(next), None),
                };
                let is_new_name = conversation == next && unnamed.is_none();
                if self.format.unique_names && unnamed.is_none() && !is_new_name {
                    return Err(at_fault(Fault("has the session_id of one before it\n  try: an id for each".into())));
                }
                if conversation == next {
                    self.conversations.push(Rows { first: 0, count: 0, unnamed });
                }
                let kept = BYTES_A_ROW + BYTES_A_TURN * turns.len() as u64 + if is_new_name { name_bytes } else { 0 };
                room.take(kept, "another row", FEWER).map_err(at_fault)?;
                self.conversations[conversation as usize].count += 1;
                notes.turns.extend(turns.iter().map(TurnNote::of));
                notes.rows.push(RowNote { conversation, turns_end: notes.turns.len() });
                self.places.push(place);
                read();
            }
        }
        self.notes.extend(ignored.note());
        Ok(notes)
    }

    /// Puts the rows of each conversation next to each other. Returns the old numbers of the rows, unless the order is
    /// unchanged.
    fn group(&mut self, notes: &Notes) -> Option<Vec<u32>> {
        let mut next = 0;
        for rows in &mut self.conversations {
            rows.first = next;
            next += rows.count;
        }
        // Most files have one conversation per row, already in order.
        if notes.rows.is_sorted_by_key(|row| row.conversation) {
            return None;
        }
        let mut free: Vec<usize> = self.conversations.iter().map(|rows| rows.first).collect();
        let mut order = vec![0; notes.rows.len()];
        for (number, row) in notes.rows.iter().enumerate() {
            let free = &mut free[row.conversation as usize];
            order[*free] = number as u32;
            *free += 1;
        }
        self.places = order.iter().map(|number| self.places[*number as usize]).collect();
        Some(order)
    }

    /// Removes conversations without turns to send, and those beyond the limit.
    fn select<'a>(&mut self, turns_at: impl Fn(usize) -> &'a [TurnNote], a_file_each: bool, entries: Option<u64>) {
        let most = entries.and_then(|entries| usize::try_from(entries).ok()).unwrap_or(usize::MAX);
        let (mut shapes, mut long) = (ShapeList::default(), LongDelays::default());
        let (mut left, mut unnamed, mut turns, mut outside) = (0, 0, Vec::new(), 0);
        for index in 0..self.conversations.len() {
            if left == most {
                break;
            }
            let mut rows = self.conversations[index];
            turns.clear();
            (rows.first..rows.first + rows.count).for_each(|position| turns.extend_from_slice(turns_at(position)));
            outside += self.selection.left_out(&turns);
            let mut sent = self.selection.shapes(&turns).peekable();
            if sent.peek().is_none() {
                continue;
            }
            shapes.push(sent.inspect(|turn| long.add(turn.delay, rows.first)));
            if let Some(number) = rows.unnamed.as_mut().filter(|_| !a_file_each) {
                *number = unnamed;
                unnamed += 1;
            }
            self.conversations[left] = rows;
            left += 1;
        }
        self.conversations.truncate(left);
        self.conversations.shrink_to_fit();
        self.shapes = Arc::new(shapes.into());
        let long = long.note(|position| self.at(&self.places[position])).filter(|_| !self.selection.caps_delays());
        self.notes.extend(long);
        if outside > 0 {
            self.notes.push(format!("turns outside the offsets of the fixed schedule are left out: {outside}"));
        }
    }

    /// A conversation, and the row of each of its turns.
    fn read_again(&self, index: usize, encode: Encode<'_>) -> Result<(Conversation, Vec<RowSpan>), DatasetError> {
        let rows = self.conversations[index];
        let mut session_id = rows.unnamed.map(|number| self.ids.id(number));
        let (mut turns, mut notes, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for place in &self.places[rows.first..rows.first + rows.count] {
            let text = self.texts[place.file as usize].slice(place.start..place.end);
            let row = Row::read(text, self.format)
                .and_then(|row| (self.format.read)(row, encode))
                .map_err(|fault| DatasetError::of_file(&self.at(place), fault.0))?;
            session_id = session_id.or(row.session_id);
            let mut row_turns = row.turns;
            for turn in &mut row_turns {
                turn.timestamp_ms = turn.timestamp_ms.map(|timestamp| timestamp - self.zero_ms);
            }
            notes.extend(row_turns.iter().map(TurnNote::of));
            places.resize(places.len() + row_turns.len(), *place);
            self.lengths.fill(&mut row_turns, u64::from(place.file) << 32 | u64::from(place.line));
            turns.append(&mut row_turns);
        }
        let system_message = self.selection.is_led_by_system(&notes).then(|| joined_texts(&turns[0]));
        let mut are_sent = self.selection.are_sent(&notes);
        turns.retain(|_| are_sent.next().unwrap_or(true));
        let mut are_sent = self.selection.are_sent(&notes);
        places.retain(|_| are_sent.next().unwrap_or(true));
        turns.iter_mut().for_each(|turn| turn.delay_ms = self.selection.delay_ms(turn.delay_ms));
        if self.strips_images {
            strip_known_images(&mut turns);
        }
        let conversation = Conversation {
            session_id: session_id.unwrap_or_default(),
            context_mode: (self.format.context_mode)(turns.len()),
            turns,
            system_message,
            ..Conversation::default()
        };
        Ok((conversation, places))
    }

    fn at(&self, place: &RowSpan) -> String {
        self.texts[place.file as usize].at(place.line)
    }
}

impl Source for Files {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    /// A conversation, parsed again. Its rows were valid before, and neither they nor the media have changed since. If
    /// one is invalid all the same, this is an error: there is no substitute.
    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        let (conversation, _) = self.read_again(index, &mut |kind, content| self.contents.encoded(kind, content))?;
        Ok(Cow::Owned(conversation))
    }

    /// Parses the rows again to find it.
    fn place(&self, index: usize, turn: usize) -> Option<String> {
        let first = self.places.get(self.conversations.get(index)?.first)?;
        let read = self.read_again(index, &mut |_, _| Ok(String::new()));
        let place = read.ok().and_then(|(_, places)| places.get(turn).or(places.last()).copied());
        Some(self.at(&place.unwrap_or(*first)))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn secrets(&self) -> Option<&RowSecrets> {
        Some(&self.secrets)
    }
}

/// The texts of a turn, one per line.
fn joined_texts(turn: &Turn) -> String {
    let contents: Vec<&str> = turn.texts.iter().flat_map(|text| &text.contents).map(String::as_str).collect();
    contents.join("\n")
}

/// Refuses a row that is too large for a request.
fn may_be_row(bytes: u64) -> Result<(), Fault> {
    if bytes <= LARGEST_REQUEST {
        return Ok(());
    }
    let (has, may) = (size(bytes), size(LARGEST_REQUEST));
    Err(Fault(format!("a row of {has}, and one may have {may}\n  try: smaller rows, or media in files of their own")))
}

/// Output lengths for turns that have none.
#[derive(Debug)]
struct OutputLengths {
    osl: Option<Distribution>,
    purpose: Purpose,
}

impl OutputLengths {
    fn new(plan: &FilePlan, draws: &Draws) -> Self {
        let osl = plan.osl.clone().filter(|osl| osl.mean() >= 1.0);
        Self { osl, purpose: draws.purpose("dataset.osl") }
    }

    /// Fills in the plan's length where a turn has none; a raw payload stays as it is.
    fn fill(&self, turns: &mut [Turn], index: u64) {
        let Some(osl) = &self.osl else { return };
        let mut draws = self.purpose.at(index);
        for turn in turns {
            // Drawn for every turn, so that no draw depends on the other turns.
            let drawn = u32::try_from(length::draw(osl, &mut draws)).unwrap_or(u32::MAX);
            if turn.raw_payload.is_none() {
                turn.max_tokens.get_or_insert(drawn);
            }
        }
    }
}

/// Which rows to use, by their category and length.
struct RowFilter {
    category: Option<&'static str>,
    max_isl: Option<u64>,
}

impl RowFilter {
    fn new(plan: &FilePlan) -> Self {
        let category = if let FileFormat::SpeedBench(of) = plan.format { of.category } else { None };
        Self { category, max_isl: plan.max_isl }
    }

    fn keeps(&self, row: &ReadRow, left_out: &mut LeftOut) -> bool {
        if let (Some(wanted), Some(category)) = (self.category, &row.category)
            && category != wanted
        {
            left_out.of_category(category.clone());
            return false;
        }
        let is_too_long = self.max_isl.zip(row.input_length).is_some_and(|(most, length)| length > most);
        if is_too_long {
            left_out.too_long();
        }
        !is_too_long
    }
}

/// Removes images that an earlier turn sent with their id: the server knows them by the id.
fn strip_known_images(turns: &mut [Turn]) {
    let mut known: HashSet<String> = HashSet::new();
    for turn in turns {
        let mut sent = Vec::new();
        for image in &mut turn.images {
            for (content, uuid) in image.contents.iter_mut().zip(&image.uuids) {
                if known.contains(uuid) {
                    content.clear();
                } else if !content.is_empty() {
                    sent.push(uuid.clone());
                }
            }
        }
        known.extend(sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_again_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("d.jsonl");
        std::fs::write(folder.path().join("a.wav"), b"RIFF").expect("a file");
        std::fs::write(&path, "{\"text\": \"a\"}\n{\"audio\": \"a.wav\"}").expect("a file");
        let plan = FilePlan::new(path, FileFormat::SingleTurn);
        let draws = aiperf_plan::Draws::new(Some(7), "");
        let tokenizer = aiperf_tokenize::Tokenizer::load("builtin", &Default::default()).expect("a tokenizer");
        let mut files = Files::open(&plan, Making::new(&draws, &tokenizer)).expect("a dataset");
        assert!(files.conversation(1).is_ok());
        files.contents = Contents::new(folder.path().to_owned(), false);
        assert!(files.conversation(0).is_ok());
        let error = files.conversation(1).expect_err("its audio is gone").to_string();
        assert!(error.ends_with("d.jsonl:2: a file was not read"), "{error}");
    }
}
