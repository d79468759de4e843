//! Errors of a phase, grouped.

use aiperf_types::RequestError;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Distinct errors kept; what comes after them is counted together.
const DISTINCT: usize = 1000;

#[derive(Clone, Debug)]
struct Group {
    error: RequestError,
    count: u64,
    /// Wall time of the first one: groups are listed in this order whichever thread saw them.
    first: u64,
}

/// Errors by code, kind and message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    groups: Vec<Group>,
    by_hash: HashMap<u64, Vec<usize>>,
    other: u64,
}

impl Errors {
    pub(crate) fn add(&mut self, error: &RequestError, at: u64) {
        self.add_many(error, 1, at);
    }

    fn add_many(&mut self, error: &RequestError, count: u64, at: u64) {
        let places = self.by_hash.entry(hash(error)).or_default();
        match places.iter().find(|&&place| self.groups[place].error.same_as(error)) {
            Some(&place) => {
                let group = &mut self.groups[place];
                group.count += count;
                group.first = group.first.min(at);
            }
            None if self.groups.len() < DISTINCT => {
                places.push(self.groups.len());
                self.groups.push(Group { error: error.clone(), count, first: at });
            }
            None => self.other += count,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.groups.iter().for_each(|group| self.add_many(&group.error, group.count, group.first));
        self.other += other.other;
    }

    /// Distinct errors in order of first occurrence; the last one stands for all that were too many to tell apart.
    pub(crate) fn list(&self) -> Vec<(RequestError, u64)> {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by_key(|group| group.first);
        let mut list: Vec<(RequestError, u64)> =
            groups.into_iter().map(|group| (group.error.clone(), group.count)).collect();
        if self.other > 0 {
            let message = format!("errors beyond the first {DISTINCT} distinct ones");
            list.push((
                RequestError { code: None, kind: Some("Other".into()), message, cause: None, cause_chain: None },
                self.other,
            ));
        }
        list
    }
}

fn hash(error: &RequestError) -> u64 {
    let mut hasher = DefaultHasher::new();
    (error.code, &error.kind, &error.message).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_error_is_counted_and_a_new_one_listed_in_order_of_first_occurrence() {
        let (late, early) = (
            RequestError::status(500, "Internal Server Error", "x"),
            RequestError::coded(499, "RequestCancellationError", "Request cancelled by external signal"),
        );
        let (mut one, mut two) = (Errors::default(), Errors::default());
        one.add(&late, 20);
        one.add(&late, 30);
        two.add(&early, 10);
        two.add(&late, 40);
        one.merge(&two);
        assert_eq!(one.list(), vec![(early, 1), (late, 3)]);
    }

    #[test]
    fn errors_that_all_differ_are_bounded_and_none_is_lost() {
        let mut errors = Errors::default();
        for number in 0..1500 {
            errors.add(&RequestError::status(500, "x", number.to_string()), number);
        }
        let list = errors.list();
        assert_eq!(list.len(), DISTINCT + 1);
        assert_eq!(list.iter().map(|(_, count)| count).sum::<u64>(), 1500);
    }
}
