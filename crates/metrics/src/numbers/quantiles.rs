//! Percentiles of stretches of time without sorting them.

/// For each target (ascending) the smallest value by which that much time has passed, lowest values first. Uses
/// repeated partition: sorting millions of stretches takes ten times as long.
pub(crate) fn quantiles(stretches: &mut [(f64, f64)], passed: f64, targets: &[f64], found: &mut [f64], top: f64) {
    if targets.is_empty() {
        return;
    }
    if stretches.len() <= 32 {
        stretches.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut passed = passed;
        let start = (top, passed);
        let ascending = stretches.iter().map(|&(value, length)| {
            passed += length;
            (value, passed)
        });
        return of_sorted(start, ascending, targets, found, top);
    }
    let pivot = pivot(stretches);
    let (below, equal, below_time, equal_time) = partition(stretches, pivot);
    let (after_below, after_equal) = (passed + below_time, passed + below_time + equal_time);
    let first_equal = targets.partition_point(|&target| target <= after_below);
    let first_above = targets.partition_point(|&target| target <= after_equal);
    quantiles(&mut stretches[..below], passed, &targets[..first_equal], &mut found[..first_equal], pivot);
    found[first_equal..first_above].fill(pivot);
    let above = &mut stretches[below + equal..];
    quantiles(above, after_equal, &targets[first_above..], &mut found[first_above..], top);
}

/// The same for ascending values, each with how much has passed after it. `start`: the value and what has passed before
/// the first.
pub(crate) fn of_sorted(
    start: (f64, f64),
    mut ascending: impl Iterator<Item = (f64, f64)>,
    targets: &[f64],
    found: &mut [f64],
    top: f64,
) {
    let (mut value, mut passed) = start;
    for (target, found) in targets.iter().zip(found) {
        while passed < *target {
            match ascending.next() {
                Some(next) => (value, passed) = next,
                None => {
                    value = top;
                    break;
                }
            }
        }
        *found = value;
    }
}

/// The median of nine values spread over the slice.
fn pivot(stretches: &[(f64, f64)]) -> f64 {
    let step = stretches.len() / 9;
    let mut sample: [f64; 9] = std::array::from_fn(|at| stretches[at * step + step / 2].0);
    sample.sort_unstable_by(f64::total_cmp);
    sample[4]
}

/// Moves smaller values to the front and larger ones to the back. Returns how many are smaller and equal, and for how
/// long.
fn partition(stretches: &mut [(f64, f64)], pivot: f64) -> (usize, usize, f64, f64) {
    let (mut low, mut at, mut high) = (0, 0, stretches.len());
    let (mut below_time, mut equal_time) = (0.0, 0.0);
    while at < high {
        let (value, length) = stretches[at];
        if value < pivot {
            below_time += length;
            stretches.swap(low, at);
            low += 1;
            at += 1;
        } else if value > pivot {
            high -= 1;
            stretches.swap(at, high);
        } else {
            equal_time += length;
            at += 1;
        }
    }
    (low, at - low, below_time, equal_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_find_what_a_sort_finds() {
        let mut state = 7_u64;
        let mut draw = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let stretches: Vec<(f64, f64)> = (0..5000).map(|_| ((draw() % 300) as f64, (draw() % 50) as f64)).collect();
        let mut sorted = stretches.clone();
        sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
        let total: f64 = sorted.iter().map(|(_, length)| length).sum();
        let targets = [0.5, 0.9, 0.95, 0.99].map(|share| share * total);
        let mut found = [0.0; 4];
        quantiles(&mut stretches.clone(), 0.0, &targets, &mut found, 300.0);
        for (target, found) in targets.iter().zip(found) {
            let mut passed = 0.0;
            let naive = sorted.iter().find(|(_, length)| {
                passed += length;
                passed >= *target
            });
            assert_eq!(naive.unwrap().0, found);
        }
    }
}
