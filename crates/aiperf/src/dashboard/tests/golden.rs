//! The panes, rows and keys of the reference's screens: ours have the same.

use super::story::*;
use crate::dashboard::panes::PANES;
use aiperf_golden::kinds::exports::SCREEN;
use std::collections::BTreeSet;

/// Titles in borders: `─── Worker Status ───`.
fn titles(lines: &[&str]) -> Vec<String> {
    let of_line = |line: &&str| -> Vec<String> {
        let parts = line.split(['─', '╭', '╮']).map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    lines.iter().filter(|line| line.contains('╭')).flat_map(of_line).collect()
}

/// Words before a colon in the left column of panes: `│   Elapsed: 4.3s`.
fn labels(lines: &[&str]) -> BTreeSet<String> {
    let of_line = |line: &&str| {
        let (label, _) = line.strip_prefix('│')?.split_once(": ")?;
        let label = label.trim();
        let is_label = label.chars().all(|c| c.is_ascii_alphabetic() || c == ' ') && label.len() <= 16;
        is_label.then(|| label.to_owned())
    };
    lines.iter().filter_map(of_line).collect()
}

#[test]
fn golden_screens_have_the_panes_rows_and_keys_that_ours_have() {
    SCREEN.run(
        |_| None,
        |case| {
            let lines: Vec<&str> =
                case["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
            let size = |name: &str| case[name].as_u64().unwrap() as u16;
            let (columns, rows) = (size("cols"), size("rows"));
            let mut model = profiling(columns, rows, 0);
            let titles = titles(&lines);
            for title in &titles {
                assert!(PANES.iter().any(|pane| pane.title == title), "no pane is called {title}");
            }
            // The same view, except for values that do not exist here.
            if let [title] = &titles[..]
                && let Some(pane) = PANES.iter().find(|pane| pane.title == title)
            {
                key(&mut model, pane.key);
                assert!(shown(&model).lines().nth(1).unwrap().contains(&format!("─ {title} ─")));
            }
            let ours = shown(&model);
            if titles.len() > 1 {
                titles.iter().for_each(|title| assert!(ours.contains(&format!(" {title} ")), "{title} in {ours}"));
            }
            for label in labels(&lines) {
                assert!(ours.contains(&format!("{label}: ")), "no row {label} in {ours}");
            }
            assert!(ours.lines().next().unwrap().contains("NVIDIA AIPerf"));
            let (footer, ours) = (lines.iter().rev().find(|line| !line.trim().is_empty()).unwrap(), ours.trim_end());
            let ours = ours.lines().next_back().unwrap();
            for key in footer.trim().split("  ").filter(|key| !key.is_empty()) {
                assert!(ours.contains(key.trim()), "{key} in {ours}");
            }
        },
    );
}
