//! How the time to first token grows with the prompt length: a line, or a parabola if a line fits badly.

use super::params::Params;
use super::points::points;
use super::{Handler, Made};
use aiperf_report::aggregate::SweepCell;
use serde_json::json;

pub(super) const HANDLER: Handler = Handler { name: "ttft_curve_fit", make };

/// The share of the variance that a curve must explain.
const R_SQUARED_FLOOR: f64 = 0.85;

fn make(cells: &[SweepCell], params: &Params<'_>) -> Result<Made, String> {
    let (metric, stat) = (params.text("metric_tag")?, params.stat("stat")?);
    let path = params.text("swept_param")?;
    let points: Vec<(f64, f64)> = points(cells, path, (metric, stat)).iter().map(|point| (point.x, point.y)).collect();
    let line = fit::<2>(&points).ok_or_else(|| {
        params.fault(&format!(
            "a curve needs two different values of '{path}' with metric '{metric}' (flat key '{metric}_{stat}'), and \
             the sweep aggregate has fewer; check that the recipe swept it and streaming was enabled."
        ))
    })?;
    let parabola = || fit::<3>(&points).filter(|parabola| parabola.r_squared > line.r_squared);
    let parabola = (line.r_squared < R_SQUARED_FLOOR).then(parabola).flatten();
    let (form, coefficients, r_squared) = match &parabola {
        Some(parabola) => ("quadratic", &parabola.coefficients[..], parabola.r_squared),
        None => ("linear", &line.coefficients[..], line.r_squared),
    };
    let raw: Vec<_> = points.iter().map(|(isl, ttft)| json!({ "isl": isl, "ttft_ms": ttft })).collect();
    let document = json!({
        "fit_form": form,
        "coefficients": coefficients,
        "r_squared": r_squared,
        "below_floor": r_squared < R_SQUARED_FLOOR,
        "r_squared_floor": R_SQUARED_FLOOR,
        "raw_points": raw,
        "swept_metric": metric,
        "stat": stat,
        "swept_param": path,
    });
    let terms: Vec<String> = coefficients.iter().map(|coefficient| format!("{coefficient:.4}")).collect();
    let answer =
        format!("{metric} {stat} over {}: {form}, {} (R2 {r_squared:.3})", Params::leaf(path), terms.join(", "));
    Ok(Made { document, answer: Some(answer), ..Made::default() })
}

/// A polynomial fitted to points.
struct Fit<const N: usize> {
    /// The highest power first.
    coefficients: [f64; N],
    /// The share of the variance that it explains; zero if there is no variance.
    r_squared: f64,
}

/// The least-squares polynomial with `N` coefficients, at most three; `None` if the points allow several.
fn fit<const N: usize>(points: &[(f64, f64)]) -> Option<Fit<N>> {
    let count = points.len() as f64;
    let middle = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let reach = points.iter().map(|(x, _)| (x - middle).abs()).fold(0.0, f64::max);
    let mut distinct: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    distinct.dedup();
    if distinct.len() < N || reach == 0.0 {
        return None;
    }
    // In [-1, 1], all powers have about the same size, so the equations below lose no digits.
    let scaled = |x: f64| (x - middle) / reach;
    let mut equations = [[0.0; 4]; 3];
    for &(x, y) in points {
        let powers = [1.0, scaled(x), scaled(x) * scaled(x)];
        for row in 0..N {
            for column in 0..N {
                equations[row][column] += powers[row] * powers[column];
            }
            equations[row][3] += powers[row] * y;
        }
    }
    let [constant, slope, bend] = solve::<N>(equations)?;
    let predicted = |x: f64| constant + scaled(x) * (slope + scaled(x) * bend);
    let mean = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let total: f64 = points.iter().map(|(_, y)| (y - mean) * (y - mean)).sum();
    let left: f64 = points.iter().map(|&(x, y)| (y - predicted(x)) * (y - predicted(x))).sum();
    let (bend, slope) = (bend / (reach * reach), slope / reach);
    let whole = [bend, slope - 2.0 * bend * middle, constant + middle * (bend * middle - slope)];
    let mut coefficients = [0.0; N];
    coefficients.copy_from_slice(&whole[3 - N..]);
    Some(Fit { coefficients, r_squared: if total == 0.0 { 0.0 } else { 1.0 - left / total } })
}

/// The solution of the first `N` equations, with zeros for the rest. The right side is the last column.
fn solve<const N: usize>(mut equations: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for at in 0..N {
        let pivot = (at..N).max_by(|&one, &other| equations[one][at].abs().total_cmp(&equations[other][at].abs()))?;
        equations.swap(at, pivot);
        if equations[at][at].abs() < f64::EPSILON {
            return None;
        }
        for row in (0..N).filter(|row| *row != at) {
            let factor = equations[row][at] / equations[at][at];
            let subtracted = equations[at];
            for (value, of_pivot) in equations[row].iter_mut().zip(subtracted).skip(at) {
                *value -= factor * of_pivot;
            }
        }
    }
    let mut solution = [0.0; 3];
    (0..N).for_each(|at| solution[at] = equations[at][3] / equations[at][at]);
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_parabola_give_it_back() {
        let points: Vec<(f64, f64)> =
            [256.0, 1024.0, 4096.0, 32768.0].map(|x| (x, 2e-6 * x * x + 0.03 * x + 12.0)).to_vec();
        let found = fit::<3>(&points).map(|fit| fit.coefficients).unwrap_or_default();
        for (found, wanted) in found.into_iter().zip([2e-6, 0.03, 12.0]) {
            assert!((found / wanted - 1.0).abs() < 1e-8, "{found} {wanted}");
        }
    }

    #[test]
    fn too_few_different_points_have_no_curve() {
        assert!(fit::<2>(&[]).is_none() && fit::<2>(&[(1.0, 2.0)]).is_none());
        assert!(fit::<2>(&[(1.0, 2.0), (1.0, 3.0)]).is_none());
        assert!(fit::<3>(&[(1.0, 2.0), (1.0, 3.0), (2.0, 4.0)]).is_none());
    }
}
