//! Token counts: builtin vocabularies and Hugging Face tokenizers
