//! The text of a bar, fitted to the terminal.

use super::stages::{Amount, Clock, Standing};
use crate::blocks::blocks;
use aiperf_report::{clock_text, thousands};

/// Widest and narrowest bar: a narrower one shows less than the words in its place.
const WIDEST_BAR: usize = 24;
const NARROWEST_BAR: usize = 10;

/// `Profiling: 21/24 |████████▊ |  88% [00:03<00:00] 0 errors, 6.3 req/s`. If time or sessions are the target:
/// `Profiling:  40% |████      | [00:03<00:05] 12 requests, 0 errors`. Words that do not fit are left out.
pub(super) fn frame(standing: &Standing, columns: usize, colours: bool) -> String {
    let (before, after) = around(standing);
    let taken = before.len() + " || ".len() + after.join(" ").len();
    let room = columns.checked_sub(taken).filter(|room| *room >= NARROWEST_BAR);
    let Some((share, room)) = standing.share().zip(room) else {
        return without_bar(before, &after, &standing.more, columns);
    };
    let more = fitting(&standing.more, room - NARROWEST_BAR);
    let columns = (room - more.len()).min(WIDEST_BAR);
    let bar = painted(&format!("{:<columns$}", blocks(share, columns)), standing.stage.colour, colours);
    format!("{before} |{bar}| {}{more}", after.join(" "))
}

/// The same without a bar.
pub(super) fn words(standing: &Standing, columns: usize) -> String {
    let (before, after) = around(standing);
    without_bar(before, &after, &standing.more, columns)
}

/// The text before the bar, and the texts right after it.
fn around(standing: &Standing) -> (String, Vec<String>) {
    let name = standing.stage.name;
    let share = standing.share();
    let percent = share.map(|share| format!("{:>3.0}%", share * 100.0));
    let (before, percent) = match standing.amount {
        Amount::Of { done, total } => (format!("{name}: {}/{}", thousands(done), thousands(total)), percent),
        Amount::Share(_) => (format!("{name}: {}", percent.unwrap_or_default()), None),
        Amount::Requests(done) if standing.clock.is_some() => (format!("{name}: {} requests", thousands(done)), None),
        Amount::Requests(_) => (format!("{name}: ..."), None),
    };
    (before, [percent, standing.clock.map(clock)].into_iter().flatten().collect())
}

/// For a stage without a share, or a terminal without room for a bar.
fn without_bar(before: String, after: &[String], more: &[String], columns: usize) -> String {
    let mut text: String = before.chars().take(columns).collect();
    for part in after {
        if text.len() + 1 + part.len() > columns {
            return text;
        }
        text = format!("{text} {part}");
    }
    let more = fitting(more, columns.saturating_sub(text.len()));
    text + &more
}

/// ` 0 errors, 6.3 req/s`: as many words as fit.
fn fitting(words: &[String], room: usize) -> String {
    let mut text = String::new();
    for word in words {
        let next = if text.is_empty() { format!(" {word}") } else { format!("{text}, {word}") };
        if next.len() > room {
            break;
        }
        text = next;
    }
    text
}

fn clock(Clock { elapsed, left }: Clock) -> String {
    format!("[{}<{}]", clock_text(elapsed), left.map_or_else(|| "?".to_owned(), clock_text))
}

fn painted(text: &str, colour: &str, colours: bool) -> String {
    if colours && !colour.is_empty() { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::stages::tests::{
        after, in_warmup, of_forty, of_ten_seconds, progress, progress_event, with_records,
    };
    use super::*;
    use aiperf_types::{PhaseProgress, PhaseStage, PhaseTargets, Preparing, Progress, RunEvent};
    use std::sync::Arc;

    fn shown(progress: Progress, columns: usize) -> String {
        frame(&after(&[progress_event(progress)]).expect("a stage"), columns, false)
    }

    #[test]
    fn every_stage_has_its_bar() {
        let counts = PhaseProgress { sent: 1400, completed: 1029, cancelled: 1, ..PhaseProgress::default() };
        let grace = Progress { stage: PhaseStage::Draining, ..of_ten_seconds(11_500, counts) };
        let preparing = Preparing { stage: "Making prompts", done: 21, total: Some(24) };
        let lines = [
            after(&[RunEvent::Preparing(Arc::new(preparing))]),
            after(&[progress_event(in_warmup(of_forty(4000, 35)))]),
            after(&[progress_event(in_warmup(of_ten_seconds(4000, counts)))]),
            after(&[progress_event(in_warmup(grace.clone()))]),
            after(&[progress_event(of_forty(4000, 35))]),
            after(&[progress_event(of_ten_seconds(4000, counts))]),
            after(&[progress_event(grace)]),
            after(&[with_records(21, of_forty(4000, 40))]),
        ];
        let lines = lines.map(|standing| frame(&standing.expect("a stage"), 79, false));
        insta::assert_snapshot!(lines.join("\n"), @"
        Making prompts: 21/24 |█████████████████████   |  88%
        Warmup: 35/40 |█████████████████████   |  88% [00:04<00:00] 1 error, 8.8 req/s
        Warmup:  40% |████▊       | [00:04<00:06] 1,029 requests, 0 errors, 257.2 req/s
        Warmup Grace Period: 1,030/1,400 |██████████████▋     |  74% [00:00<?] 0 errors
        Profiling: 35/40 |███████████████████▎  |  88% [00:04<00:00] 1 error, 8.8 req/s
        Profiling:  40% |████████▊             | [00:04<00:06] 1,029 requests, 0 errors
        Profiling Grace Period: 1,030/1,400 |████████████▌    |  74% [00:00<?] 0 errors
        Processing Records: 21/40 |████████████▌           |  52% [00:00<?]
        ");
    }

    #[test]
    fn a_narrow_terminal_shows_less_on_one_line() {
        let lines = [119, 79, 59, 49, 39, 24, 16].map(|columns| shown(of_forty(4000, 20), columns));
        insta::assert_snapshot!(lines.join("\n"), @"
        Profiling: 20/40 |████████████            |  50% [00:04<00:04] 1 error, 5.0 req/s
        Profiling: 20/40 |███████████           |  50% [00:04<00:04] 1 error, 5.0 req/s
        Profiling: 20/40 |██████▌      |  50% [00:04<00:04] 1 error
        Profiling: 20/40 |█████▌     |  50% [00:04<00:04]
        Profiling: 20/40  50% [00:04<00:04]
        Profiling: 20/40  50%
        Profiling: 20/40
        ");
    }

    #[test]
    fn no_frame_is_wider_than_the_terminal() {
        let counts = PhaseProgress { sent: 70, completed: 60, missed: 5, ..PhaseProgress::default() };
        let open = |targets: PhaseTargets| progress(targets, 3_600_000, counts);
        let length = of_ten_seconds(0, counts).targets.length;
        for columns in 10..200 {
            for progress in [
                of_forty(3_600_000, 39),
                open(PhaseTargets::default()),
                open(PhaseTargets { length, ..PhaseTargets::default() }),
            ] {
                let line = shown(progress, columns);
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn a_rate_shows_what_it_missed_and_what_is_in_flight() {
        let counts = PhaseProgress { sent: 70, completed: 60, missed: 5, ..PhaseProgress::default() };
        let length = of_ten_seconds(0, counts).targets.length;
        let targets = PhaseTargets { length, ..PhaseTargets::default() };
        assert_eq!(
            shown(progress(targets, 6000, counts), 119),
            "Profiling:  60% |██████████████▍         | [00:06<00:04] 60 requests, 0 errors, 10.0 req/s, 5 missed, 10 in \
             flight"
        );
    }

    #[test]
    fn the_first_frame_starts_at_zero() {
        let first = shown(of_forty(0, 0), 79);
        assert!(first.contains("|   0% [00:00<?]") && !first.contains('█'), "{first}");
        let until_stopped = progress(PhaseTargets::default(), 0, PhaseProgress::default());
        assert!(shown(until_stopped, 79).starts_with("Profiling: 0 requests [00:00<?] 0 errors"));
    }

    #[test]
    fn a_bar_has_the_colour_of_its_stage() {
        let standing = after(&[progress_event(of_forty(4000, 40))]).expect("a stage");
        let painted = frame(&standing, 60, true);
        assert!(painted.contains("|\x1b[32m████"), "{painted}");
        assert!(!frame(&standing, 60, false).contains('\x1b'));
    }
}
