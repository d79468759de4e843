//! Text in columns: its width, its wrapping, and what is safe to show.

use aiperf_types::acts_on_terminal;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Makes foreign text safe to print: control characters become visible, so that a server's response cannot move the
/// cursor, change colours or reverse the direction of the text after it. Line breaks stay.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = text.replace("\r\n", "\n");
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            '\t' => out.push_str("    "),
            c if acts_on_terminal(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Foreign text on one line of at most `columns` columns, with a mark if it was cut.
pub(crate) fn one_line(text: &str, columns: usize) -> String {
    let flat = literal(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if width(&flat) <= columns {
        return flat;
    }
    let mut out = String::new();
    for c in flat.chars() {
        if width(&out) + c.width().unwrap_or(0) >= columns {
            break;
        }
        out.push(c);
    }
    out.trim_end().to_owned() + "…"
}

/// Breaks text into lines that fit, at words; those after the first are indented.
pub fn wrap_hanging(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut wrapped = wrap_paragraph(paragraph, columns.max(1)).into_iter();
        let Some(first) = wrapped.next() else { continue };
        let rest = paragraph.get(first.len()..).unwrap_or_default().trim_start();
        lines.push(first.trim_end().to_owned());
        if !rest.is_empty() {
            let further = wrap_paragraph(rest, columns.saturating_sub(indent).max(1));
            lines.extend(further.iter().map(|line| format!("{:indent$}{}", "", line.trim_end())));
        }
    }
    lines
}

/// Fits a text of two columns, such as help, into `columns`: what follows two or more spaces stays in its column. A
/// command stays one that can be pasted into a shell, and a word is broken only if it is wider than the whole width.
pub fn fit(text: &str, columns: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        for line in fit_line(line, columns) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// Every command in help begins with this.
const COMMAND: &str = "aiperf ";

fn fit_line(line: &str, columns: usize) -> Vec<String> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let second = text.find("  ").map(|at| indent + at);
    if width(line) > columns && second.is_none() && text.starts_with(COMMAND) {
        return continued(line, columns, indent + 2);
    }
    let second = second.map(|at| at + line[at..].len() - line[at..].trim_start().len());
    // A second column without room for words is ignored.
    let hang = second.filter(|at| at + LEAST_COLUMN <= columns).unwrap_or(indent);
    let widest = text.split_whitespace().map(width).max().unwrap_or(0);
    if hang + widest <= columns {
        return wrap_hanging(line, columns, hang);
    }
    if second.is_some() {
        return wrap_hanging(line, columns, columns.saturating_sub(widest));
    }
    // The line moves left: as a whole if that is enough, otherwise as far as its widest word needs.
    let whole = columns.checked_sub(width(text));
    let left = whole.unwrap_or_else(|| columns.saturating_sub(widest)).min(indent);
    wrap_hanging(&format!("{:left$}{text}", ""), columns, left)
}

/// A command in several lines, each but the last with a backslash, so that a shell reads them as one.
fn continued(line: &str, columns: usize, indent: usize) -> Vec<String> {
    let mut lines = wrap_hanging(line, columns.saturating_sub(" \\".len()), indent);
    if let Some((_, but_last)) = lines.split_last_mut() {
        but_last.iter_mut().for_each(|line| line.push_str(" \\"));
    }
    lines
}

/// The fewest columns in which text is readable.
const LEAST_COLUMN: usize = 20;

/// Breaks text into lines of at most `limit` columns: at spaces, and inside a word only when the word alone is wider.
/// Spaces before a break stay on their line as far as they fit.
pub(crate) fn wrap(text: &str, limit: usize) -> Vec<String> {
    text.split('\n').flat_map(|paragraph| wrap_paragraph(paragraph, limit.max(1))).collect()
}

/// Breaks text into lines at spaces only: a word that is wider than the line, such as a path, stays whole.
pub(crate) fn wrap_whole(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text) {
        let bare = word.trim_end();
        match lines.last_mut() {
            Some(line) if line.is_empty() || width(line) + width(bare) <= limit => line.push_str(word),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

fn wrap_paragraph(paragraph: &str, limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in words(paragraph) {
        let bare = word.trim_end();
        if used + width(bare) > limit && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for c in bare.chars() {
            let columns = c.width().unwrap_or(0);
            if used + columns > limit {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += columns;
        }
        line.push_str(&word[bare.len()..]);
        used += width(&word[bare.len()..]);
    }
    lines.push(line);
    lines.into_iter().map(|line| cut_spaces(line, limit)).collect()
}

/// Words with the spaces that follow them. A value stays with its name: `p50=   30ms`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let word_from = |at: usize| rest[at..].find(|c: char| !c.is_whitespace()).map_or(rest.len(), |word| at + word);
        let space_from = |at: usize| rest[at..].find(char::is_whitespace).map_or(rest.len(), |space| at + space);
        let mut end = space_from(word_from(0));
        while rest[..end].ends_with('=') && end < rest.len() {
            end = space_from(word_from(end));
        }
        let end = word_from(end);
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Drops trailing spaces that do not fit.
fn cut_spaces(mut line: String, limit: usize) -> String {
    while line.ends_with(char::is_whitespace) && width(&line) > limit {
        line.pop();
    }
    line
}

/// The alignment of text in its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// The text, padded to `columns` before or after it.
pub(crate) fn fill(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}

/// The text in the middle of `columns`, padded with `filler`; an odd column goes to the right.
pub(crate) fn centre(text: &str, columns: usize, filler: &str) -> (String, String) {
    let free = columns.saturating_sub(width(text));
    (filler.repeat(free / 2), filler.repeat(free - free / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_breaks_at_spaces_and_keeps_those_that_fit() {
        assert_eq!(wrap("aa bb cc", 6), ["aa bb ", "cc"]);
        assert_eq!(wrap("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap("a\nb", 5), ["a", "b"]);
    }

    #[test]
    fn help_stays_in_its_columns() {
        let text = "Usage: aiperf [OPTIONS]\n\n  -u, --url URL      Where requests go, one URL or several\n\
                    \x20 -h                 Help\n";
        insta::assert_snapshot!(fit(text, 42), @r"
        Usage: aiperf [OPTIONS]

          -u, --url URL      Where requests go,
                             one URL or several
          -h                 Help
        ");
        assert_eq!(
            fit("  --flag          some words that go on and on", 30),
            "  --flag          some words\n  that go on and on\n"
        );
        assert_eq!(fit(text, 100), text);
    }

    #[test]
    fn a_word_that_does_not_fit_below_its_column_moves_to_the_left() {
        let text = format!("{:30}file: benchmark.endpoint.timeout_seconds", "");
        assert_eq!(fit(&text, 60), format!("{:20}file: benchmark.endpoint.timeout_seconds\n", ""));
        assert_eq!(fit(&text, 36), "  file:\n  benchmark.endpoint.timeout_seconds\n");
        let text = "  --flag                  is benchmark.endpoint.timeout_seconds";
        assert_eq!(
            fit(text, 50),
            format!("  --flag                  is\n{:16}benchmark.endpoint.timeout_seconds\n", "")
        );
    }

    #[test]
    fn a_command_in_several_lines_can_be_pasted() {
        let text = "Example:\n  aiperf profile --model m --url localhost:8000 --streaming\n";
        insta::assert_snapshot!(fit(text, 36), @r"
        Example:
          aiperf profile --model m --url \
            localhost:8000 --streaming
        ");
        let command = text.lines().nth(1).expect("a command").trim();
        for columns in 20..60 {
            let shown = fit(text, columns);
            let pasted = shown.lines().skip(1).collect::<Vec<_>>().join("\n").replace("\\\n", "");
            assert_eq!(pasted.split_whitespace().collect::<Vec<_>>().join(" "), command, "{columns}");
            assert!(shown.lines().all(|line| line.len() <= columns), "{shown}");
        }
    }

    #[test]
    fn a_value_stays_with_its_name() {
        assert_eq!(wrap("p50=   3ms  p75=  4ms", 12), ["p50=   3ms  ", "p75=  4ms"]);
        assert_eq!(wrap("a= ", 12), ["a= "]);
    }

    #[test]
    fn words_that_do_not_fit_stay_whole_where_they_must() {
        assert_eq!(wrap_whole("see /a/long/path and more", 8), ["see", "/a/long/path", "and more"]);
        assert_eq!(wrap_whole("", 8), [""]);
    }

    #[test]
    fn one_line_is_cut_where_it_ends_and_breaks_are_spaces() {
        assert_eq!(one_line("a\n  b\tc\u{1b}", 20), "a b c\\u{1b}");
        assert_eq!(one_line("aaa bbb ccc", 9), "aaa bbb…");
        assert_eq!(one_line("日本語", 5), "日本…");
    }

    #[test]
    fn a_word_wider_than_the_line_is_broken() {
        assert_eq!(wrap("ab cdefghij k", 4), ["ab ", "cdef", "ghij", "k"]);
    }

    #[test]
    fn wide_characters_count_double() {
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn control_characters_are_made_visible() {
        assert_eq!(literal("a\x1b[31mb\tc\r\nd\u{9b}"), "a\\u{1b}[31mb    c\nd\\u{9b}");
        assert_eq!(literal("a\u{202e}b\u{2067}שלום"), "a\\u{202e}b\\u{2067}שלום");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_nothing_but_spaces_is_lost(text in "[a-z 日]{0,60}", limit in 2usize..20) {
            let lines = wrap(&text, limit);
            prop_assert!(lines.iter().all(|line| width(line) <= limit));
            let squeeze = |text: &str| text.replace(' ', "");
            prop_assert_eq!(squeeze(&lines.concat()), squeeze(&text));
            let hanging = wrap_hanging(&text, limit, limit / 2);
            prop_assert!(hanging.iter().all(|line| width(line) <= limit + 1));
            prop_assert_eq!(squeeze(&hanging.concat()), squeeze(&text));
        }
    }
}
