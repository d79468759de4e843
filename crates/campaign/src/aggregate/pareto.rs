//! The Pareto front: the points that no other point beats on both axes.

/// For each point, whether it is on the front. Less of the first and more of the second is better. Equal points are on
/// it together.
pub fn front(points: &[(f64, f64)]) -> Vec<bool> {
    let dominates = |(x, y): (f64, f64), (of_x, of_y): (f64, f64)| x <= of_x && y >= of_y && (x < of_x || y > of_y);
    points.iter().map(|&point| !points.iter().any(|&other| dominates(other, point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_another_beats_on_both_axes_is_not_on_the_front() {
        let points = [(10.0, 100.0), (12.0, 150.0), (11.0, 90.0), (10.0, 100.0)];
        assert_eq!(front(&points), [true, true, false, true]);
    }
}
