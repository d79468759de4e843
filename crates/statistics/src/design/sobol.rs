//! The Sobol sequence: every power of two of its points fills the cube evenly, and more can be added later.
//!
//! Unscrambled, the points are those of scipy's `qmc.Sobol(scramble=False)`, in its order (Gray code, from the origin on).
//! Scrambled (by random lower triangular matrices and a digital shift, Matoušek's linear scramble), the origin is gone and
//! evenness stays.

use super::directions::DIRECTIONS;
use super::random::Draws;

/// Bits of a coordinate: as many points as have different ones are in the sequence.
pub const BITS: u32 = 30;

/// Points of the Sobol sequence, one after another.
#[derive(Clone, Debug)]
pub struct Sobol {
    /// By dimension, the number that each bit of the index adds.
    directions: Vec<[u32; BITS as usize]>,
    next: Vec<u32>,
    index: u32,
}

/// The table of direction numbers ends before the dimensions asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyDimensions(pub usize);

impl std::fmt::Display for TooManyDimensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a Sobol sequence has at most {} dimensions, not {}", Sobol::MOST_DIMENSIONS, self.0)
    }
}

impl std::error::Error for TooManyDimensions {}

impl Sobol {
    pub const MOST_DIMENSIONS: usize = DIRECTIONS.len() + 1;

    /// The plain sequence. Its first point is the origin.
    pub fn new(dimensions: usize) -> Result<Self, TooManyDimensions> {
        if dimensions > Self::MOST_DIMENSIONS {
            return Err(TooManyDimensions(dimensions));
        }
        let first = std::iter::once([1; BITS as usize]);
        let others = DIRECTIONS.iter().map(|&(polynomial, numbers)| extend(polynomial, numbers));
        let mut directions: Vec<[u32; BITS as usize]> = first.chain(others).take(dimensions).collect();
        for number in directions.iter_mut().flat_map(|row| row.iter_mut().enumerate()) {
            let (bit, number) = number;
            *number <<= BITS as usize - 1 - bit;
        }
        Ok(Self { directions, next: vec![0; dimensions], index: 0 })
    }

    /// The sequence scrambled by a seed.
    pub fn scrambled(dimensions: usize, seed: u64) -> Result<Self, TooManyDimensions> {
        let mut sobol = Self::new(dimensions)?;
        let mut draws = Draws::new(seed);
        for (numbers, shift) in sobol.directions.iter_mut().zip(&mut sobol.next) {
            // Row r of the matrix makes bit r, from the top; it looks at that bit and at random ones above it.
            let rows: Vec<u32> = (0..BITS)
                .map(|row| {
                    let own = 1 << (BITS - 1 - row);
                    let above = ((1 << BITS) - 1) & !(2 * own - 1);
                    own | draws.bits() & above
                })
                .collect();
            for number in numbers {
                *number = rows.iter().fold(0, |bits, row| (bits << 1) | ((row & *number).count_ones() % 2));
            }
            *shift = draws.bits() >> (32 - BITS);
        }
        Ok(sobol)
    }
}

impl Iterator for Sobol {
    type Item = Vec<f64>;

    /// None after 2^30 points.
    fn next(&mut self) -> Option<Vec<f64>> {
        if self.index >> BITS != 0 {
            return None;
        }
        let point = self.next.iter().map(|&bits| f64::from(bits) / f64::from(1u32 << BITS)).collect();
        let changed = self.index.trailing_ones() as usize;
        if changed < BITS as usize {
            for (bits, numbers) in self.next.iter_mut().zip(&self.directions) {
                *bits ^= numbers[changed];
            }
        }
        self.index += 1;
        Some(point)
    }
}

/// The direction numbers of a dimension, from its first ones by the recurrence that its polynomial gives.
fn extend(polynomial: u32, first: &[u32]) -> [u32; BITS as usize] {
    let degree = first.len();
    let mut numbers = [0; BITS as usize];
    for bit in 0..BITS as usize {
        numbers[bit] = if bit < degree {
            first[bit]
        } else {
            let start = numbers[bit - degree];
            (1..=degree)
                .filter(|back| polynomial >> (degree - back) & 1 == 1)
                .fold(start, |sum, back| sum ^ numbers[bit - back] << back)
        };
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_of_two_of_points_fills_each_dimension_evenly() {
        for mut sobol in
            [Sobol::new(128).unwrap(), Sobol::scrambled(128, 1).unwrap(), Sobol::scrambled(128, 2).unwrap()]
        {
            let points: Vec<Vec<f64>> = sobol.by_ref().take(256).collect();
            for dimension in 0..128 {
                let mut seen = [false; 256];
                points.iter().for_each(|point| seen[(point[dimension] * 256.0) as usize] = true);
                assert!(seen.iter().all(|seen| *seen), "dimension {dimension}");
            }
        }
    }

    #[test]
    fn the_first_two_dimensions_fill_every_rectangle_of_equal_size() {
        let points: Vec<Vec<f64>> = Sobol::scrambled(2, 3).unwrap().take(64).collect();
        for split in 0..=6 {
            let (columns, rows) = (f64::from(1 << split), f64::from(1 << (6 - split)));
            let mut cells: Vec<(u32, u32)> =
                points.iter().map(|point| ((point[0] * columns) as u32, (point[1] * rows) as u32)).collect();
            cells.sort_unstable();
            cells.dedup();
            assert_eq!(cells.len(), 64, "{columns} columns");
        }
    }

    #[test]
    fn a_seed_gives_the_same_points_again_and_another_seed_others() {
        let points = |seed| Sobol::scrambled(3, seed).unwrap().take(4).collect::<Vec<_>>();
        assert_eq!(points(7), points(7));
        assert_ne!(points(7), points(8));
    }

    #[test]
    fn more_dimensions_than_the_table_has_are_refused() {
        assert_eq!(Sobol::new(129).unwrap_err().to_string(), "a Sobol sequence has at most 128 dimensions, not 129");
        assert_eq!(Sobol::new(0).unwrap().next(), Some(vec![]));
    }
}
