//! Latin hypercubes: n points, one in each n-th of every dimension.

use super::discrepancy::Products;
use super::random::Draws;

/// Exchanges tried at most.
const EXCHANGES: usize = 10_000;
/// Exchanges without effect after which no more are tried.
const IN_VAIN: usize = 100;
/// Coordinates looked at at most, over all exchanges: with very many points there are fewer exchanges, not a longer wait
/// (two or three seconds on one core).
const EFFORT: usize = 300_000_000;
/// Rounds of Lloyd's algorithm, and uniform draws for each point in each of them.
const ROUNDS: usize = 10;
const DRAWS_A_POINT: usize = 100;
const FEWEST_DRAWS_A_POINT: usize = 10;
/// As `EFFORT`, for Lloyd's algorithm, which compares each draw with every point.
const LLOYD_EFFORT: usize = 1_000_000_000;

/// What is done to make the points of a hypercube more even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evenness {
    /// Nothing: coordinates are paired by chance.
    Chance,
    /// `random-cd`: coordinates of two points are exchanged where that lowers the centred discrepancy. The hypercube stays
    /// a Latin one.
    CentredDiscrepancy,
    /// `lloyd`: points move to the middle of what lies nearest to them. They keep apart, but the hypercube is then no
    /// Latin one any more. It takes the square of the number of points, so where these are many (past 1,400 in five
    /// dimensions) it is left undone.
    Lloyd,
}

/// A Latin hypercube of `count` points.
pub fn latin_hypercube(count: usize, dimensions: usize, evenness: Evenness, seed: u64) -> Vec<Vec<f64>> {
    let mut draws = Draws::new(seed);
    let mut points = vec![vec![0.0; dimensions]; count];
    let mut cells: Vec<usize> = (0..count).collect();
    for dimension in 0..dimensions {
        draws.shuffle(&mut cells);
        for (point, cell) in points.iter_mut().zip(&cells) {
            // Rounding may reach the next cell, and 1 for the last one.
            let place = (*cell as f64 + draws.uniform()) / count as f64;
            point[dimension] = place.min(((*cell + 1) as f64 / count as f64).next_down());
        }
    }
    match evenness {
        Evenness::Chance => {}
        Evenness::CentredDiscrepancy => exchange(&mut points, &mut draws),
        Evenness::Lloyd => spread(&mut points, &mut draws),
    }
    points
}

fn exchange(points: &mut [Vec<f64>], draws: &mut Draws) {
    let (count, dimensions) = (points.len(), points.first().map_or(0, Vec::len));
    if count < 2 || dimensions < 2 {
        return;
    }
    let mut in_vain = 0;
    for _ in 0..EXCHANGES.min(EFFORT / (count * dimensions)) {
        let dimension = draws.below(dimensions);
        let (one, other) = (draws.below(count), draws.below(count));
        if Products::change(points, one, other, dimension) < 0.0 {
            let kept = points[one][dimension];
            points[one][dimension] = points[other][dimension];
            points[other][dimension] = kept;
            in_vain = 0;
        } else {
            in_vain += 1;
        }
        if in_vain == IN_VAIN {
            break;
        }
    }
}

/// Lloyd's algorithm, with cells and their middles estimated from uniform draws.
fn spread(points: &mut [Vec<f64>], draws: &mut Draws) {
    let (count, dimensions) = (points.len(), points.first().map_or(0, Vec::len));
    if count < 2 || dimensions == 0 {
        return;
    }
    let affordable = LLOYD_EFFORT / (ROUNDS * dimensions).saturating_mul(count.saturating_mul(count));
    if affordable < FEWEST_DRAWS_A_POINT {
        return;
    }
    for _ in 0..ROUNDS {
        let mut sums = vec![(0usize, vec![0.0; dimensions]); count];
        for _ in 0..count * DRAWS_A_POINT.min(affordable) {
            let place: Vec<f64> = (0..dimensions).map(|_| draws.uniform()).collect();
            let nearest = nearest(points, &place);
            sums[nearest].0 += 1;
            sums[nearest].1.iter_mut().zip(&place).for_each(|(sum, value)| *sum += value);
        }
        for (point, (hits, sum)) in points.iter_mut().zip(&sums) {
            if *hits > 0 {
                point.iter_mut().zip(sum).for_each(|(value, sum)| *value = sum / *hits as f64);
            }
        }
    }
}

fn nearest(points: &[Vec<f64>], place: &[f64]) -> usize {
    let mut best = (0, f64::INFINITY);
    for (index, point) in points.iter().enumerate() {
        let apart = point.iter().zip(place).map(|(a, b)| (a - b) * (a - b)).sum();
        if apart < best.1 {
            best = (index, apart);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::super::centred_discrepancy;
    use super::*;
    use proptest::prelude::*;

    fn is_latin(points: &[Vec<f64>], dimensions: usize) -> bool {
        (0..dimensions).all(|dimension| {
            let mut cells: Vec<usize> =
                points.iter().map(|point| (point[dimension] * points.len() as f64 + 1e-9) as usize).collect();
            cells.sort_unstable();
            cells.iter().copied().eq(0..points.len())
        })
    }

    #[test]
    fn exchanges_lower_the_discrepancy() {
        let (mut before, mut after) = (0.0, 0.0);
        for seed in 0..5 {
            before += centred_discrepancy(&latin_hypercube(32, 4, Evenness::Chance, seed));
            after += centred_discrepancy(&latin_hypercube(32, 4, Evenness::CentredDiscrepancy, seed));
        }
        assert!(after < 0.6 * before, "{before} {after}");
    }

    #[test]
    fn lloyd_keeps_points_apart() {
        let nearest = |points: &[Vec<f64>]| {
            let mut nearest = f64::INFINITY;
            for (i, a) in points.iter().enumerate() {
                for b in &points[..i] {
                    nearest = nearest.min(a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum());
                }
            }
            nearest
        };
        let before = nearest(&latin_hypercube(40, 2, Evenness::Chance, 1));
        let after = nearest(&latin_hypercube(40, 2, Evenness::Lloyd, 1));
        assert!(after > 2.0 * before, "{before} {after}");
    }

    proptest! {
        #[test]
        fn every_cell_of_every_dimension_holds_one_point(count in 0usize..40, dimensions in 0usize..6, seed: u64) {
            for evenness in [Evenness::Chance, Evenness::CentredDiscrepancy] {
                let points = latin_hypercube(count, dimensions, evenness, seed);
                prop_assert!(points.len() == count && is_latin(&points, dimensions));
                prop_assert!(points.iter().flatten().all(|value| (0.0..1.0).contains(value)));
                prop_assert_eq!(&points, &latin_hypercube(count, dimensions, evenness, seed));
            }
        }
    }
}
