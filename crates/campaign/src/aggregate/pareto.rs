//! The Pareto front: the points that no other point beats on both axes.

/// For each point, whether it is on the front. Less of the first and more of the second is better. Equal points are on
/// it together.
pub fn front(points: &[(f64, f64)]) -> Vec<bool> {
    let dominates = |(x, y): (f64, f64), (of_x, of_y): (f64, f64)| x <= of_x && y >= of_y && (x < of_x || y > of_y);
    points.iter().map(|&point| !points.iter().any(|&other| dominates(other, point))).collect()
}

/// The same if some points are unknown: these are on no front.
pub fn front_of_known(points: &[Option<(f64, f64)>]) -> Vec<bool> {
    let known: Vec<(f64, f64)> = points.iter().flatten().copied().collect();
    let mut is_on = front(&known).into_iter();
    points.iter().map(|point| point.is_some() && is_on.next().unwrap_or(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_another_beats_on_both_axes_is_not_on_the_front() {
        let points = [Some((10.0, 100.0)), Some((12.0, 150.0)), None, Some((11.0, 90.0)), Some((10.0, 100.0))];
        assert_eq!(front_of_known(&points), [true, true, false, false, true]);
    }
}
