//! The tokenizers of a run: each model has its own, and what several share is loaded once.

use std::sync::Arc;

use crate::tokenizer::Tokenizer;

/// Tokenizers by the names of models. A handle: clones share them.
#[derive(Clone, Debug)]
pub struct Tokenizers {
    first: Tokenizer,
    by_model: Arc<[(String, Tokenizer)]>,
}

impl Tokenizers {
    /// Of models in their order; `None` where there is none.
    pub fn of_models(models: Vec<(String, Tokenizer)>) -> Option<Self> {
        Some(Self { first: models.first()?.1.clone(), by_model: models.into() })
    }

    /// The first model's: what is not about any one model is counted by it.
    pub fn first(&self) -> &Tokenizer {
        &self.first
    }

    /// A model's; the first one's for a name that is none of the run's models.
    pub fn of(&self, model: &str) -> &Tokenizer {
        let found = self.by_model.iter().find(|(name, _)| name == model);
        found.map_or(&self.first, |(_, tokenizer)| tokenizer)
    }

    /// Models and their tokenizers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tokenizer)> {
        self.by_model.iter().map(|(model, tokenizer)| (model.as_str(), tokenizer))
    }
}

/// The same for every model.
impl From<Tokenizer> for Tokenizers {
    fn from(first: Tokenizer) -> Self {
        Self { first, by_model: Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::Lookup;

    #[test]
    fn a_model_has_its_own_and_a_stranger_the_first() {
        let load = |name: &str| Tokenizer::load(name, &Lookup::default()).unwrap();
        let models = vec![("a".to_owned(), load("o200k_base")), ("b".to_owned(), load("r50k_base"))];
        let tokenizers = Tokenizers::of_models(models).unwrap();
        assert_eq!(tokenizers.of("b").name(), "r50k_base");
        assert_eq!(tokenizers.of("c").name(), "o200k_base");
        assert_eq!(tokenizers.iter().map(|(model, _)| model).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(Tokenizers::from(load("r50k_base")).of("a").name(), "r50k_base");
        assert!(Tokenizers::of_models(Vec::new()).is_none());
    }
}
