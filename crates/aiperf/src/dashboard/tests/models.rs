//! The state after events and keys.

use super::story::*;
use crate::dashboard::keys::{Effect, MOST_COPIED};
use crate::dashboard::logs::{LONGEST_MESSAGE, MOST_LINES};
use crate::dashboard::model::Model;
use crate::dashboard::pane_id::PaneId;
use crate::dashboard::phases;
use crate::dashboard::threads::ThreadUse;
use crate::dashboard::trends::Curve;
use aiperf_types::{LogLevel, Nanos, PhaseKind, PhaseStage, PhaseTargets, RunEvent, RunStarted, WallAnchor};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::path::Path;
use std::sync::Arc;

fn press(model: &mut Model, code: KeyCode, modifiers: KeyModifiers) -> Effect {
    model.press(KeyEvent::new(code, modifiers))
}

fn mouse(model: &mut Model, kind: MouseEventKind, column: u16, row: u16) {
    model.mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
}

fn copied(model: &mut Model) -> (String, bool) {
    match press(model, KeyCode::Char('c'), KeyModifiers::NONE) {
        Effect::Copy { text, is_all } => (text, is_all),
        other => panic!("nothing copied: {other:?}"),
    }
}

#[test]
fn the_log_is_shown_alone_until_the_first_progress() {
    assert_eq!(waiting(80, 24).view.maximised, Some(PaneId::Logs));
    assert_eq!(warming_up(80, 24).view.maximised, None);
}

#[test]
fn a_chosen_view_stays() {
    let mut model = waiting(80, 24);
    key(&mut model, '3');
    let (warmup, targets) = (phase(0, PhaseKind::Warmup), of_requests(4));
    model.take(&progress(&warmup, targets, 100, PhaseStage::Sending, counts(1, 0, 0), 0));
    assert_eq!(model.view.maximised, Some(PaneId::Metrics));
}

#[test]
fn keys_of_panes_toggle_and_others_restore() {
    let mut model = profiling(80, 24, 0);
    for (pressed, pane) in
        [('2', PaneId::Progress), ('3', PaneId::Metrics), ('4', PaneId::Workers), ('6', PaneId::Logs)]
    {
        key(&mut model, pressed);
        assert_eq!(model.view.maximised, Some(pane));
    }
    key(&mut model, '6');
    assert_eq!(model.view.maximised, None);
    key(&mut model, '4');
    key(&mut model, '1');
    assert_eq!(model.view.maximised, None);
    key(&mut model, 'l');
    assert!(model.view.hides_logs);
    key(&mut model, '2');
    press(&mut model, KeyCode::Esc, KeyModifiers::NONE);
    assert!(model.view.maximised.is_none() && !model.view.hides_logs);
}

#[test]
fn without_gpu_telemetry_its_key_shows_a_note() {
    let mut model = warming_up(80, 24);
    key(&mut model, '5');
    assert_eq!(model.view.maximised, None);
    assert!(shown(&model).contains("There is no GPU telemetry to show"));
    model.at(Nanos(10_000_000_000));
    assert!(!shown(&model).contains("There is no GPU telemetry to show"), "a toast goes away");
    let mut model = profiling(80, 24, 0);
    key(&mut model, '5');
    assert_eq!(model.view.maximised, Some(PaneId::Gpu));
}

#[test]
fn a_dashboard_with_gpus_opens_with_them() {
    let mut model = waiting(80, 24).opening_with(Some(PaneId::Gpu));
    assert_eq!(model.view.maximised, Some(PaneId::Logs));
    let (warmup, targets) = (phase(0, PhaseKind::Warmup), of_requests(4));
    model.take(&progress(&warmup, targets, 100, PhaseStage::Sending, counts(1, 0, 0), 0));
    assert_eq!(model.view.maximised, Some(PaneId::Gpu));
    assert!(shown(&model).contains("No telemetry data available yet. Please wait..."));
    model.take(&gpus());
    assert!(shown(&model).contains("localhost | GPU 0 | NVIDIA H100 80GB HBM3"));
    key(&mut model, '5');
    assert_eq!(model.view.maximised, None);
}

#[test]
fn keys_with_ctrl_have_side_effects() {
    let mut model = profiling(80, 24, 0);
    let mut with_ctrl = |key| press(&mut model, KeyCode::Char(key), KeyModifiers::CONTROL);
    assert_eq!([with_ctrl('c'), with_ctrl('z'), with_ctrl('s')], [Effect::Interrupt, Effect::Suspend, Effect::Picture]);
    let (text, is_all) = copied(&mut model);
    assert!(is_all);
    assert!(text.starts_with("[08:20:34.532] INFO     [OK] Tokenizer Qwen/Qwen3-0.6B detected\n"), "{text}");
}

#[test]
fn two_clicks_on_a_pane_maximise_it() {
    let mut model = profiling(80, 24, 0);
    let click = |model: &mut Model, at: u64| {
        model.at(Nanos::from_millis(at));
        mouse(model, MouseEventKind::Down(MouseButton::Left), 10, 5);
    };
    click(&mut model, 1000);
    click(&mut model, 2000);
    assert_eq!(model.view.maximised, None, "two slow clicks are not a double click");
    click(&mut model, 2200);
    assert_eq!(model.view.maximised, Some(PaneId::Progress));
    click(&mut model, 3000);
    click(&mut model, 3200);
    assert_eq!(model.view.maximised, None);
}

#[test]
fn between_warm_up_and_profiling_the_status_is_that_of_the_phase() {
    let mut model = warming_up(80, 24);
    let warmup = phase(0, PhaseKind::Warmup);
    let status = |model: &Model| phases::status(model.phases.current().unwrap());
    assert_eq!(status(&model), "Warmup");
    model.take(&RunEvent::RequestsDone(moment(&warmup, 5, counts(16, 16, 0))));
    let (next, targets) = (phase(1, PhaseKind::Profiling), of_requests(480));
    model.take(&started(&next, targets, 5));
    assert_eq!(status(&model), "Profiling");
    model.take(&RunEvent::PhaseComplete(moment(&warmup, 6, counts(16, 16, 0))));
    assert_eq!(status(&model), "Profiling", "complete records of the warm-up do not change profiling");
}

#[test]
fn records_are_counted_from_zero_in_each_phase() {
    let mut model = warming_up(80, 24);
    assert!(model.phases.current().unwrap().records_share() > 0.7);
    model.take(&started(&phase(1, PhaseKind::Profiling), of_requests(480), 5));
    assert_eq!(model.phases.current().unwrap().records_share(), 0.0);
}

#[test]
fn nothing_goes_back_when_a_snapshot_comes_late() {
    let mut model = processing(80, 24);
    let late = progress(
        &phase(1, PhaseKind::Profiling),
        of_requests(480),
        55_000,
        PhaseStage::Sending,
        counts(480, 480, 0),
        470,
    );
    model.take(&late);
    assert_eq!(phases::status(model.phases.current().unwrap()), "Processing");
}

#[test]
fn the_nearest_target_counts() {
    let length = Some(Nanos::from_millis(10_000));
    let targets = PhaseTargets { requests: Some(1000), length, ..PhaseTargets::default() };
    let mut model = model(80, 24);
    let profiling = phase(0, PhaseKind::Profiling);
    model.take(&progress(&profiling, targets, 5000, PhaseStage::Sending, counts(110, 100, 0), 100));
    assert!(shown(&model).contains("5.0 / 10.0 seconds"), "{}", shown(&model));
    assert_eq!(model.phases.current().unwrap().seconds_left(), Some(5.0));
}

#[test]
fn sessions_are_counted_where_they_end_the_phase() {
    let targets = PhaseTargets { sessions: Some(8), ..PhaseTargets::default() };
    let mut model = model(120, 40);
    let counts = aiperf_types::PhaseProgress { sessions_completed: 2, ..counts(12, 9, 0) };
    model.take(&progress(&phase(0, PhaseKind::Profiling), targets, 5000, PhaseStage::Sending, counts, 9));
    assert!(shown(&model).contains("2 / 8 user sessions"), "{}", shown(&model));
}

#[test]
fn the_log_follows_its_end_unless_the_user_scrolls_up() {
    let mut model = model(80, 24);
    for number in 0..100 {
        model.log(&line(LogLevel::Info, number, &format!("line {number}.")));
    }
    assert!(shown(&model).contains("line 99."));
    press(&mut model, KeyCode::PageUp, KeyModifiers::NONE);
    assert!(!shown(&model).contains("line 99."));
    let seen = shown(&model);
    model.log(&line(LogLevel::Info, 100, "line 100."));
    assert_eq!(shown(&model), seen, "the visible lines stay");
    press(&mut model, KeyCode::Home, KeyModifiers::NONE);
    assert!(shown(&model).contains("line 0.") && shown(&model).contains("line 15."));
    press(&mut model, KeyCode::End, KeyModifiers::NONE);
    assert!(shown(&model).contains("line 100."));
    mouse(&mut model, MouseEventKind::ScrollUp, 10, 10);
    assert!(!shown(&model).contains("line 100."));
    mouse(&mut model, MouseEventKind::ScrollDown, 10, 10);
    assert!(shown(&model).contains("line 100."));
}

#[test]
fn the_log_keeps_its_last_lines_and_the_beginning_of_each() {
    let mut model = model(80, 24);
    for number in 0..MOST_LINES as u64 + 5 {
        model.log(&line(LogLevel::Info, number, &format!("{number}:{}", "x".repeat(600))));
    }
    let (text, is_all) = model.logs.latest_text(usize::MAX);
    assert!(!is_all, "five lines are gone");
    assert_eq!(text.lines().count(), MOST_LINES);
    assert!(text.starts_with("[00:00:00.005] INFO     5:xxx"));
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert_eq!(longest, "[00:00:00.000] INFO     ".len() + LONGEST_MESSAGE + 1);
}

#[test]
fn the_table_is_refreshed_every_interval_and_immediately_for_another_kind() {
    let mut model = model(120, 40);
    let count = |model: &Model| {
        let row = model.metrics.iter().find(|row| row.label == "Requests").unwrap();
        row.numbers[0].clone().unwrap()
    };
    model.take(&metrics(PhaseKind::Warmup, 1, 3));
    assert_eq!(count(&model), "3.00");
    model.take(&metrics(PhaseKind::Warmup, 2, 4));
    assert_eq!(count(&model), "3.00", "it is not time yet");
    model.take(&metrics(PhaseKind::Profiling, 3, 1));
    assert_eq!(count(&model), "1.00");
    model.take(&metrics(PhaseKind::Profiling, 8, 7));
    assert_eq!(count(&model), "7.00");
}

#[test]
fn the_table_shows_its_time_and_is_refreshed_at_the_end() {
    let mut model = profiling(120, 40, 0);
    assert!(shown(&model).contains("Real-Time Metrics · as of 00:26"), "{}", shown(&model));
    let last = phase(1, PhaseKind::Profiling);
    model.take(&RunEvent::PhaseComplete(moment(&last, 36, counts(220, 220, 0))));
    assert!(shown(&model).contains("Real-Time Metrics · as of 00:30"), "{}", shown(&model));
    model.take(&metrics(PhaseKind::Profiling, 36, 220));
    assert!(shown(&model).contains("Real-Time Metrics · as of 00:31"), "{}", shown(&model));
}

#[test]
fn usage_is_not_in_the_table() {
    let labels: Vec<String> = profiling(80, 24, 0).metrics.into_iter().map(|row| row.label).collect();
    assert!(labels.starts_with(&["TTFT (ms)".to_owned(), "TTST (ms)".to_owned()]), "{labels:?}");
    assert!(labels.contains(&"Output TPS/User".to_owned()), "{labels:?}");
    assert!(!labels.iter().any(|label| label.starts_with("Usage")), "{labels:?}");
}

/// A snapshot at a second, with so many first tokens so far and this mean.
fn first_tokens(kind: PhaseKind, at: u64, count: u64, mean: f64) -> RunEvent {
    let RunEvent::Metrics(snapshot) = metrics(kind, at, count) else { unreachable!() };
    let mut snapshot = (*snapshot).clone();
    let ttft = snapshot.metrics.iter_mut().find(|metric| metric.tag == "time_to_first_token").unwrap();
    ttft.stats.sum = Some(count as f64 * mean);
    RunEvent::Metrics(std::sync::Arc::new(snapshot))
}

fn curve(model: &Model, curve: Curve) -> Vec<Option<f64>> {
    model.trends.last(curve, 10).collect()
}

#[test]
fn curves_show_each_second_by_itself() {
    let mut model = model(80, 24);
    let (profiling, targets) = (phase(0, PhaseKind::Profiling), of_requests(1000));
    model.take(&started(&profiling, targets, 5));
    for (millis, completed) in [(1000, 10), (1500, 12), (2000, 40)] {
        let counts = counts(completed, completed, 0);
        model.take(&progress(&profiling, targets, millis, PhaseStage::Sending, counts, completed));
    }
    assert_eq!(curve(&model, Curve::RequestRate), [Some(10.0), Some(30.0)]);
    model.take(&first_tokens(PhaseKind::Profiling, 6, 10, 100.0));
    model.take(&first_tokens(PhaseKind::Profiling, 7, 20, 150.0));
    let means = curve(&model, Curve::FirstToken);
    assert_eq!(means, [Some(100.0), Some(200.0)], "the second ten took twice as long");
}

#[test]
fn curves_have_the_same_seconds_and_gaps_where_nothing_came() {
    let mut model = model(80, 24);
    let (profiling, targets) = (phase(0, PhaseKind::Profiling), of_requests(1000));
    model.take(&started(&profiling, targets, 5));
    for (second, completed) in [(1, 0), (2, 0), (3, 4), (4, 4), (5, 6)] {
        let counts = counts(8, completed, 0);
        model.take(&progress(&profiling, targets, second * 1000, PhaseStage::Sending, counts, completed));
        if completed > 0 {
            model.take(&first_tokens(PhaseKind::Profiling, 5 + second, completed, 100.0));
        }
    }
    assert_eq!(curve(&model, Curve::RequestRate), [0.0, 0.0, 4.0, 0.0, 2.0].map(Some));
    let hundred = Some(100.0);
    assert_eq!(curve(&model, Curve::FirstToken), [None, None, hundred, None, hundred]);
}

#[test]
fn curves_restart_with_profiling_and_continue_with_its_next_phase() {
    let mut model = warming_up(80, 24);
    assert_eq!(curve(&model, Curve::RequestRate), [Some(4.0); 3]);
    let targets = of_requests(1000);
    let (first, second) = (phase(1, PhaseKind::Profiling), phase(2, PhaseKind::Profiling));
    model.take(&started(&first, targets, 5));
    assert!(curve(&model, Curve::RequestRate).is_empty() && curve(&model, Curve::FirstToken).is_empty());
    model.take(&progress(&first, targets, 1000, PhaseStage::Sending, counts(9, 7, 0), 7));
    model.take(&started(&second, targets, 8));
    model.take(&progress(&first, targets, 3500, PhaseStage::Draining, counts(9, 9, 0), 9));
    model.take(&progress(&second, targets, 1000, PhaseStage::Sending, counts(9, 5, 0), 5));
    assert_eq!(curve(&model, Curve::RequestRate), [Some(7.0), None, None, Some(5.0)]);
    assert_eq!(model.trends.seconds(2), 2..4);
}

#[test]
fn the_health_of_a_worker_follows_its_last_result() {
    let mut model = profiling(120, 40, 8);
    key(&mut model, '4');
    assert!(shown(&model).contains("0 healthy • 0 high load • 2 error • 0 idle • 0 stale"), "{}", shown(&model));
    model.at(Nanos(60_000_000_000));
    assert!(shown(&model).contains("0 healthy • 0 high load • 0 error • 0 idle • 2 stale"), "{}", shown(&model));
}

#[test]
fn a_worker_has_the_name_of_the_records() {
    let mut model = profiling(120, 40, 8);
    let anchor = WallAnchor::default();
    let run = RunStarted { benchmark_id: "id".into(), anchor, directory: Path::new("out").into() };
    model.take(&RunEvent::RunStarted(Arc::new(run)));
    key(&mut model, '4');
    let name = aiperf_report::RunIds::new("id").worker_id(0);
    assert!(shown(&model).contains(&name) && !shown(&model).contains("worker_0 "), "{}", shown(&model));
}

#[test]
fn the_latest_lines_are_copied_if_there_are_too_many() {
    let mut model = model(80, 24);
    for number in 0..1000 {
        model.log(&line(LogLevel::Info, number, &format!("{number}:{}", "x".repeat(200))));
    }
    let (text, is_all) = copied(&mut model);
    assert!(!is_all && text.len() <= MOST_COPIED && text.len() > MOST_COPIED - 300, "{}", text.len());
    assert!(text.starts_with("[00:00:00.") && text.ends_with('\n'));
    assert!(text.lines().last().unwrap().contains(" 999:x"));
}

#[test]
fn the_next_key_scrolls_back_from_the_end_of_a_pane() {
    let mut model = profiling(80, 24, 0);
    let thread = |id| ThreadUse { id, name: format!("thread-{id}."), cpu: None };
    model.threads((101..140).map(thread).collect(), None);
    key(&mut model, '4');
    let top = shown(&model);
    press(&mut model, KeyCode::End, KeyModifiers::NONE);
    let end = shown(&model);
    assert!(end != top && !end.contains("more …"), "{end}");
    press(&mut model, KeyCode::Up, KeyModifiers::NONE);
    assert_ne!(shown(&model), end, "{end}");
    press(&mut model, KeyCode::Down, KeyModifiers::NONE);
    assert_eq!(shown(&model), end);
    press(&mut model, KeyCode::Home, KeyModifiers::NONE);
    assert_eq!(shown(&model), top);
    press(&mut model, KeyCode::End, KeyModifiers::NONE);
    // The pane is now shorter than the scroll position.
    model.threads((101..125).map(thread).collect(), None);
    let end = shown(&model);
    press(&mut model, KeyCode::Up, KeyModifiers::NONE);
    assert_ne!(shown(&model), end);
}

#[test]
fn a_phase_with_all_requests_sent_is_profiling_until_they_are_back() {
    let mut model = model(120, 40);
    let (profiling, targets) = (phase(0, PhaseKind::Profiling), of_requests(100));
    model.take(&started(&profiling, targets, 0));
    model.take(&RunEvent::SendingComplete(moment(&profiling, 0, counts(100, 0, 0))));
    model.take(&progress(&profiling, targets, 100, PhaseStage::Draining, counts(100, 0, 0), 0));
    let seen = shown(&model);
    assert!(seen.contains("0 / 100 requests (0.0%)") && !seen.contains("Grace Period"), "{seen}");
}
