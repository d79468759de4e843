//! Counting that can be given up: a text of tens of megabytes takes longer than the end of a run may.
//!
//! What is counted in between is of no use, so callers that keep counts ask [`is_interrupted`] first.

use crate::expansion::Expansion;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Whether counting is to be given up.
pub type IsOver = Arc<dyn Fn() -> bool + Send + Sync>;

thread_local! {
    static QUESTION: RefCell<Option<IsOver>> = const { RefCell::new(None) };
    static GIVEN_UP: Cell<Option<GivenUp>> = const { Cell::new(None) };
}

/// Why counting was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    /// The question was answered with yes.
    Stopped,
    /// A text is too long for a library that cannot be interrupted, stop or no stop.
    TooLong,
    /// The library fails or panics on a text, as on one with unknown words where the file names no unknown token.
    Uncountable,
}

/// The longest text, in bytes, that is counted where counting can be given up, by a library that cannot be interrupted:
/// about a second.
const LONGEST: usize = 2 << 20;
/// The same after its normalizer, which may make texts many times as long. The library takes some 200 bytes of memory for
/// each of these.
const LONGEST_NORMALIZED: usize = 4 << 20;

/// Counts until a question is answered with yes: it is asked every few milliseconds. Fails where counting was given up.
pub fn interruptible<T>(is_over: &IsOver, count: impl FnOnce() -> T) -> Result<T, GivenUp> {
    /// Ends the questions, after a panic too.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            QUESTION.set(None);
            GIVEN_UP.set(None);
        }
    }
    QUESTION.set(Some(is_over.clone()));
    GIVEN_UP.set(None);
    let _end = End;
    let made = count();
    GIVEN_UP.get().map_or(Ok(made), Err)
}

/// Whether counting on this thread was given up: what is counted now is wrong.
pub fn is_interrupted() -> bool {
    GIVEN_UP.get().is_some()
}

/// Asks whether to give up.
pub(crate) fn is_over() -> bool {
    if !is_interrupted() && QUESTION.with_borrow(|question| question.as_ref().is_some_and(|is_over| is_over())) {
        GIVEN_UP.set(Some(GivenUp::Stopped));
    }
    is_interrupted()
}

/// Whether counting on this thread can be given up.
pub(crate) fn can_give_up() -> bool {
    QUESTION.with_borrow(Option::is_some)
}

/// Gives counting up, if it can be given up and was not.
pub(crate) fn give_up(why: GivenUp) {
    if can_give_up() && !is_interrupted() {
        GIVEN_UP.set(Some(why));
    }
}

/// Gives up a text that is too long for code that cannot be interrupted, if counting can be given up at all.
/// `expansion` is how much longer the normalizer may make it.
pub(crate) fn is_too_long(text: &str, expansion: Expansion) -> bool {
    if can_give_up() && !is_interrupted() && (text.len() > LONGEST || expansion.exceeds(text, LONGEST_NORMALIZED)) {
        give_up(GivenUp::TooLong);
    }
    is_over()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;
    use crate::engine::Engine;
    use aiperf_testkit::tokenizer_json::FRAGILE;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    fn always(is_over: bool) -> IsOver {
        Arc::new(move || is_over)
    }

    #[test]
    fn a_long_word_and_a_long_text_are_given_up_when_time_is_over() {
        let tokenizer = Tokenizer::builtin();
        for text in ["x".repeat(4 << 20), "word ".repeat(1 << 20)] {
            let asked = Arc::new(AtomicU32::new(0));
            let is_over: IsOver = {
                let asked = asked.clone();
                Arc::new(move || asked.fetch_add(1, Relaxed) == 2)
            };
            assert_eq!(interruptible(&is_over, || tokenizer.count(&text)), Err(GivenUp::Stopped));
            assert_eq!(asked.load(Relaxed), 3, "nothing is counted after the answer");
            assert!(!is_interrupted());
        }
        assert_eq!(interruptible(&always(false), || tokenizer.count("two words")), Ok(2));
    }

    #[test]
    fn a_library_that_cannot_be_asked_gets_no_long_text() {
        let json = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
            "pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
            "model":{"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"b"}}"#;
        let engine = Engine::from_json(json.as_bytes()).unwrap();
        assert_eq!(interruptible(&always(false), || engine.count("a a b")), Ok(3));
        assert_eq!(interruptible(&always(false), || engine.count(&"a".repeat(LONGEST + 1))), Err(GivenUp::TooLong));
        let longer =
            r#""normalizer":{"type":"Replace","pattern":{"String":"a"},"content":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;
        let longer = Engine::from_json(json.replace(r#""normalizer":null"#, longer).as_bytes()).unwrap();
        assert_eq!(interruptible(&always(false), || longer.count(&"a".repeat(LONGEST / 8))), Err(GivenUp::TooLong));
        let decomposing = json.replace(r#""normalizer":null"#, r#""normalizer":{"type":"NFKC"}"#);
        let decomposing = Engine::from_json(decomposing.as_bytes()).unwrap();
        let text = "\u{fdfa}".repeat(600_000);
        assert_eq!(interruptible(&always(false), || decomposing.count(&text)), Err(GivenUp::TooLong));
        assert_eq!(interruptible(&always(true), || engine.count("a")), Err(GivenUp::Stopped));
        assert_eq!(engine.count(&"a".repeat(LONGEST + 1)), 1, "where nothing is given up, it is counted");
    }

    #[test]
    fn a_text_that_the_library_cannot_count_is_given_up() {
        let engine = Engine::from_json(FRAGILE.as_bytes()).unwrap();
        let count = |text: &str| interruptible(&always(false), || engine.count(text));
        for text in ["Zed", "a b"] {
            assert_eq!(count(text), Err(GivenUp::Uncountable), "{text}");
        }
        assert_eq!(count("a a"), Ok(2));
        assert!(!engine.is_broken() && !is_interrupted());
    }

    #[test]
    fn a_panic_where_nothing_can_be_given_up_breaks_the_tokenizer() {
        let engine = Engine::from_json(FRAGILE.as_bytes()).unwrap();
        assert_eq!((engine.count("a b"), engine.is_broken()), (0, false));
        assert_eq!((engine.count("Zed"), engine.is_broken()), (0, true));
        let strips = r#""decoder": {"type": "Strip", "content": "a", "start": 9, "stop": 9}"#;
        let engine = Engine::from_json(FRAGILE.replace(r#""decoder": null"#, strips).as_bytes()).unwrap();
        assert_eq!((engine.decode(&[0]), engine.is_broken()), (String::new(), true));
    }
}
