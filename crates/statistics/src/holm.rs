//! Holm's correction: p-values of several tests made at once, so that the chance of even one false alarm stays as asked.

/// The p-values corrected for their number, in the order given. What is not a number is left so and not counted.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).filter(|&index| !p_values[index].is_nan()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = p_values.to_vec();
    let mut largest = 0.0f64;
    for (rank, &index) in order.iter().enumerate() {
        // None may become smaller than one that was smaller before.
        largest = largest.max(p_values[index] * (order.len() - rank) as f64).min(1.0);
        corrected[index] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_smallest_counts_for_all_and_the_largest_for_itself() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-15, "{corrected:?}");
        }
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn what_is_not_a_number_is_not_counted() {
        let corrected = holm(&[0.01, f64::NAN, 0.02]);
        assert_eq!((corrected[0], corrected[2]), (0.02, 0.02));
        assert!(corrected[1].is_nan());
    }

    proptest! {
        #[test]
        fn order_stays_and_nothing_shrinks(p_values in prop::collection::vec(0.0f64..=1.0, 0..30)) {
            let corrected = holm(&p_values);
            for i in 0..p_values.len() {
                prop_assert!(corrected[i] >= p_values[i] && corrected[i] <= 1.0);
                prop_assert!(corrected[i] <= (p_values[i] * p_values.len() as f64).max(corrected[i].min(1.0)));
                for j in 0..p_values.len() {
                    prop_assert!(p_values[i] > p_values[j] || corrected[i] <= corrected[j]);
                }
            }
        }
    }
}
