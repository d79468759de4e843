//! JSON that was cut somewhere, closed again: what is said in it so far.

/// The text with everything closed that was open at its end; what was half a key, number or word is left out. `None`
/// where nothing whole is in it.
pub(crate) fn closed(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let mut in_string = false;
    let mut is_escaped = false;
    // What stands before the last comma or bracket is whole, with what was open there.
    let mut whole: Option<(usize, Vec<u8>)> = None;
    for (at, byte) in text.bytes().enumerate() {
        match (in_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (true, b'"') => in_string = false,
            (true, _) => {}
            (false, b'"') => in_string = true,
            (false, b',') => whole = Some((at, open.clone())),
            (false, b'{' | b'[') => {
                open.push(if byte == b'{' { b'}' } else { b']' });
                whole = Some((at + 1, open.clone()));
            }
            (false, b'}' | b']') => {
                open.pop();
                whole = Some((at + 1, open.clone()));
            }
            (false, _) => {}
        }
    }
    let so_far = if in_string { format!("{}\"", without_half_escape(text)) } else { text.to_owned() };
    let earlier = whole.map(|(end, open)| (text[..end].to_owned(), open));
    [Some((so_far, open)), earlier].into_iter().flatten().find_map(|(mut text, open)| {
        text.extend(open.into_iter().rev().map(char::from));
        serde_json::from_str::<serde_json::Value>(&text).is_ok().then_some(text)
    })
}

/// A string's text without an escape that is not all there: `\`, `\u00`, and the first half of a pair.
fn without_half_escape(text: &str) -> &str {
    let Some(at) = text.rfind('\\') else { return text };
    // Of several in a row every second one is escaped itself.
    let row = text[..=at].bytes().rev().take_while(|byte| *byte == b'\\').count();
    let escape = &text[at..];
    let is_half = match escape.as_bytes() {
        [_] => true,
        [_, b'u', digits @ ..] if digits.len() < 4 => true,
        [_, b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', _, _] => true,
        _ => false,
    };
    if row % 2 == 0 || !is_half {
        return text;
    }
    // The second half of a pair goes with the first.
    without_half_escape(&text[..at])
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn wherever_json_is_cut_what_was_said_is_there() {
        let whole = r#"{"id":"a","n":[1,22,true],"said":"one \"two\" \\ \u00e9 \ud83d\ude00 three","end":null}"#;
        let said = "one \"two\" \\ é 😀 three";
        let mut longest = 0;
        for end in (1..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let text = closed(&whole[..end]).unwrap();
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            if let Some(part) = value["said"].as_str() {
                assert!(said.starts_with(part) && part.len() >= longest, "{part}");
                longest = part.len();
            } else {
                assert!(end < whole.find("one").unwrap(), "{text}");
            }
        }
        assert_eq!(longest, said.len());
    }

    #[test]
    fn what_is_no_json_is_nothing() {
        for text in ["", "half a sentence", "}", "<html>", "nul"] {
            assert_eq!(closed(text), None, "{text}");
        }
    }
}
