//! Where a latency leaves its baseline: the first point that exceeds the smallest value by more than a given share.

use super::params::Params;
use super::points::points;
use super::{Handler, Made};
use aiperf_report::aggregate::SweepCell;
use serde_json::{Map, Value};

pub(super) const HANDLER: Handler = Handler { name: "degradation_knee_detect", make };

fn make(cells: &[SweepCell], params: &Params<'_>) -> Result<Made, String> {
    let (metric, stat) = (params.text("metric_tag")?, params.stat("stat")?);
    let (path, threshold) = (params.text("swept_param")?, params.number("threshold_pct")?);
    let leaf = Params::leaf(path);
    let points = points(cells, path, (metric, stat));
    let Some((baseline, later)) = points.split_first() else {
        return Err(params.fault(&format!(
            "sweep aggregate has no rows with parameter '{path}' and metric '{metric}' (flat key '{metric}_{stat}'); \
             check that the recipe swept it and that cells produced successful requests."
        )));
    };
    if baseline.y <= 0.0 {
        return Err(params.fault(&format!(
            "baseline {stat} for '{metric}' must be positive (got {:?}, which is zero or negative); a zero baseline \
             produces cutoff=0 so any positive value is an 'infinite' degradation, and a negative baseline flips the \
             cutoff sign so 'degradation' becomes meaningless. Latency metrics must be strictly positive.",
            baseline.y
        )));
    }
    let knee = later.iter().find(|point| point.y > baseline.y * (1.0 + threshold));
    let mut document = Map::new();
    let mut add = |key: String, value: Value| drop(document.insert(key, value));
    add(format!("baseline_{leaf}"), baseline.given.clone());
    add(format!("baseline_{stat}"), baseline.y.into());
    add(format!("knee_{leaf}"), knee.map(|knee| knee.given.clone()).into());
    add(format!("knee_{stat}"), knee.map(|knee| knee.y).into());
    add("threshold_pct".to_owned(), threshold.into());
    add("swept_metric".to_owned(), metric.into());
    add("stat".to_owned(), stat.into());
    add("swept_param".to_owned(), path.into());
    let all = points.iter().map(|point| {
        let members = [(leaf.to_owned(), point.given.clone()), (stat.to_owned(), point.y.into())];
        Value::Object(members.into_iter().collect())
    });
    add("all_points".to_owned(), all.collect());
    let first = format!("{metric} {stat} is {:.2} at {} {}", baseline.y, leaf, baseline.marked());
    let answer = match knee {
        Some(knee) => format!(
            "knee_{leaf}: {}; {first} and {:.2} there, worse by more than {}%",
            knee.marked(),
            knee.y,
            threshold * 100.0
        ),
        None => format!("knee_{leaf}: none; {first} and never worse by more than {}%", threshold * 100.0),
    };
    Ok(Made { document: Value::Object(document), answer: Some(answer), ..Made::default() })
}
