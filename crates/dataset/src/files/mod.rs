//! Conversations of files: one file a format, one row of [`FORMATS`].
//!
//! The text of a file is kept as it is, with the place of each row in it, and a row is read again whenever its
//! conversation is wanted: so a dataset takes the memory of its file, whatever its rows hold. Every row is read once
//! before anything is sent, and one that cannot be ends the run; so does a file for which there is no memory.

mod media;
mod raw_payload;
mod room;
mod row;
mod single_turn;
mod text;
mod wav;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Draws, FileFormat, FilePlan, Length};
use aiperf_types::{ContextMode, Conversation, Turn};

use self::media::MediaFiles;
use self::room::{FEWER, LARGEST, Room, size};
use self::row::{Encode, Fault, Row};
use self::text::Text;
use crate::error::DatasetError;
use crate::length;
use crate::session_id::SessionIds;

/// A layout of rows.
#[derive(Debug)]
struct Format {
    name: FileFormat,
    /// What rows hold, where a message has to say it.
    example: &'static str,
    /// Whether it may be a folder, each file of which is a conversation of its own.
    folders: bool,
    /// What the turns of a conversation of this format carry of those before; `None` where that depends on the rows.
    context_mode: Option<ContextMode>,
    read: fn(Row, Encode<'_>) -> Result<ReadRow, Fault>,
}

const FORMATS: &[Format] = &[single_turn::FORMAT, raw_payload::FORMAT];

/// What a row says.
#[derive(Debug, Default)]
struct ReadRow {
    /// Rows of one id are turns of one conversation.
    session_id: Option<String>,
    turn: Turn,
    /// Members of the row that nobody reads.
    ignored: Vec<String>,
}

/// Bytes that a row takes beside its text: its place, and that of its conversation, in lists that double.
const BYTES_A_ROW: u64 = 2 * (size_of::<Place>() + size_of::<Rows>() + size_of::<u32>()) as u64;

/// Where a row stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u32,
    line: u32,
    start: usize,
    end: usize,
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
    media: MediaFiles,
    osl: Option<Length>,
    output_lengths: Purpose,
    ids: SessionIds,
    notes: Vec<String>,
}

impl Files {
    /// Reads and checks all of them, telling of each row. They may take so many bytes of memory.
    pub(crate) fn open(
        plan: &FilePlan,
        draws: &Draws,
        room: Option<u64>,
        read: impl Fn(),
    ) -> Result<Self, DatasetError> {
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
            media: MediaFiles::new(folder),
            osl: plan.osl.filter(|osl| osl.mean >= 1.0),
            output_lengths: draws.purpose("dataset.osl"),
            ids: SessionIds::new(draws),
            notes: no_files.into_iter().collect(),
        };
        let is_folder = plan.path.is_dir();
        let conversation_of = files.check_rows(is_folder, &mut room, read)?;
        files.group(&conversation_of, plan.entries);
        if files.conversations.is_empty() {
            let fault = format!("has no rows\n  try: a line for each request, as in {}", format.example);
            return Err(DatasetError::of_file(&plan.path, fault));
        }
        Ok(files)
    }

    /// Reads every row, and says to which conversation each belongs.
    fn check_rows(&mut self, is_folder: bool, room: &mut Room, read: impl Fn()) -> Result<Vec<u32>, DatasetError> {
        let mut conversation_of = Vec::new();
        let mut by_name: HashMap<String, u32> = HashMap::new();
        let mut ignored = Ignored::default();
        // Files without rows use up a number too.
        let mut unnamed = 0;
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
                let ReadRow { session_id, ignored: members, .. } = read_row.map_err(at_fault)?;
                room.can_make(bytes).map_err(at_fault)?;
                ignored.add(members, || text.at(line));
                let next = self.conversations.len() as u32;
                let of_row = match session_id {
                    _ if is_folder => *of_file.get_or_insert(next),
                    None => next,
                    Some(name) => match by_name.entry(name) {
                        Entry::Occupied(known) => *known.get(),
                        Entry::Vacant(new) => {
                            new.insert(next);
                            self.conversations.push(Rows { first: 0, count: 0, unnamed: None });
                            next
                        }
                    },
                };
                if of_row as usize == self.conversations.len() {
                    let number = if is_folder { file as u64 } else { unnamed };
                    unnamed += 1;
                    self.conversations.push(Rows { first: 0, count: 0, unnamed: Some(number) });
                }
                room.take(BYTES_A_ROW, "another row", FEWER).map_err(at_fault)?;
                conversation_of.push(of_row);
                self.places.push(place);
                read();
            }
        }
        self.notes.extend(ignored.note());
        Ok(conversation_of)
    }

    /// Puts the rows of each conversation next to each other, and leaves out those past a number of conversations.
    fn group(&mut self, conversation_of: &[u32], entries: Option<u64>) {
        let most = entries.and_then(|entries| usize::try_from(entries).ok()).unwrap_or(usize::MAX);
        conversation_of.iter().for_each(|of| self.conversations[*of as usize].count += 1);
        let mut next = 0;
        for rows in &mut self.conversations {
            rows.first = next;
            next += rows.count;
        }
        // Most files have a conversation a row, and theirs are in order already.
        if !conversation_of.is_sorted() {
            let mut free: Vec<usize> = self.conversations.iter().map(|rows| rows.first).collect();
            let mut ordered = self.places.clone();
            for (place, of) in self.places.iter().zip(conversation_of) {
                ordered[free[*of as usize]] = *place;
                free[*of as usize] += 1;
            }
            self.places = ordered;
        }
        self.conversations.truncate(most);
    }

    pub(crate) fn len(&self) -> usize {
        self.conversations.len()
    }

    /// What a user should know about the files.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A conversation, read again. Its rows could be read before, and neither they nor the media have changed since:
    /// should one be wrong all the same, nothing stands in for it.
    pub(crate) fn conversation(&self, index: usize) -> Result<Conversation, DatasetError> {
        let rows = self.conversations[index];
        let mut session_id = rows.unnamed.map(|number| self.ids.id(number));
        let turns = self.places[rows.first..rows.first + rows.count].iter().map(|place| {
            let text = &self.texts[place.file as usize];
            let row = Row::read(text.slice(place.start..place.end), self.format)
                .and_then(|row| (self.format.read)(row, &mut |kind, content| self.media.encoded(kind, content)))
                .map_err(|fault| DatasetError::of_file(&text.at(place.line), fault.0))?;
            if session_id.is_none() {
                session_id = row.session_id;
            }
            Ok(self.with_length(row.turn, place))
        });
        let turns: Vec<Turn> = turns.collect::<Result<_, DatasetError>>()?;
        // Rows of one name are each a request of their own, not turns that build on each other.
        let context_mode = (turns.len() > 1).then_some(ContextMode::MessageArrayWithResponses);
        Ok(Conversation {
            context_mode: self.format.context_mode.or(context_mode),
            session_id: session_id.unwrap_or_default(),
            turns,
            ..Conversation::default()
        })
    }

    pub(crate) fn check_images_are_inline(&self) -> Result<(), DatasetError> {
        for index in 0..self.len() {
            for (turn, of) in self.conversation(index)?.turns.iter().enumerate() {
                let mut images = of.images.iter().flat_map(|image| &image.contents);
                if let Some(url) = images.find(|image| image.contains("://") && !image.starts_with("data:")) {
                    let shown = media::shown(url);
                    let fault = format!(
                        "image '{shown}' is a URL, and the endpoint takes images alone\n  images are not downloaded\n  \
                         try: a data URI, or the name of a file"
                    );
                    return Err(DatasetError::of_file(&self.place(index, turn).unwrap_or_default(), fault));
                }
            }
        }
        Ok(())
    }

    /// A turn that asks for no length asks for that of the plan; a whole body says all there is to say.
    fn with_length(&self, mut turn: Turn, place: &Place) -> Turn {
        if let (None, None, Some(osl)) = (turn.max_tokens, &turn.raw_payload, self.osl) {
            let mut draws = self.output_lengths.at(u64::from(place.file) << 32 | u64::from(place.line));
            turn.max_tokens = Some(u32::try_from(length::draw(osl, &mut draws)).unwrap_or(u32::MAX));
        }
        turn
    }

    /// Where a turn stands: `<file>:<line>`.
    pub(crate) fn place(&self, index: usize, turn: usize) -> Option<String> {
        let rows = self.conversations.get(index)?;
        let place = self.places.get(rows.first + turn.min(rows.count.saturating_sub(1)))?;
        Some(self.texts[place.file as usize].at(place.line))
    }
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
        let mut files = Files::open(&plan, &Draws::new(Some(7), ""), None, || ()).expect("a dataset");
        assert!(files.conversation(1).is_ok());
        files.media = MediaFiles::new(folder.path().to_owned());
        assert!(files.conversation(0).is_ok());
        let error = files.conversation(1).expect_err("its audio is gone").to_string();
        assert!(error.ends_with("d.jsonl:2: a file was not read"), "{error}");
    }
}
