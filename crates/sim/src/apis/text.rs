//! The length of a prompt.
//!
//! Prompt tokens are the words and punctuation marks of the text (token ids count as themselves): accurate enough to
//! show growth and to fill `usage`, and without a tokenizer.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Text in any of the shapes the APIs take: a string, token ids, parts, messages, or lists of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) tokens: u32,
    /// Entries of the list, where it is a list of texts.
    pub(super) items: u32,
    /// A bare number: one token of its list.
    is_token: bool,
}

impl Text {
    fn of(tokens: u32) -> Self {
        Text { tokens, items: 1, is_token: false }
    }

    /// All of it as one text, such as the messages of a conversation.
    pub(super) fn as_one(self) -> Self {
        Text { items: 1, ..self }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text, token ids, or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text::of(prompt_tokens(text)))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Text, E> {
        Ok(Text { is_token: true, ..Text::of(1) })
    }

    fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
        Ok(Text::of(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        let mut total = Text { tokens: 0, items: 0, is_token: false };
        let mut only_tokens = true;
        while let Some(item) = list.next_element::<Text>()? {
            total.tokens = total.tokens.saturating_add(item.tokens);
            total.items += 1;
            only_tokens &= item.is_token;
        }
        if only_tokens {
            total.items = 1;
        }
        Ok(total)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        let mut total = Text::of(0);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "content" | "text" => total.tokens = total.tokens.saturating_add(map.next_value::<Text>()?.tokens),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(total)
    }
}

/// Tokens of text in any form; none in other values.
pub(super) fn tokens_of(value: &Value) -> u32 {
    Text::deserialize(value).map_or(0, |text| text.tokens)
}

/// Words and punctuation marks: for English prose within a few percent of a tokenizer's count.
pub(super) fn prompt_tokens(text: &str) -> u32 {
    let words = text.split_ascii_whitespace().count();
    let marks = text.bytes().filter(u8::is_ascii_punctuation).count();
    (words + marks) as u32
}
