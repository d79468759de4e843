//! The model of a turn.

use crate::draw::{Draws, Purpose};
use serde::{Deserialize, Serialize};

/// How the model of a turn that names none is picked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelSelection {
    /// In rotation.
    #[default]
    RoundRobin,
    /// A random one, each time.
    Random,
    /// A random one, by weight. The weights need not add up to one.
    Weighted(Vec<f64>),
}

/// Picks the model of a turn by the turn's number alone.
#[derive(Clone, Debug)]
pub struct ModelPicker {
    models: u64,
    selection: ModelSelection,
    purpose: Purpose,
}

impl ModelPicker {
    /// For this many models, at least one.
    pub fn new(models: usize, selection: ModelSelection, draws: &Draws) -> Self {
        Self { models: (models as u64).max(1), selection, purpose: draws.purpose("dataset.model") }
    }

    /// The model of a turn; `turn` is the number of turns before it in the dataset.
    pub fn pick(&self, turn: u64) -> usize {
        match &self.selection {
            ModelSelection::RoundRobin => (turn % self.models) as usize,
            ModelSelection::Random => (self.fraction(turn) * self.models as f64) as usize,
            ModelSelection::Weighted(weights) => {
                let mut left = self.fraction(turn) * weights.iter().sum::<f64>();
                let is_past = |weight: &f64| {
                    left -= weight;
                    left < 0.0
                };
                // The remainder of rounding belongs to the last model with a weight.
                let last = || weights.iter().rposition(|weight| *weight > 0.0);
                weights.iter().position(is_past).or_else(last).unwrap_or(0)
            }
        }
    }

    /// A number from 0 up to 1 for a turn.
    fn fraction(&self, turn: u64) -> f64 {
        (self.purpose.bits128(turn) >> 75) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(models: usize, selection: ModelSelection, turns: u64) -> Vec<usize> {
        let picker = ModelPicker::new(models, selection, &Draws::new(Some(3), ""));
        let picked: Vec<usize> = (0..turns).map(|turn| picker.pick(turn)).collect();
        (0..models).map(|model| picked.iter().filter(|at| **at == model).count()).collect()
    }

    #[test]
    fn in_rotation_each_model_follows_the_one_before() {
        let picker = ModelPicker::new(3, ModelSelection::RoundRobin, &Draws::new(None, "x"));
        assert_eq!((0..7).map(|turn| picker.pick(turn)).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn at_random_all_are_about_equally_likely() {
        let counts = picked(4, ModelSelection::Random, 8000);
        assert!(counts.iter().all(|count| (1850..2150).contains(count)), "{counts:?}");
    }

    #[test]
    fn by_weight_each_has_its_share_whatever_the_sum_of_the_weights() {
        for scale in [1.0, 0.25, 7.0] {
            let weights = [0.7, 0.0, 0.3].map(|weight| weight * scale).to_vec();
            let counts = picked(3, ModelSelection::Weighted(weights), 10_000);
            assert!((6850..7150).contains(&counts[0]) && counts[1] == 0, "{counts:?}");
        }
    }
}
