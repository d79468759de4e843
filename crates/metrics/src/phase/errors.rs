//! Errors of a phase, grouped.

use aiperf_types::RequestError;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Distinct errors to keep; later ones are counted together.
const DISTINCT: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Group {
    /// The first one.
    error: RequestError,
    count: u64,
    /// Wall time of the first one: groups are listed in this order, independent of the thread or machine.
    first: u64,
}

impl Group {
    /// Adds more of the same error.
    fn add(&mut self, error: &RequestError, count: u64, first: u64) {
        self.count += count;
        if first < self.first || first == self.first && causes(error) < causes(&self.error) {
            self.first = first;
            self.error.clone_from(error);
        }
    }

    /// By first occurrence; at the same instant, by content.
    fn order(&self) -> (u64, Option<i64>, Option<&str>, &str) {
        (self.first, self.error.code, self.error.kind.as_deref(), &self.error.message)
    }
}

fn causes(error: &RequestError) -> (Option<&str>, &Option<Vec<String>>) {
    (error.cause.as_deref(), &error.cause_chain)
}

/// Errors by code, kind and message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "ErrorList", into = "ErrorList")]
pub(crate) struct Errors {
    groups: Vec<Group>,
    by_hash: HashMap<u64, Vec<usize>>,
    other: u64,
}

/// Errors for sending.
#[derive(Serialize, Deserialize)]
struct ErrorList {
    groups: Vec<Group>,
    other: u64,
}

impl From<ErrorList> for Errors {
    fn from(ErrorList { groups, other }: ErrorList) -> Self {
        let mut errors = Self { other, ..Self::default() };
        errors.add_groups(&groups);
        errors.keep_first();
        errors
    }
}

impl From<Errors> for ErrorList {
    fn from(Errors { groups, other, .. }: Errors) -> Self {
        Self { groups, other }
    }
}

impl Errors {
    pub(crate) fn add(&mut self, error: &RequestError, at: u64) {
        self.add_many(error, 1, at, DISTINCT);
    }

    fn add_many(&mut self, error: &RequestError, count: u64, first: u64, most: usize) {
        let places = self.by_hash.entry(hash(error)).or_default();
        match places.iter().find(|&&place| self.groups[place].error.same_as(error)) {
            Some(&place) => self.groups[place].add(error, count, first),
            None if self.groups.len() < most => {
                places.push(self.groups.len());
                self.groups.push(Group { error: error.clone(), count, first });
            }
            None => self.other += count,
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.add_groups(&other.groups);
        self.other += other.other;
        self.keep_first();
    }

    fn add_groups(&mut self, groups: &[Group]) {
        for Group { error, count, first } in groups {
            self.add_many(error, *count, *first, usize::MAX);
        }
    }

    /// Keeps the groups that occurred first, if there are too many.
    fn keep_first(&mut self) {
        if self.groups.len() > DISTINCT {
            self.groups.sort_by(|one, other| one.order().cmp(&other.order()));
            self.other += self.groups.drain(DISTINCT..).map(|group| group.count).sum::<u64>();
            self.by_hash.clear();
            for (place, group) in self.groups.iter().enumerate() {
                self.by_hash.entry(hash(&group.error)).or_default().push(place);
            }
        }
    }

    /// Distinct errors in order of first occurrence; the last entry counts all that were beyond the limit.
    pub(crate) fn list(&self) -> Vec<(RequestError, u64)> {
        let mut groups: Vec<&Group> = self.groups.iter().collect();
        groups.sort_by(|one, other| one.order().cmp(&other.order()));
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

    #[test]
    fn parts_with_too_many_errors_keep_those_that_occurred_first() {
        let part = |numbers: std::ops::Range<u64>| {
            let mut errors = Errors::default();
            numbers.for_each(|number| errors.add(&RequestError::status(500, "x", number.to_string()), number));
            errors
        };
        let (mut late, early) = (part(700..1500), part(0..800));
        late.merge(&early);
        let list = late.list();
        let messages: Vec<String> = list.iter().take(DISTINCT).map(|(error, _)| error.message.clone()).collect();
        assert_eq!(messages, (0..DISTINCT).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!((list.len(), list.iter().map(|(_, count)| count).sum::<u64>()), (DISTINCT + 1, 1600));
    }
}
