//! The screens, at several sizes.

use super::story::*;
use crate::dashboard::model::Model;
use crate::dashboard::panes::PANES;

/// A usual terminal, a larger one, a very large one.
const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn hold(name: &str, of: impl Fn(u16, u16) -> Model) {
    for (columns, rows) in SIZES {
        insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), shown(&of(columns, rows)));
    }
}

#[test]
fn a_run_that_is_prepared_shows_its_log() {
    hold("waiting", waiting);
}

#[test]
fn a_warm_up_shows_its_own_progress() {
    hold("warm_up", warming_up);
}

#[test]
fn profiling_shows_everything_at_once() {
    hold("profiling", |columns, rows| profiling(columns, rows, 0));
}

#[test]
fn failures_stand_out() {
    hold("errors", |columns, rows| profiling(columns, rows, 40));
}

#[test]
fn a_doubtful_verdict_is_shown() {
    hold("doubtful", doubtful);
}

#[test]
fn a_grace_period_shows_requests_in_flight() {
    hold("grace", in_grace);
}

#[test]
fn records_that_are_still_computed_are_shown() {
    hold("processing", processing);
}

#[test]
fn each_pane_has_the_screen_for_itself() {
    for pane in PANES {
        let mut model = profiling(100, 30, 0);
        key(&mut model, pane.key);
        insta::assert_snapshot!(format!("maximised_{}", pane.label.to_lowercase().replace(' ', "_")), shown(&model));
    }
}

#[test]
fn gpus_are_shown_one_below_the_other_in_as_many_columns_as_fit() {
    for (columns, rows) in [(60, 15), (200, 24)] {
        let mut model = profiling(columns, rows, 0);
        key(&mut model, '5');
        insta::assert_snapshot!(format!("gpus_{columns}x{rows}"), shown(&model));
    }
}

#[test]
fn keys_and_toasts_are_drawn_over_the_panes() {
    let mut model = profiling(100, 30, 0);
    key(&mut model, '?');
    insta::assert_snapshot!("keys", shown(&model));
    key(&mut model, '?');
    model.toast("Copied 1234 characters to clipboard");
    insta::assert_snapshot!("toast", shown(&model));
}

#[test]
fn a_small_terminal_shows_the_needed_size_and_recovers() {
    let mut model = profiling(50, 10, 0);
    insta::assert_snapshot!("small", shown(&model));
    model.resize((80, 24));
    assert_eq!(shown(&model), shown(&profiling(80, 24, 0)));
}

#[test]
fn any_size_is_drawn_and_nothing_breaks() {
    let mut model = profiling(80, 24, 3);
    for columns in (1..=250).step_by(31) {
        for rows in (1..=80).step_by(9) {
            model.resize((columns, rows));
            assert!(!shown(&model).trim().is_empty() || columns < 4, "{columns} x {rows}");
            for pane in "23456789l?1l".chars() {
                key(&mut model, pane);
                shown(&model);
            }
        }
    }
}

#[test]
fn the_documentation_shows_the_screen() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dashboard.md")).unwrap();
    let screen = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(screen, shown(&profiling(120, 40, 0)), "docs/dashboard.md shows another screen");
}
