//! Additions to the conversations of every source: a system prompt, and the placeholder of a marker.

use aiperf_plan::additions::{MARKER_GAP, PLACEHOLDER};
use aiperf_plan::{Additions, CacheBust, MarkerKind, MarkerPlace};
use aiperf_types::{ContextMode, Conversation, Media, Turn};
use serde_json::{Value, json};

/// Puts the system prompt before the conversation's own, and the placeholder of the marker into its place.
pub(crate) fn add(additions: &Additions, conversation: &mut Conversation) {
    if let Some(prompt) = &additions.system_prompt {
        conversation.system_message = Some(match conversation.system_message.take() {
            Some(own) => format!("{prompt}\n\n{own}"),
            None => prompt.clone(),
        });
    }
    if let Some(bust) = additions.cache_bust {
        mark(bust, conversation);
    }
}

fn mark(bust: CacheBust, conversation: &mut Conversation) {
    let each_alone = conversation.context_mode == Some(ContextMode::MessageArrayWithResponses);
    let mut in_system_message = false;
    let has_blocks = conversation.turns.iter().any(|turn| turn.raw_system.is_some());
    if bust.place == MarkerPlace::System
        && !has_blocks
        && let Some(message) = &mut conversation.system_message
    {
        mark_text(bust, message);
        in_system_message = true;
    }
    if in_system_message {
        return;
    }
    // Each of these turns starts a new context, which needs a marker in its first user message.
    let mut is_open = true;
    for turn in &mut conversation.turns {
        is_open |= each_alone || turn.reset_context;
        if is_open {
            is_open = !mark_turn(bust, turn);
        }
    }
}

/// Puts a marker into a turn; returns whether there was a place for it.
fn mark_turn(bust: CacheBust, turn: &mut Turn) -> bool {
    if bust.place == MarkerPlace::System
        && let Some(blocks) = &mut turn.raw_system
    {
        insert(bust, blocks);
        return true;
    }
    if let Some(messages) = &mut turn.raw_messages {
        let role = |message: &Value, role: &str| message["role"] == role;
        let system = messages.first().is_some_and(|first| role(first, "system") || role(first, "developer"));
        let found = match bust.place {
            MarkerPlace::System if system => messages.first_mut(),
            MarkerPlace::System | MarkerPlace::FirstTurn => messages.iter_mut().find(|message| role(message, "user")),
        };
        return found.is_some_and(|message| mark_content(bust, &mut message["content"]));
    }
    if turn.raw_payload.is_some() || turn.role.as_deref().is_some_and(|role| role != "user") {
        return false;
    }
    let media = turn.images.iter().chain(&turn.audios).chain(&turn.videos).map(|media| media.contents.len());
    let (media, texts): (usize, usize) = (media.sum(), turn.texts.iter().map(|text| text.contents.len()).sum());
    match (texts, media) {
        (0, 0) => return false,
        (1, 0) => turn.texts.iter_mut().flat_map(|text| &mut text.contents).for_each(|text| mark_text(bust, text)),
        _ => mark_parts(bust, &mut turn.texts),
    }
    true
}

/// Adds a marker as a text of its own, before or after the others.
fn mark_parts(bust: CacheBust, texts: &mut Vec<Media>) {
    if texts.iter().flat_map(|text| &text.contents).any(|text| text == PLACEHOLDER) {
        return;
    }
    if texts.is_empty() {
        texts.push(Media { name: "text".to_owned(), contents: Vec::new(), uuids: Vec::new() });
    }
    let (is_suffix, last) = (bust.marker == MarkerKind::Suffix, texts.len() - 1);
    let contents = &mut texts[if is_suffix { last } else { 0 }].contents;
    contents.insert(if is_suffix { contents.len() } else { 0 }, PLACEHOLDER.to_owned());
}

fn mark_content(bust: CacheBust, content: &mut Value) -> bool {
    match content {
        Value::String(text) => mark_text(bust, text),
        Value::Array(parts) => insert(bust, parts),
        _ => return false,
    }
    true
}

/// Adds a marker as a part of its own, first or last.
fn insert(bust: CacheBust, parts: &mut Vec<Value>) {
    let is_input = parts.iter().any(|part| part["type"].as_str().is_some_and(|name| name.starts_with("input_")));
    let part = json!({"type": if is_input { "input_text" } else { "text" }, "text": PLACEHOLDER});
    if parts.contains(&part) {
        return;
    }
    match bust.marker {
        MarkerKind::Suffix => parts.push(part),
        MarkerKind::Prefix | MarkerKind::Warmup => parts.insert(0, part),
    }
}

fn mark_text(bust: CacheBust, text: &mut String) {
    if text.contains(PLACEHOLDER) {
        return;
    }
    match bust.marker {
        MarkerKind::Suffix => text.push_str(&format!("{MARKER_GAP}{PLACEHOLDER}")),
        MarkerKind::Prefix | MarkerKind::Warmup => text.insert_str(0, &format!("{PLACEHOLDER}{MARKER_GAP}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bust(place: MarkerPlace, marker: MarkerKind) -> CacheBust {
        CacheBust { place, marker }
    }

    fn marked(place: MarkerPlace, marker: MarkerKind, mut conversation: Conversation) -> Conversation {
        let additions = Additions { system_prompt: None, cache_bust: Some(bust(place, marker)) };
        add(&additions, &mut conversation);
        let once = conversation.clone();
        add(&additions, &mut conversation);
        assert_eq!(conversation, once, "adding the marker again changes nothing");
        conversation
    }

    fn of(turns: Vec<Turn>) -> Conversation {
        Conversation { turns, ..Conversation::default() }
    }

    #[test]
    fn a_system_prompt_precedes_that_of_the_data() {
        let additions = Additions { system_prompt: Some("Be kind.".into()), cache_bust: None };
        let mut own = Conversation { system_message: Some("Be short.".into()), ..of(vec![Turn::text("a")]) };
        add(&additions, &mut own);
        assert_eq!(own.system_message.as_deref(), Some("Be kind.\n\nBe short."));
        let mut none = of(vec![Turn::text("a")]);
        add(&additions, &mut none);
        assert_eq!(none.system_message.as_deref(), Some("Be kind."));
    }

    #[test]
    fn a_marker_is_put_before_or_after_the_first_text_only() {
        let turns = || of(vec![Turn::text("one"), Turn::text("two")]);
        let prefix = marked(MarkerPlace::FirstTurn, MarkerKind::Prefix, turns());
        assert_eq!(prefix.turns[0].texts[0].contents, [format!("{PLACEHOLDER}\n\none")]);
        assert_eq!(prefix.turns[1], Turn::text("two"));
        let suffix = marked(MarkerPlace::FirstTurn, MarkerKind::Suffix, turns());
        assert_eq!(suffix.turns[0].texts[0].contents, [format!("one\n\n{PLACEHOLDER}")]);
    }

    #[test]
    fn beside_other_parts_the_marker_is_a_part_of_its_own() {
        let several = || {
            let text = Media { name: "text".into(), contents: vec!["a".into(), "b".into()], uuids: Vec::new() };
            of(vec![Turn { texts: vec![text], ..Turn::default() }])
        };
        let contents = |marker| marked(MarkerPlace::FirstTurn, marker, several()).turns[0].texts[0].contents.clone();
        assert_eq!(contents(MarkerKind::Prefix), [PLACEHOLDER, "a", "b"]);
        assert_eq!(contents(MarkerKind::Suffix), ["a", "b", PLACEHOLDER]);
        let image = Media { name: "image_url".into(), contents: vec!["data:".into()], uuids: Vec::new() };
        let alone = of(vec![Turn { images: vec![image], ..Turn::default() }]);
        let alone = marked(MarkerPlace::FirstTurn, MarkerKind::Prefix, alone);
        assert_eq!(alone.turns[0].texts[0].contents, [PLACEHOLDER]);
    }

    #[test]
    fn a_system_marker_prefers_blocks_then_the_message_then_raw_messages_then_the_user() {
        let place = MarkerPlace::System;
        let blocks = Turn { raw_system: Some(vec![json!({"type": "text", "text": "s"})]), ..Turn::text("a") };
        let message = Conversation { system_message: Some("sys".into()), ..of(vec![blocks]) };
        let blocks = marked(place, MarkerKind::Suffix, message);
        let part = json!({"type": "text", "text": PLACEHOLDER});
        assert_eq!(blocks.turns[0].raw_system.as_ref().unwrap()[1], part);
        assert_eq!(blocks.system_message.as_deref(), Some("sys"));
        let message = Conversation { system_message: Some("sys".into()), ..of(vec![Turn::text("a")]) };
        let message = marked(place, MarkerKind::Prefix, message);
        assert_eq!(message.system_message, Some(format!("{PLACEHOLDER}\n\nsys")));
        assert_eq!(message.turns[0], Turn::text("a"));
        let raw = |messages: Value| of(vec![Turn { raw_messages: messages.as_array().cloned(), ..Turn::default() }]);
        let leading = json!([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]);
        let leading = marked(place, MarkerKind::Prefix, raw(leading));
        assert_eq!(leading.turns[0].raw_messages.as_ref().unwrap()[0]["content"], format!("{PLACEHOLDER}\n\ns"));
        let user = json!([{"role": "user", "content": [{"type": "text", "text": "u"}]}]);
        let user = marked(place, MarkerKind::Prefix, raw(user));
        assert_eq!(user.turns[0].raw_messages.as_ref().unwrap()[0]["content"][0], part);
    }

    #[test]
    fn each_new_context_gets_a_marker() {
        let reset = Turn { reset_context: true, ..Turn::text("three") };
        let both =
            marked(MarkerPlace::FirstTurn, MarkerKind::Prefix, of(vec![Turn::text("one"), Turn::text("two"), reset]));
        let is_marked = |turn: &Turn| turn.texts[0].contents[0].contains(PLACEHOLDER);
        assert_eq!(both.turns.iter().map(is_marked).collect::<Vec<_>>(), [true, false, true]);
        let mode = Some(ContextMode::MessageArrayWithResponses);
        let alone = Conversation { context_mode: mode, ..of(vec![Turn::text("one"), Turn::text("two")]) };
        let alone = marked(MarkerPlace::FirstTurn, MarkerKind::Prefix, alone);
        assert!(alone.turns.iter().all(is_marked));
    }
}
