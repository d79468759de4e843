//! Notes for the user that summarise many rows.

/// Names that a note shows.
pub(super) const NAMES_SHOWN: usize = 8;

/// Members of rows that the format does not use.
#[derive(Default)]
pub(super) struct Ignored {
    names: Vec<String>,
    first: Option<String>,
    more: bool,
}

impl Ignored {
    pub(super) fn add(&mut self, members: Vec<String>, place: impl FnOnce() -> String) {
        if members.is_empty() {
            return;
        }
        self.first.get_or_insert_with(place);
        for name in members {
            if self.names.contains(&name) {
                continue;
            }
            if self.names.len() == NAMES_SHOWN {
                self.more = true;
                return;
            }
            self.names.push(name);
        }
    }

    pub(super) fn note(self) -> Option<String> {
        let first = self.first?;
        let more = if self.more { " and others" } else { "" };
        Some(format!("{first}: members that mean nothing here are ignored: {}{more}", self.names.join(", ")))
    }
}

/// Rows that are left out because of their category or length.
#[derive(Default)]
pub(super) struct LeftOut {
    rows: u64,
    /// Their categories.
    others: Vec<String>,
    too_long: u64,
}

impl LeftOut {
    pub(super) fn of_category(&mut self, category: String) {
        self.rows += 1;
        if self.others.len() <= NAMES_SHOWN && !self.others.contains(&category) {
            self.others.push(category);
        }
    }

    pub(super) fn too_long(&mut self) {
        self.too_long += 1;
    }

    pub(super) fn notes(&self, wanted: Option<&str>, max_isl: Option<u64>) -> Vec<String> {
        let category = wanted.filter(|_| self.rows > 0);
        let category =
            category.map(|wanted| format!("rows of other categories than {wanted} are left out: {}", self.rows));
        let long = max_isl.filter(|_| self.too_long > 0);
        let long = long.map(|most| format!("rows of more than {most} input tokens are left out: {}", self.too_long));
        category.into_iter().chain(long).collect()
    }

    /// The message if all rows were left out for these reasons.
    pub(super) fn nothing_left(&self, wanted: Option<&str>, max_isl: Option<u64>) -> Option<String> {
        if let (Some(most), true) = (max_isl, self.too_long > 0) {
            return Some(format!("has no rows of {most} input tokens or fewer\n  try: a larger --synthesis-max-isl"));
        }
        let (wanted, others) = (wanted.filter(|_| self.rows > 0)?, self.others.join(", "));
        Some(format!("has no rows of category {wanted}\n  its categories are {others}\n  try: a type of one of these"))
    }
}
