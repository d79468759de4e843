//! The secrets that only rows of a dataset contain, for a whole run: a server may echo the secret of one request in the
//! response to another.

use crate::members::secrets_in_members;
use crate::payload::payload;
use crate::values::{SHORTEST, is_everyday};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt;

/// The most values that are kept: each takes memory in every form of Base64 too. Further secrets with a secret name are
/// still hidden in their own request and response.
const MOST: usize = 50_000;

/// The secrets of rows. Words and numbers that other responses may contain are left out.
#[derive(Clone, Default)]
pub struct RowSecrets {
    values: HashSet<String>,
}

/// Shows how many secrets it knows, never which.
impl fmt::Debug for RowSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowSecrets").field("values", &self.values.len()).finish()
    }
}

impl RowSecrets {
    /// Adds the secrets in the body of a request.
    pub fn add_body(&mut self, body: &[u8]) {
        self.add(payload(body).1);
    }

    /// Adds the secrets in the extra members of a row.
    pub fn add_members(&mut self, members: &Map<String, Value>) {
        self.add(secrets_in_members(members));
    }

    /// Adds the secrets of other rows.
    pub fn add_rows(&mut self, rows: &Self) {
        self.add(rows.values.iter().cloned());
    }

    /// Adds these secrets.
    pub fn add(&mut self, values: impl IntoIterator<Item = String>) {
        for value in values {
            let is_kept = value.chars().count() >= SHORTEST && !is_everyday(&value);
            if is_kept && self.values.len() < MOST {
                self.values.insert(value);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = String> {
        self.values.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_secrets_is_bounded() {
        let mut rows = RowSecrets::default();
        rows.add((0..MOST + 5).map(|number| format!("secret-{number}")));
        assert_eq!(rows.into_values().count(), MOST);
    }
}
