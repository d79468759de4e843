//! The models of a benchmark.

use crate::choice::choices;
use crate::range::between;
use crate::setting::{List, section};
use serde_json::Value;

choices! {
    /// How a model is picked for a prompt.
    ModelStrategy {
        RoundRobin = "round_robin",
        Random = "random",
        Weighted = "weighted",
    }
}

section! {
    /// Models to request.
    Models {
        /// Rule that picks a model for each prompt; weighted needs YAML weights
        strategy: ModelStrategy = ModelStrategy::RoundRobin;
        /// The models, at least one
        items: List<Model>;
    }
    /// One model.
    Model {
        /// Name, as the server knows it
        name: String;
        /// Share of the prompts with strategy weighted
        weight: f64 [between(0.0, true, 1.0, true)];
        /// Adapter of the model
        lora: Value;
        /// Inputs besides text
        modalities: Value;
        /// Its own tokenizer
        tokenizer: ModelTokenizer;
    }
    /// The tokenizer of one model.
    ModelTokenizer {
        /// Name, directory or file
        name: String;
    }
}
