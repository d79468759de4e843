//! Conversations of files: one file a format, one row of [`FORMATS`].
//!
//! The text of a file is kept as it is, with the place of each row in it, and a row is read again whenever its
//! conversation is wanted: so a dataset takes the memory of its file, whatever its rows hold. Every row is read once
//! before anything is sent, and one that cannot be ends the run; so does a file for which there is no memory.

mod media;
mod multi_turn;
mod raw_payload;
mod room;
mod row;
mod selection;
mod single_turn;
mod text;
mod wav;

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Distribution, FileFormat, FilePlan};
use aiperf_types::{ContextMode, Conversation, Nanos, ShapeList, Shapes, Turn, TurnShape};

use self::media::MediaFiles;
pub(crate) use self::media::shown;
use self::room::{FEWER, LARGEST, Room, size};
use self::row::{Encode, Fault, Row};
use self::selection::{Selection, TurnNote};
use self::text::Text;
pub(crate) use self::wav::seconds as wav_seconds;
use crate::error::DatasetError;
use crate::length;
use crate::session_id::SessionIds;
use crate::source::{Making, Source};

/// A layout of rows.
#[derive(Debug)]
struct Format {
    name: FileFormat,
    /// What rows hold, where a message has to say it.
    example: &'static str,
    /// Whether it may be a folder, each file of which is a conversation of its own.
    folders: bool,
    /// What the turns of a conversation of so many carry of those before; `None` is what is usual.
    context_mode: fn(usize) -> Option<ContextMode>,
    /// Whether a system turn that leads a conversation may be its system message.
    hoists_system: bool,
    read: fn(Row, Encode<'_>) -> Result<ReadRow, Fault>,
}

const FORMATS: &[Format] = &[single_turn::FORMAT, multi_turn::FORMAT, raw_payload::FORMAT];

/// What a row says.
#[derive(Debug, Default)]
struct ReadRow {
    /// Rows of one id are turns of one conversation.
    session_id: Option<String>,
    turns: Vec<Turn>,
    /// Members of the row that nobody reads.
    ignored: Vec<String>,
}

/// Bytes that a row takes beside its text: its place, that of its conversation and of its shape, and those of its turns,
/// in lists that double; and once more its place, with its number and the next free place, while rows are put in order.
const BYTES_A_ROW: u64 = (2 * (size_of::<Place>() + size_of::<Rows>() + size_of::<RowNote>() + size_of::<usize>())
    + size_of::<Place>()
    + size_of::<u32>()
    + size_of::<usize>()) as u64;
/// Bytes that each of its turns takes: what is noted of it, and its shape while that is still there.
const BYTES_A_TURN: u64 = 2 * (size_of::<TurnNote>() + size_of::<u64>() + size_of::<f64>()) as u64;
/// Bytes that a name takes beside its text, in a table that doubles and is seven eighths full at most: with the old one
/// while it grows, that is four times its entry.
const BYTES_A_NAME: u64 = 4 * size_of::<(String, u32)>() as u64;
/// Delays that are worth a word.
const LONG_DELAY: Nanos = Nanos::from_millis(60_000);

/// Where a row stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u32,
    line: u32,
    start: usize,
    end: usize,
}

/// What is noted of a row until all are read.
#[derive(Clone, Copy, Debug)]
struct RowNote {
    conversation: u32,
    /// Where its turns end among those of all rows.
    turns_end: usize,
}

/// What is noted of all rows, in their order.
#[derive(Debug, Default)]
struct Notes {
    rows: Vec<RowNote>,
    turns: Vec<TurnNote>,
}

impl Notes {
    fn turns_of(&self, row: usize) -> &[TurnNote] {
        let first = row.checked_sub(1).map_or(0, |before| self.rows[before].turns_end);
        &self.turns[first..self.rows[row].turns_end]
    }
}

/// The rows of a conversation, and its number among those without a name.
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
    /// By conversation, and within one by line.
    places: Vec<Place>,
    conversations: Vec<Rows>,
    shapes: Arc<Shapes>,
    selection: Selection,
    media: MediaFiles,
    osl: Option<Distribution>,
    output_lengths: Purpose,
    ids: SessionIds,
    notes: Vec<String>,
}

impl Files {
    /// Reads and checks all of them, telling of each row. They may take so many bytes of memory.
    pub(crate) fn open(plan: &FilePlan, making: Making<'_>) -> Result<Self, DatasetError> {
        let Making { draws, room, progress: read, .. } = making;
        if plan.entries == Some(0) {
            return Err(DatasetError::NoEntries);
        }
        let mut room = Room::new(room);
        let format = FORMATS.iter().find(|format| format.name == plan.format).ok_or(DatasetError::NoEntries)?;
        let (paths, no_files) = files_of(&plan.path, format)?;
        let texts = paths.into_iter().map(|path| Text::read(path, &mut room)).collect::<Result<Vec<_>, _>>()?;
        let folder = plan.path.parent().unwrap_or(Path::new("")).to_owned();
        let mut files = Self {
            format,
            texts,
            places: Vec::new(),
            conversations: Vec::new(),
            shapes: Arc::new(Shapes::single(0)),
            selection: Selection::new(plan, format),
            media: MediaFiles::new(folder),
            osl: plan.osl.clone().filter(|osl| osl.mean() >= 1.0),
            output_lengths: draws.purpose("dataset.osl"),
            ids: SessionIds::new(draws),
            notes: no_files.into_iter().collect(),
        };
        let is_folder = plan.path.is_dir();
        let notes = files.check_rows(is_folder, &mut room, read)?;
        if notes.rows.is_empty() {
            let fault = format!("has no rows\n  try: a line for each request, as in {}", format.example);
            return Err(DatasetError::of_file(&plan.path, fault));
        }
        let order = files.group(&notes);
        let row_at = |position: usize| order.as_ref().map_or(position, |order| order[position] as usize);
        files.select(|position| notes.turns_of(row_at(position)), is_folder, plan.entries);
        if files.conversations.is_empty() {
            return Err(DatasetError::of_file(&plan.path, files.selection.nothing_left(&notes.turns)));
        }
        Ok(files)
    }

    /// Reads every row, and says to which conversation each belongs and what decides over its turns.
    fn check_rows(&mut self, is_folder: bool, room: &mut Room, read: impl Fn()) -> Result<Notes, DatasetError> {
        let mut notes = Notes::default();
        let mut by_name: HashMap<String, u32> = HashMap::new();
        let mut ignored = Ignored::default();
        for (file, text) in self.texts.iter().enumerate() {
            let mut of_file = None;
            for (line, range) in text.rows() {
                let place = Place { file: file as u32, line, start: range.start, end: range.end };
                let at_fault = |fault: Fault| DatasetError::of_file(&text.at(line), fault.0);
                let mut bytes = range.len() as u64;
                may_be_row(bytes).and_then(|()| room.can_make(bytes)).map_err(at_fault)?;
                let row = Row::read(text.slice(range), self.format).map_err(at_fault)?;
                let media = &mut self.media;
                let read_row = (self.format.read)(row, &mut |kind, content| {
                    bytes += media.admit(kind, content, room)?;
                    Ok(String::new())
                });
                let ReadRow { session_id, turns, ignored: members } = read_row.map_err(at_fault)?;
                room.can_make(bytes).map_err(at_fault)?;
                self.selection.check_delays(&turns).map_err(at_fault)?;
                ignored.add(members, || text.at(line));
                let next = self.conversations.len() as u32;
                // Files without rows use up a number too; others are numbered once it is known which are sent.
                let number = if is_folder { file as u64 } else { 0 };
                let name_bytes = session_id.as_ref().map_or(0, |name| BYTES_A_NAME + name.len() as u64);
                let (conversation, unnamed) = match session_id {
                    _ if is_folder => (*of_file.get_or_insert(next), Some(number)),
                    None => (next, Some(number)),
                    Some(name) => (*by_name.entry(name).or_insert(next), None),
                };
                let is_new_name = conversation == next && unnamed.is_none();
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

    /// Puts the rows of each conversation next to each other. Gives back which rows they were, unless they still are.
    fn group(&mut self, notes: &Notes) -> Option<Vec<u32>> {
        let mut next = 0;
        for rows in &mut self.conversations {
            rows.first = next;
            next += rows.count;
        }
        // Most files have a conversation a row, and theirs are in order already.
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

    /// Leaves out conversations of which nothing is sent, and those past a number of them.
    fn select<'a>(&mut self, turns_at: impl Fn(usize) -> &'a [TurnNote], is_folder: bool, entries: Option<u64>) {
        let most = entries.and_then(|entries| usize::try_from(entries).ok()).unwrap_or(usize::MAX);
        let (mut shapes, mut long) = (ShapeList::default(), LongDelays::default());
        let (mut left, mut unnamed, mut turns) = (0, 0, Vec::new());
        for index in 0..self.conversations.len() {
            if left == most {
                break;
            }
            let mut rows = self.conversations[index];
            turns.clear();
            (rows.first..rows.first + rows.count).for_each(|position| turns.extend_from_slice(turns_at(position)));
            let mut sent = self.selection.shapes(&turns).peekable();
            if sent.peek().is_none() {
                continue;
            }
            shapes.push(sent.inspect(|turn| long.add(turn, rows.first)));
            if let Some(number) = rows.unnamed.as_mut().filter(|_| !is_folder) {
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
    }

    /// A conversation, and the row of each of its turns.
    fn read_again(&self, index: usize, encode: Encode<'_>) -> Result<(Conversation, Vec<Place>), DatasetError> {
        let rows = self.conversations[index];
        let mut session_id = rows.unnamed.map(|number| self.ids.id(number));
        let (mut turns, mut notes, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for place in &self.places[rows.first..rows.first + rows.count] {
            let text = self.texts[place.file as usize].slice(place.start..place.end);
            let row = Row::read(text, self.format)
                .and_then(|row| (self.format.read)(row, encode))
                .map_err(|fault| DatasetError::of_file(&self.at(place), fault.0))?;
            session_id = session_id.or(row.session_id);
            notes.extend(row.turns.iter().map(TurnNote::of));
            places.resize(places.len() + row.turns.len(), *place);
            turns.extend(self.with_lengths(row.turns, place));
        }
        let system_message = self.selection.is_led_by_system(&notes).then(|| said(&turns[0]));
        let mut are_sent = self.selection.are_sent(&notes);
        turns.retain(|_| are_sent.next().unwrap_or(true));
        let mut are_sent = self.selection.are_sent(&notes);
        places.retain(|_| are_sent.next().unwrap_or(true));
        turns.iter_mut().for_each(|turn| turn.delay_ms = self.selection.delay_ms(turn.delay_ms));
        let conversation = Conversation {
            session_id: session_id.unwrap_or_default(),
            context_mode: (self.format.context_mode)(turns.len()),
            turns,
            system_message,
            ..Conversation::default()
        };
        Ok((conversation, places))
    }

    /// Turns of a row that ask for no length ask for that of the plan; a whole body says all there is to say.
    fn with_lengths(&self, mut turns: Vec<Turn>, place: &Place) -> Vec<Turn> {
        let Some(osl) = &self.osl else { return turns };
        let mut draws = self.output_lengths.at(u64::from(place.file) << 32 | u64::from(place.line));
        for turn in &mut turns {
            // Drawn for each turn, so that none depends on what the others ask for.
            let drawn = u32::try_from(length::draw(osl, &mut draws)).unwrap_or(u32::MAX);
            if turn.raw_payload.is_none() {
                turn.max_tokens.get_or_insert(drawn);
            }
        }
        turns
    }

    fn at(&self, place: &Place) -> String {
        self.texts[place.file as usize].at(place.line)
    }
}

impl Source for Files {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    /// A conversation, read again. Its rows could be read before, and neither they nor the media have changed since:
    /// should one be wrong all the same, nothing stands in for it.
    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        let (conversation, _) = self.read_again(index, &mut |kind, content| self.media.encoded(kind, content))?;
        Ok(Cow::Owned(conversation))
    }

    /// Rows are read again to find it.
    fn place(&self, index: usize, turn: usize) -> Option<String> {
        let first = self.places.get(self.conversations.get(index)?.first)?;
        let read = self.read_again(index, &mut |_, _| Ok(String::new()));
        let place = read.ok().and_then(|(_, places)| places.get(turn).or(places.last()).copied());
        Some(self.at(&place.unwrap_or(*first)))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// What the texts of a turn say, a line each.
fn said(turn: &Turn) -> String {
    let contents: Vec<&str> = turn.texts.iter().flat_map(|text| &text.contents).map(String::as_str).collect();
    contents.join("\n")
}

/// Refuses a row that is too large for a request.
fn may_be_row(bytes: u64) -> Result<(), Fault> {
    if bytes <= LARGEST {
        return Ok(());
    }
    let (has, may) = (size(bytes), size(LARGEST));
    Err(Fault(format!("a row of {has}, and one may have {may}\n  try: smaller rows, or media in files of their own")))
}

/// The files to read, in order, and a note on what goes by the name of one and is none.
fn files_of(path: &Path, format: &Format) -> Result<(Vec<PathBuf>, Option<String>), DatasetError> {
    if !path.is_dir() {
        return Ok((vec![path.to_owned()], None));
    }
    let refused = |fault: String| DatasetError::of_file(path, fault);
    if !format.folders {
        return Err(refused(format!(
            "is a folder, and {} is read from a file\n  try: one of its files",
            format.name.name()
        )));
    }
    let entries = std::fs::read_dir(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
    let is_named_so = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    let mut named: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_named_so).collect();
    named.sort();
    let (files, others): (Vec<_>, Vec<_>) = named.into_iter().partition(|path| path.is_file());
    let names: Vec<_> = others.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy()).collect();
    let more = if names.len() > NAMES_TOLD { " and others" } else { "" };
    let told = names[..names.len().min(NAMES_TOLD)].join(", ");
    let note = format!("{}: not read, because they are no files: {told}{more}", path.display());
    if files.is_empty() {
        return Err(refused(
            "is a folder without *.jsonl files\n  try: a conversation a file, a line for each turn".into(),
        ));
    }
    Ok((files, (!names.is_empty()).then_some(note)))
}

/// Members of rows that mean nothing, told once.
#[derive(Default)]
struct Ignored {
    names: Vec<String>,
    first: Option<String>,
    more: bool,
}

/// Names that are told.
const NAMES_TOLD: usize = 8;

impl Ignored {
    fn add(&mut self, members: Vec<String>, place: impl FnOnce() -> String) {
        if members.is_empty() {
            return;
        }
        self.first.get_or_insert_with(place);
        for name in members {
            if self.names.contains(&name) {
                continue;
            }
            if self.names.len() == NAMES_TOLD {
                self.more = true;
                return;
            }
            self.names.push(name);
        }
    }

    fn note(self) -> Option<String> {
        let first = self.first?;
        let more = if self.more { " and others" } else { "" };
        Some(format!("{first}: members that mean nothing here are ignored: {}{more}", self.names.join(", ")))
    }
}

/// Delays that keep a session waiting for long, told once.
#[derive(Default)]
struct LongDelays {
    count: u64,
    longest: Nanos,
    /// Position of the row that begins the first conversation with one.
    first: usize,
}

impl LongDelays {
    fn add(&mut self, turn: &TurnShape, position: usize) {
        let Some(delay) = turn.delay.filter(|delay| *delay > LONG_DELAY) else { return };
        if self.count == 0 {
            self.first = position;
        }
        self.count += 1;
        self.longest = self.longest.max(delay);
    }

    fn note(&self, at: impl FnOnce(usize) -> String) -> Option<String> {
        let (limit, longest) = (LONG_DELAY.as_secs_f64(), self.longest.as_secs_f64());
        let what = format!("delays of more than {limit} s between turns: {}, the longest of {longest} s", self.count);
        (self.count > 0).then(|| format!("{}: {what}", at(self.first)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_again_is_no_turn() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("d.jsonl");
        std::fs::write(folder.path().join("a.wav"), b"RIFF").expect("a file");
        std::fs::write(&path, "{\"text\": \"a\"}\n{\"audio\": \"a.wav\"}").expect("a file");
        let plan = FilePlan::new(path, FileFormat::SingleTurn);
        let draws = aiperf_plan::Draws::new(Some(7), "");
        let tokenizer = aiperf_tokenize::Tokenizer::load("builtin", &Default::default()).expect("a tokenizer");
        let mut files = Files::open(&plan, Making::new(&draws, &tokenizer)).expect("a dataset");
        assert!(files.conversation(1).is_ok());
        files.media = MediaFiles::new(folder.path().to_owned());
        assert!(files.conversation(0).is_ok());
        let error = files.conversation(1).expect_err("its audio is gone").to_string();
        assert!(error.ends_with("d.jsonl:2: a file was not read"), "{error}");
    }
}
