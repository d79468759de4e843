//! Characters that act on a terminal.

/// Whether a terminal acts on a character instead of showing it: control characters, and the marks that change the
/// direction of the text around them.
pub fn acts_on_terminal(c: char) -> bool {
    let turns_text =
        matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns_text || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_direction_marks_act_and_letters_of_every_script_do_not() {
        assert!(
            "\u{1b}\u{9b}\u{7f}\u{61c}\u{200e}\u{200f}\u{202a}\u{202e}\u{2066}\u{2069}".chars().all(acts_on_terminal)
        );
        assert!(!"aß日\u{5d0}\u{627}\u{200d}😀".chars().any(acts_on_terminal));
    }
}
