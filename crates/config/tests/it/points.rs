//! Points of a sweep that are not listed.

use aiperf_config::{Context, resolve_profile};
use aiperf_plan::{CampaignPlan, Cell, Point, PointError, RunId};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn campaign(args: &[&str], cwd: &Path) -> CampaignPlan {
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd, benchmark_id: "0123456789ab".into() };
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    resolve_profile(&args, &ctx).expect("a plan").campaign
}

/// The cell of these values, with a number that is not listed.
fn at(campaign: &CampaignPlan, number: usize, values: &Map<String, Value>) -> Result<Arc<Cell>, PointError> {
    let run = RunId { cell: campaign.listed.len() + number, trial: 0 };
    campaign.cell(&Point { run, values: values.clone() })
}

fn values(given: Value) -> Map<String, Value> {
    given.as_object().cloned().unwrap_or_default()
}

#[test]
fn a_point_that_is_not_listed_becomes_a_plan() {
    let campaign = campaign(&["-m", "m", "--concurrency", "1,2", "--num-profile-runs", "3"], Path::new("/home/me"));
    let cell = at(&campaign, 5, &values(json!({"concurrency": 7}))).expect("a cell");
    let path = "phases.profiling.concurrency";
    assert_eq!((cell.index, cell.label.as_str()), (7, "phases.profiling.concurrency=7"));
    assert_eq!((cell.name.as_str(), &cell.values), ("concurrency_7", &values(json!({path: 7}))));
    assert_eq!((cell.seeds.len(), cell.ids.len()), (3, 3));
    let plan = campaign.run(&cell, 1);
    assert_eq!(plan.phases[0].concurrency, Some(7));
    assert!(plan.artifacts.dir.ends_with("profile_runs/trial_0002/concurrency_7"), "{:?}", plan.artifacts.dir);
    assert_eq!(plan.run.place.variation_index, 7);
}

#[test]
fn a_point_with_the_values_of_a_listed_cell_is_the_same_run() {
    let grid = ["-m", "m", "--concurrency", "1,2,8", "--isl", "16,32", "--parameter-sweep-same-seed"];
    let campaign = campaign(&grid, Path::new("/home/me"));
    assert_eq!(campaign.listed.len(), 6);
    for listed in &campaign.listed {
        let cell = at(&campaign, listed.index, &listed.values).expect("a cell");
        assert_eq!((&cell.label, &cell.name, &cell.seeds), (&listed.label, &listed.name, &listed.seeds));
        assert_eq!(cell.plan.input_config, listed.plan.input_config);
        assert_eq!(format!("{:?}", cell.plan), format!("{:?}", listed.plan));
    }
}

#[test]
fn a_point_that_no_run_can_have_is_refused() {
    let campaign = campaign(&["-m", "m", "--concurrency", "4,8"], Path::new("/home/me"));
    for (point, why) in [
        (json!({"concurrency": 0}), "concurrency"),
        (json!({"phases.cooldown.concurrency": 2}), "finds no 'cooldown'"),
        (json!({"random_seed": 2}), "it is not a setting of the benchmark"),
        (json!({"artifacts.dir": "elsewhere"}), "artifact directory"),
    ] {
        let error = at(&campaign, 0, &values(point.clone())).expect_err("a refusal").to_string();
        assert!(error.contains(why), "{point}: {error}");
    }
    let alone = self::campaign(&["-m", "m"], Path::new("/home/me"));
    assert_eq!(at(&alone, 0, &Map::new()).map(|cell| cell.index), Err(PointError("nothing is varied".to_owned())));
}

#[test]
fn a_point_adds_no_secret_after_the_first_run() {
    let text = "benchmark:\n  model: '{{ name }}'\n  endpoint: {url: h:1, headers: {X-Note: '{{ api_key }}'}}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\nvariables: {api_key: TOPSECRET1, name: m}\nsweep: {type: grid, parameters: {variables.api_key: [TOPSECRET1, TOPSECRET2], variables.name: [m, n]}}\n";
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    let campaign = campaign(&["-f", "c.yaml"], dir.path());
    let point = |key: &str| values(json!({"variables.api_key": key, "variables.name": "other"}));
    let cell = at(&campaign, 3, &point("TOPSECRET2")).expect("a cell");
    assert_eq!(cell.plan.models, ["other"]);
    let shown = format!("{} {} {:?}", cell.label, cell.name, cell.values);
    assert!(!shown.contains("TOPSECRET") && cell.name == "variation_7", "{shown}");
    let error = at(&campaign, 3, &point("TOPSECRET3")).expect_err("a refusal").to_string();
    assert!(error.contains("cannot vary a secret"), "{error}");
}
