//! Counts the tokens of prompts: of whole bodies, and of sessions by what each request adds.

use aiperf_dialect::{Dialect, PromptDelta};
use aiperf_plan::additions::{MARKER_GAP, PLACEHOLDER};
use aiperf_tokenize::{TokenizeError, Tokenizer, is_interrupted};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, TryLockError};

/// The prompt of a request: what it adds to the prompt before it. Once counted, it keeps only the count, so a long
/// conversation is not counted again for every turn.
///
/// No thread waits for it: if another thread uses it, the caller gets nothing.
#[derive(Debug)]
pub(crate) struct PromptHistory(Mutex<State>);

#[derive(Clone, Debug)]
enum State {
    Uncounted { before: Option<Arc<PromptHistory>>, delta: PromptDelta },
    Counted(PromptCount),
}

/// The tokens of a prompt, as far as they are certain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PromptCount {
    tokens: u64,
    /// The end of the text. It may share a token with the text that follows.
    open: String,
    says_anything: bool,
    /// The text around a marker. It is not in `tokens`, because each session has its own marker.
    marked: Option<Arc<str>>,
    /// The tokens of `marked` with the latest marker. For the prompts of one session, that is always the marker of the
    /// session.
    with_marker: Option<(Option<String>, u64)>,
}

impl PromptHistory {
    /// Records what a request adds to the prompt before it.
    pub(crate) fn new(before: Option<&Arc<Self>>, delta: PromptDelta) -> Self {
        let before = before.filter(|_| delta.continues).cloned();
        Self(Mutex::new(State::Uncounted { before, delta }))
    }

    /// `None` while another thread uses it.
    fn state(&self) -> Option<State> {
        match self.0.try_lock() {
            Ok(state) => Some(state.clone()),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner().clone()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Keeps a count and drops the counted text. If another thread uses it, nothing is kept, and the text is counted
    /// again.
    fn set(&self, count: PromptCount) {
        if let Ok(mut state) = self.0.try_lock() {
            *state = State::Counted(count);
        }
    }

    fn take_before(&mut self) -> Option<Arc<Self>> {
        match self.0.get_mut() {
            Ok(State::Uncounted { before, .. }) => before.take(),
            Ok(State::Counted(_)) | Err(_) => None,
        }
    }
}

impl Drop for PromptHistory {
    /// Drops one after the other: the uncounted prompts of a long conversation form a long chain.
    fn drop(&mut self) {
        let mut next = self.take_before();
        while let Some(mut prompt) = next.and_then(Arc::into_inner) {
            next = prompt.take_before();
        }
    }
}

/// Tokens of the first request of each conversation. It is the same in every session, so it is counted once. A text that
/// was made to a length is not counted at all, if the first count of such a request is this length: then the requests
/// of the run have no other text.
pub(crate) struct FirstCounts {
    cells: Vec<AtomicU32>,
    /// Whether the lengths of texts are the counts of their requests.
    lengths_are_counts: OnceLock<bool>,
}

/// Not counted yet, counted without a value, and refused by the chat template.
const NOT_COUNTED: u32 = u32::MAX;
const NO_COUNT: u32 = u32::MAX - 1;
const REFUSED: u32 = u32::MAX - 2;
/// The bit of a length that is not known to be the count.
const LENGTH: u32 = 1 << 31;

/// The chat template refuses the messages of a request. They have no count: a count of their texts would differ from
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefusedByTemplate;

/// Tokens of a prompt; `None` if nothing of it can be counted.
pub(crate) type InputTokens = Result<Option<u64>, RefusedByTemplate>;

impl FirstCounts {
    pub(crate) fn new(conversations: usize) -> Self {
        let cells = (0..conversations).map(|_| AtomicU32::new(NOT_COUNTED)).collect();
        Self { cells, lengths_are_counts: OnceLock::new() }
    }

    /// Notes the length of the text of a conversation's first turn.
    pub(crate) fn note_length(&self, conversation: usize, tokens: u32) {
        // The largest numbers have a meaning of their own.
        let noted = (tokens < LENGTH / 2).then_some(tokens | LENGTH);
        if let (Some(cell), Some(noted)) = (self.cells.get(conversation), noted) {
            // A count that is already known stays.
            let _ = cell.compare_exchange(NOT_COUNTED, noted, Relaxed, Relaxed);
        }
    }

    pub(crate) fn get_or_count(&self, conversation: u32, count: impl FnOnce() -> InputTokens) -> InputTokens {
        let cell = &self.cells[conversation as usize];
        let length = match cell.load(Relaxed) {
            NOT_COUNTED => None,
            NO_COUNT => return Ok(None),
            REFUSED => return Err(RefusedByTemplate),
            noted if noted & LENGTH != 0 => Some(u64::from(noted & !LENGTH)),
            known => return Ok(Some(u64::from(known))),
        };
        if length.is_some() && self.lengths_are_counts.get() == Some(&true) {
            return Ok(length);
        }
        let counted = count();
        if is_interrupted() {
            return Ok(None);
        }
        if length.is_some() {
            let _ = self.lengths_are_counts.set(counted == Ok(length));
        }
        let kept = match counted {
            Ok(Some(count)) => u32::try_from(count).ok().filter(|count| *count < LENGTH).unwrap_or(NO_COUNT),
            Ok(None) => NO_COUNT,
            Err(RefusedByTemplate) => REFUSED,
        };
        cell.store(kept, Relaxed);
        counted
    }
}

/// Tokens of all texts of a body. If asked for, messages are first rendered with the chat template.
pub(crate) fn count_whole(dialect: &Dialect, body: &[u8], tokenizer: &Tokenizer, chat_template: bool) -> InputTokens {
    let Some(inputs) = dialect.inputs_of(body) else { return Ok(None) };
    if let Some(messages) = inputs.messages.as_ref().filter(|_| chat_template)
        && let Some(rendered) = tokenizer.count_chat(messages, true)
    {
        let rendered = rendered.map_err(|_| RefusedByTemplate)?;
        let tools = if inputs.tool_texts.is_empty() { 0 } else { tokenizer.count(&inputs.tool_texts.join(" ")) };
        return Ok(Some((rendered + tools) as u64 + inputs.pretokenised));
    }
    Ok(match inputs.texts.as_slice() {
        [] => (inputs.pretokenised > 0).then_some(inputs.pretokenised),
        [only] => Some(tokenizer.count(only) as u64 + inputs.pretokenised),
        texts => Some(tokenizer.count(&texts.join(" ")) as u64 + inputs.pretokenised),
    })
}

/// Why the chat template cannot render the messages of a body.
pub(crate) fn check_template(dialect: &Dialect, body: &[u8], tokenizer: &Tokenizer) -> Result<(), TokenizeError> {
    let messages = dialect.inputs_of(body).and_then(|inputs| inputs.messages);
    let rendered = messages.and_then(|messages| tokenizer.apply_chat_template(messages, true));
    rendered.map_or(Ok(()), |rendered| rendered.map(drop))
}

/// Tokens of all texts up to a request, joined by blanks: the same count as that of the whole. `None` if only the whole
/// can be counted, because of the tokenizer or because another thread is counting, or if there is no text. `marker`
/// gives the marker of the session.
pub(crate) fn count(
    prompt: &Arc<PromptHistory>,
    dialect: &Dialect,
    tokenizer: &Tokenizer,
    marker: impl Fn() -> Option<String>,
) -> Option<u64> {
    if !tokenizer.cuts_before_blanks() {
        return None;
    }
    let (mut uncounted, mut count) = (Vec::new(), PromptCount::default());
    let mut next = Some(prompt.clone());
    while let Some(prompt) = next {
        match prompt.state()? {
            State::Counted(known) => {
                count = known;
                break;
            }
            State::Uncounted { before, delta } => {
                uncounted.push((prompt, delta));
                next = before;
            }
        }
    }
    for (prompt, delta) in uncounted.into_iter().rev() {
        for text in dialect.texts_of_items(&delta.items)? {
            add(&mut count, &text, tokenizer);
        }
        mark(&mut count, tokenizer, &marker)?;
        if is_interrupted() {
            return None;
        }
        prompt.set(count.clone());
    }
    mark(&mut count, tokenizer, &marker)?;
    let marked = count.with_marker.as_ref().map_or(0, |(_, tokens)| *tokens);
    count.says_anything.then(|| count.tokens + marked + tokenizer.count(&count.open) as u64)
}

/// Counts the text around a marker, unless it was counted with the same marker. `None` if it cannot be counted
/// separately.
fn mark(count: &mut PromptCount, tokenizer: &Tokenizer, marker: impl Fn() -> Option<String>) -> Option<()> {
    if count.open.contains(PLACEHOLDER) {
        return None;
    }
    let Some(around) = &count.marked else { return Some(()) };
    let marker = marker();
    if count.with_marker.as_ref().is_none_or(|(known, _)| *known != marker) {
        let text = match &marker {
            Some(marker) => around.replacen(PLACEHOLDER, marker, 1),
            None => around.replacen(&format!("{PLACEHOLDER}{MARKER_GAP}"), "", 1),
        };
        if text.contains(PLACEHOLDER) {
            return None;
        }
        count.with_marker = Some((marker, tokenizer.count(&text) as u64));
    }
    Some(())
}

/// Adds a text, after a blank. A text that ends in white space may share a token with the text that follows.
fn add(count: &mut PromptCount, text: &str, tokenizer: &Tokenizer) {
    if count.says_anything {
        count.open.push(' ');
    }
    count.says_anything = true;
    count.open.push_str(text);
    if count.open.ends_with(char::is_whitespace) || count.open.is_empty() {
        return;
    }
    if count.marked.is_none() && count.open.contains(PLACEHOLDER) {
        count.marked = Some(std::mem::take(&mut count.open).into());
    } else {
        count.tokens += tokenizer.count(&count.open) as u64;
        count.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_dialect::kinds::chat;
    use proptest::prelude::*;

    /// Uses GPT-2's pattern.
    const BYTE_LEVEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/data/tiny-model");

    fn after(before: Option<&Arc<PromptHistory>>, items: &[String]) -> Arc<PromptHistory> {
        let items = items.iter().map(|item| item.clone().into()).collect();
        Arc::new(PromptHistory::new(before, PromptDelta { continues: before.is_some(), items }))
    }

    #[test]
    fn a_counted_prompt_drops_its_text() {
        let first = after(None, &["a".to_owned()]);
        let second = after(Some(&first), &["b".to_owned()]);
        assert!(matches!(second.state(), Some(State::Uncounted { before: Some(_), delta }) if delta.items == ["b"]));
        let count = PromptCount { tokens: 2, ..PromptCount::default() };
        second.set(count.clone());
        assert!(matches!(second.state(), Some(State::Counted(kept)) if kept == count));
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn messages_that_a_chat_template_refuses_have_no_count() {
        let folder = tempfile::tempdir().unwrap();
        let copied = folder.path().join("tokenizer.json");
        std::fs::copy(format!("{BYTE_LEVEL}/tokenizer.json"), copied).unwrap();
        let template =
            "{% if messages|length > 1 %}{{ raise_exception('one') }}{% endif %}<s>{{ messages[0].content }}";
        std::fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
        let tokenizer = Tokenizer::load(&folder.path().to_string_lossy(), &Default::default()).unwrap();
        let message = serde_json::json!({"role": "user", "content": "who"});
        let body = |times: usize| serde_json::json!({"messages": vec![&message; times]}).to_string().into_bytes();
        let of = |times, chat_template| count_whole(&chat::DIALECT, &body(times), &tokenizer, chat_template);
        assert!(of(1, true).unwrap() > of(1, false).unwrap() && of(2, false).unwrap().is_some());
        assert_eq!(of(2, true), Err(RefusedByTemplate));
        let first = FirstCounts::new(1);
        assert_eq!(first.get_or_count(0, || of(2, true)), Err(RefusedByTemplate));
        assert_eq!(first.get_or_count(0, || Ok(Some(1))), Err(RefusedByTemplate), "the refusal is kept");
        let refused = check_template(&chat::DIALECT, &body(2), &tokenizer).unwrap_err().to_string();
        assert!(refused.contains("chat_template.jinja: the chat template cannot be applied: line 1: one"), "{refused}");
    }

    #[test]
    fn lengths_are_counts_if_the_first_count_is_the_length() {
        let counted = Ok(Some(7));
        for (first, second) in [(counted, Ok(Some(9))), (Ok(Some(8)), counted), (Ok(None), counted)] {
            let counts = FirstCounts::new(2);
            [(0, 7), (1, 9)].into_iter().for_each(|(conversation, tokens)| counts.note_length(conversation, tokens));
            assert_eq!(counts.get_or_count(0, || first), first);
            assert_eq!(counts.get_or_count(1, || counted), second);
            counts.note_length(0, 5);
            assert_eq!(counts.get_or_count(0, || counted), first, "a count stays");
        }
    }

    #[test]
    fn a_very_long_uncounted_conversation_is_dropped_without_a_deep_stack() {
        drop((0..1_000_000).fold(None, |before, _| Some(after(before.as_ref(), &[]))));
    }

    #[test]
    fn sessions_with_the_same_text_are_each_counted_with_their_own_marker() {
        let tokenizer = Tokenizer::load("builtin", &Default::default()).unwrap();
        let item = |text: &str| format!(",{}", serde_json::json!({"role": "user", "content": text}));
        let first = after(None, &[item(&format!("{PLACEHOLDER}{MARKER_GAP}who are you"))]);
        let second = after(Some(&first), &[item("and why")]);
        for marker in ["[rid:0123456789ab]", "[rid:aaaaaaaaaaaa]", "[rid:0123456789ab]"] {
            let wanted = tokenizer.count(&format!("{marker}\n\nwho are you and why")) as u64;
            let found = count(&second, &chat::DIALECT, &tokenizer, || Some(marker.to_owned()));
            assert_eq!(found, Some(wanted), "{marker}");
        }
        let wanted = tokenizer.count("who are you and why") as u64;
        assert_eq!(count(&second, &chat::DIALECT, &tokenizer, || None), Some(wanted), "without a marker");
    }

    proptest! {
        #[test]
        fn counts_by_turn_equal_the_count_of_the_whole(
            turns in prop::collection::vec(prop::collection::vec("[ a-zA-Z0-9'\\n\\t.,!/\u{e9}\u{301}\u{4e2d}\u{a0}]{0,12}", 0..3), 1..6),
            looks in prop::collection::vec(any::<bool>(), 6),
            name in prop::sample::select(vec!["builtin", "cl100k_base", "o200k_harmony", BYTE_LEVEL]),
        ) {
            let tokenizer = Tokenizer::load(name, &Default::default()).unwrap();
            let mut prompt: Option<Arc<PromptHistory>> = None;
            let mut texts: Vec<String> = Vec::new();
            for (turn, look) in turns.iter().zip(looks) {
                let item = |text: &String| format!(",{}", serde_json::json!({"role": "user", "content": text}));
                let now = after(prompt.as_ref(), &turn.iter().map(item).collect::<Vec<_>>());
                texts.extend(turn.iter().cloned());
                if look {
                    let wanted = (!texts.is_empty()).then(|| tokenizer.count(&texts.join(" ")) as u64);
                    prop_assert_eq!(count(&now, &chat::DIALECT, &tokenizer, || None), wanted, "{:?}", &texts);
                }
                prompt = Some(now);
            }
        }
    }
}
