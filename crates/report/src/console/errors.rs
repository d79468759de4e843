//! The errors of requests, and advice on known ones.

use super::page::{Page, Style};
use super::panel::Panel;
use super::table::{Cell, Column, Table};
use super::text::{Align, literal};
use crate::format::number::thousands;
use crate::run::RunResult;
use aiperf_types::RequestError;
use serde_json::Value;

const TITLE: &str = "NVIDIA AIPerf | Error Summary";
/// Narrower screens show types and messages in one column.
const ROOM_FOR_TYPES: usize = 100;
/// Characters of a message on such a screen.
const ON_A_SCREEN: usize = 300;

/// Every distinct error with its count.
pub(crate) fn table(errors: &[(RequestError, u64)], page: Page) -> Option<String> {
    if errors.is_empty() {
        return None;
    }
    let (title, title_style) = (TITLE.into(), Style::ITALIC_RED);
    let (shown, rest) = errors.split_at(errors.len().min(MOST_ROWS));
    let more = (!rest.is_empty()).then(|| more_row(rest));
    let column = |title, align, wraps| Column { title, align, wraps };
    if page.is_screen() && page.width() < ROOM_FOR_TYPES {
        let columns = vec![
            column("Code", Align::Right, false),
            column("Error", Align::Left, true),
            column("Count", Align::Right, false),
        ];
        let rows = shown
            .iter()
            .map(|(error, count)| narrow_row(error, *count))
            .chain(more.map(|[code, _, message, count]| vec![code, message, count]))
            .collect();
        return Some(format!("\n\n{}", Table { title, title_style, columns, rows }.draw(page)));
    }
    let table = Table {
        title,
        title_style,
        columns: vec![
            column("Code", Align::Right, false),
            column("Type", Align::Right, true),
            column("Message", Align::Left, true),
            column("Count", Align::Right, false),
        ],
        rows: shown.iter().map(|(error, count)| row(error, *count).into()).chain(more.map(Vec::from)).collect(),
    };
    Some(format!("\n\n{}", table.draw(page)))
}

const ABSENT: &str = "N/A";

/// Errors that differ only in an id or a time are as many as requests: the first of them are enough.
const MOST_ROWS: usize = 25;

fn more_row(rest: &[(RequestError, u64)]) -> [Cell; 4] {
    let count: u64 = rest.iter().map(|(_, count)| count).sum();
    let message = format!("{} more errors with other texts; all of them are in the files", rest.len());
    [ABSENT.to_owned(), ABSENT.to_owned(), message, thousands(count)].map(|text| Cell { text, style: Style::YELLOW })
}

fn row(error: &RequestError, count: u64) -> [Cell; 4] {
    let code = error.code.filter(|code| *code != 0).map(|code| code.to_string());
    let kind = error.kind.as_deref().filter(|kind| !kind.is_empty()).map(literal);
    let absent = || ABSENT.to_owned();
    [code.unwrap_or_else(absent), kind.unwrap_or_else(absent), literal(&error.message), thousands(count)]
        .map(|text| Cell { text, style: Style::YELLOW })
}

/// A message cut for a narrow screen; the files contain all of it.
fn cut(message: String) -> String {
    match message.char_indices().nth(ON_A_SCREEN) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

fn narrow_row(error: &RequestError, count: u64) -> Vec<Cell> {
    let [code, kind, message, count] = row(error, count);
    let message_text = cut(message.text);
    let text = if kind.text == ABSENT { message_text } else { format!("{}: {message_text}", kind.text) };
    vec![code, Cell { text, style: message.style }, count]
}

/// An error whose cause and fix are known.
struct Known {
    /// Its message contains all of these.
    signs: &'static [&'static str],
    title: &'static str,
    problem: &'static str,
    causes: &'static [&'static str],
    steps: &'static [&'static str],
    fixes: &'static [&'static str],
}

/// Placeholder in advice for the name of the records file.
const RECORDS: &str = "{records}";

const KNOWN: &[Known] = &[Known {
    signs: &["extra_forbidden", "max_completion_tokens", "Extra inputs are not permitted"],
    title: "Unsupported Parameter: max_completion_tokens",
    problem: "The backend rejected 'max_completion_tokens'. This backend only supports 'max_tokens'.",
    causes: &[
        "AIPerf generated 'max_completion_tokens' due to --output-tokens-mean.",
        "The backend rejects 'max_completion_tokens' because it only supports 'max_tokens'.",
    ],
    steps: &["Inspect request payloads in {records}.", "Check the backend's supported parameters."],
    fixes: &[
        "Remove --output-tokens-mean.",
        "Or use --extra-inputs \"max_tokens:<value>\".",
        "Or run AIPerf with '--use-legacy-max-tokens' to force use of the legacy 'max_tokens' field instead of \
         'max_completion_tokens'.",
    ],
}];

/// Advice on the known errors of a run.
pub(crate) fn advice(run: &RunResult, page: Page) -> Option<String> {
    let seen = |known: &&Known| run.errors.iter().any(|(error, _)| known.is(&error.message));
    let panels: Vec<String> =
        KNOWN.iter().filter(seen).map(|known| format!("\n{}", known.panel(run).draw(page))).collect();
    (!panels.is_empty()).then(|| panels.concat())
}

impl Known {
    /// Servers differ in whether they wrap the text in an object.
    fn is(&self, message: &str) -> bool {
        let inner = serde_json::from_str::<Value>(message).ok();
        let inner = inner.as_ref().and_then(|value| value.get("message")?.as_str());
        [Some(message), inner].into_iter().flatten().any(|text| self.signs.iter().all(|sign| text.contains(sign)))
    }

    fn panel(&self, run: &RunResult) -> Panel {
        let records = literal(&run.artifacts.names.records_jsonl);
        let plain = |text: String| (text.replace(RECORDS, &records), Style::PLAIN);
        let bullets = |items: &[&str]| items.iter().map(|item| plain(format!("  • {item}"))).collect::<Vec<_>>();
        let steps = self.steps.iter().enumerate().map(|(at, step)| plain(format!("  {}. {step}", at + 1))).collect();
        let mut lines = vec![(self.problem.to_owned(), Style::BOLD)];
        for (heading, items) in [
            ("Possible Causes:", bullets(self.causes)),
            ("Investigation Steps:", steps),
            ("Suggested Fixes:", bullets(self.fixes)),
        ] {
            lines.push((String::new(), Style::PLAIN));
            lines.push((heading.to_owned(), Style::BOLD));
            lines.extend(items);
        }
        Panel { title: self.title.into(), border: Style::YELLOW, lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_differ_only_in_an_id_do_not_flood_the_console() {
        let error = |id: u64| (RequestError::status(500, "Internal Server Error", format!("request {id}")), 2);
        let errors: Vec<(RequestError, u64)> = (0..1000).map(error).collect();
        for page in [Page::file(), Page::screen(80)] {
            let table = table(&errors, page).unwrap();
            assert!(table.contains("request 24") && !table.contains("request 25"));
            assert!(table.contains("975 more errors") && table.contains("1,950"), "{table}");
        }
    }
}
