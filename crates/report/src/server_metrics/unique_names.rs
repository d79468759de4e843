//! Names of metrics as keys of one object.

use aiperf_observe::MetricKind;
use std::collections::BTreeSet;

/// Names for JSON keys: if a server uses one name for two kinds, the later one gets its kind added, `name (counter)`.
#[derive(Default)]
pub(crate) struct UniqueNames(BTreeSet<String>);

impl UniqueNames {
    pub(crate) fn name(&mut self, name: &str, kind: MetricKind) -> String {
        let mut unique = name.to_owned();
        while self.0.contains(&unique) {
            unique = format!("{unique} ({})", kind.name());
        }
        self.0.insert(unique.clone());
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_two_kinds_has_the_kind_added() {
        let mut names = UniqueNames::default();
        let named = [MetricKind::Gauge, MetricKind::Counter].map(|kind| names.name("x", kind));
        assert_eq!(named, ["x", "x (counter)"]);
        assert_eq!(names.name("x (counter)", MetricKind::Gauge), "x (counter) (gauge)");
    }
}
