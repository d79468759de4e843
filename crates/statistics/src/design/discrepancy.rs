//! Centred discrepancy (Hickernell, 1998): how far shares of points in boxes at the corners are from the boxes' sizes.

/// The centred discrepancy, squared, as scipy's `qmc.discrepancy` gives it. Takes the square of the number of points.
pub fn centred_discrepancy(points: &[Vec<f64>]) -> f64 {
    let (count, dimensions) = (points.len() as f64, points.first().map_or(0, Vec::len));
    let alone: f64 = points.iter().map(|point| Products::alone(point)).sum();
    let pairs: f64 = points.iter().flat_map(|a| points.iter().map(|b| Products::pair(a, b))).sum();
    (13.0f64 / 12.0).powi(dimensions as i32) - 2.0 / count * alone + pairs / (count * count)
}

/// The products that the discrepancy is a sum of.
pub(super) struct Products;

impl Products {
    fn alone(point: &[f64]) -> f64 {
        point.iter().map(|value| alone((value - 0.5).abs())).product()
    }

    fn pair(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(&a, &b)| pair(a, b)).product()
    }

    /// What becomes of the discrepancy when two points exchange a coordinate: only their own products change, so it takes
    /// one pass over the points.
    pub(super) fn change(points: &[Vec<f64>], one: usize, other: usize, dimension: usize) -> f64 {
        if one == other {
            return 0.0;
        }
        let count = points.len() as f64;
        let (mut first, mut second) = (points[one].clone(), points[other].clone());
        std::mem::swap(&mut first[dimension], &mut second[dimension]);
        let alone = |a: &[f64], b: &[f64]| Self::alone(a) + Self::alone(b);
        let alone = alone(&first, &second) - alone(&points[one], &points[other]);
        let with_itself = |point: &[f64]| Self::pair(point, point);
        let mut pairs =
            with_itself(&first) + with_itself(&second) - with_itself(&points[one]) - with_itself(&points[other]);
        // The product of the two with each other stays: it is the same pair of coordinates in every dimension.
        for (index, point) in points.iter().enumerate() {
            if index != one && index != other {
                // All but the exchanged dimension are as they were.
                let (mut rest, mut other_rest) = (1.0, 1.0);
                for (d, &value) in point.iter().enumerate() {
                    if d != dimension {
                        rest *= pair(first[d], value);
                        other_rest *= pair(second[d], value);
                    }
                }
                let (new, old) = (pair(first[dimension], point[dimension]), pair(second[dimension], point[dimension]));
                pairs += 2.0 * (rest - other_rest) * (new - old);
            }
        }
        -2.0 / count * alone + pairs / (count * count)
    }
}

fn alone(from_centre: f64) -> f64 {
    1.0 + 0.5 * from_centre - 0.5 * from_centre * from_centre
}

fn pair(a: f64, b: f64) -> f64 {
    1.0 + 0.5 * ((a - 0.5).abs() + (b - 0.5).abs() - (a - b).abs())
}

#[cfg(test)]
mod tests {
    use super::super::{Evenness, latin_hypercube};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_discrepancy_of_known_points() {
        // scipy.stats.qmc.discrepancy([[1/12, 5/12], [3/4, 1/4], [1/2, 11/12]])
        let points = [vec![1.0 / 12.0, 5.0 / 12.0], vec![0.75, 0.25], vec![0.5, 11.0 / 12.0]];
        assert!((centred_discrepancy(&points) - 0.03888567386831254).abs() < 1e-14, "{}", centred_discrepancy(&points));
    }

    proptest! {
        #[test]
        fn a_change_is_what_the_discrepancy_changes_by(
            seed: u64, one in 0usize..9, other in 0usize..9, dimension in 0usize..3,
        ) {
            let mut points = latin_hypercube(9, 3, Evenness::Chance, seed);
            let before = centred_discrepancy(&points);
            let change = Products::change(&points, one, other, dimension);
            let kept = points[one][dimension];
            points[one][dimension] = points[other][dimension];
            points[other][dimension] = kept;
            prop_assert!((centred_discrepancy(&points) - before - change).abs() < 1e-13);
        }
    }
}
