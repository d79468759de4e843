//! Texts that many samples and pages share: each is kept once, so equal texts are one allocation.

use super::line::Label;
use crate::scrape::Labels;
use std::collections::HashSet;
use std::sync::Arc;

/// How many texts are remembered from page to page. A server that makes up label values (request ids) would otherwise
/// grow this without end; real pages have a few thousand.
const MOST: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Strings {
    known: HashSet<Arc<str>>,
}

impl Strings {
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let new: Arc<str> = Arc::from(text);
        self.known.insert(new.clone());
        new
    }

    /// To be called between pages alone: within one, equal texts must be one allocation.
    pub(super) fn forget_if_many(&mut self) {
        if self.known.len() > MOST {
            self.known.clear();
        }
    }

    /// Labels as they are kept. Neighbours mostly agree, and comparing with one is cheaper than looking texts up.
    pub(super) fn share_labels(&mut self, labels: &[Label<'_>], neighbour: Option<&Labels>) -> Labels {
        let neighbour = neighbour.map_or(&[][..], Vec::as_slice);
        let mut shared = Labels::with_capacity(labels.len());
        for (index, (name, value)) in labels.iter().enumerate() {
            let near = neighbour.get(index);
            let near_name = near.map(|(near, _)| near).filter(|near| ***near == **name);
            let near_value = near.map(|(_, near)| near).filter(|near| ***near == **value);
            let name = near_name.map_or_else(|| self.share(name), Arc::clone);
            let value = near_value.map_or_else(|| self.share(value), Arc::clone);
            shared.push((name, value));
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_allocation() {
        let mut strings = Strings::default();
        assert!(Arc::ptr_eq(&strings.share("a"), &strings.share("a")));
        let labels = [("a".into(), "x".into()), ("b".into(), "a".into())];
        let first = strings.share_labels(&labels, None);
        let second = strings.share_labels(&labels, Some(&first));
        assert!(first.iter().zip(&second).all(|(a, b)| Arc::ptr_eq(&a.0, &b.0) && Arc::ptr_eq(&a.1, &b.1)));
        assert!(Arc::ptr_eq(&first[0].0, &first[1].1));
    }

    #[test]
    fn made_up_texts_are_forgotten() {
        let mut strings = Strings::default();
        (0..=MOST).for_each(|number| drop(strings.share(&number.to_string())));
        strings.forget_if_many();
        assert!(strings.known.is_empty());
    }
}
