//! Hugging Face tokenizers: `tokenizer.json`, and the files beside it for special tokens and chat.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use aiperf_types::guard::guarded;
use serde::Serialize;
use serde_json::Value;

use crate::engine::Engine;
use crate::error::TokenizeError;
use crate::rank_file::{self, RankFile};
use crate::template::ChatTemplate;

const TOKENIZER_FILE: &str = "tokenizer.json";
const CONFIG_FILE: &str = "tokenizer_config.json";
const SPECIAL_TOKENS_FILE: &str = "special_tokens_map.json";
const TEMPLATE_FILE: &str = "chat_template.jinja";

/// What a tokenizer is tried on when it is loaded.
const TRIAL: &str = "Three words, 4 numbers\nund ünï 漢字";

/// Vocabularies in other formats.
const OTHER_FORMATS: &[(&str, &str)] = &[
    ("tokenizer.model", "a SentencePiece model"),
    ("spiece.model", "a SentencePiece model"),
    ("tiktoken.model", "a tiktoken rank file"),
    ("qwen.tiktoken", "a tiktoken rank file"),
    ("vocab.json", "a slow tokenizer's vocabulary"),
    ("vocab.txt", "a slow tokenizer's vocabulary"),
];

/// Whether a file of a repository has to do with its tokenizer.
pub fn is_tokenizer_file(path: &str) -> bool {
    let own = [TOKENIZER_FILE, CONFIG_FILE, SPECIAL_TOKENS_FILE, TEMPLATE_FILE];
    own.contains(&path) || OTHER_FORMATS.iter().any(|(file, _)| *file == path)
}

/// A tokenizer read from a `tokenizer.json`, or from what replaces it.
pub struct HuggingFace {
    /// Where it was read from.
    file: PathBuf,
    engine: Engine,
    special_ids: BTreeSet<u32>,
    bos: Option<u32>,
    eos: Option<u32>,
    template: Option<TemplateFile>,
}

/// A chat template, and the file that has it. One that does not parse is a reason only to those who ask for it.
struct TemplateFile {
    path: PathBuf,
    parsed: Result<ChatTemplate, String>,
}

impl fmt::Debug for HuggingFace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HuggingFace").field("special_ids", &self.special_ids).finish_non_exhaustive()
    }
}

impl HuggingFace {
    /// From a directory, or from a `tokenizer.json` itself with the files beside it.
    pub fn load(path: &Path) -> Result<Self, TokenizeError> {
        let is_directory = path.is_dir();
        let file = if is_directory { path.join(TOKENIZER_FILE) } else { path.to_owned() };
        let directory = file.parent().map(Path::to_owned).unwrap_or_default();
        let config = read_json(&directory.join(CONFIG_FILE))?;
        let map = read_json(&directory.join(SPECIAL_TOKENS_FILE))?;
        let ranks = rank_file::RankFileFormat::of(&directory, &config).filter(|(_, ranks)| {
            // A file that is named is the one to read.
            if is_directory { !file.exists() } else { ranks.file_name() == file.file_name() }
        });
        let malformed = |path: &Path| {
            let path = path.to_owned();
            move |reason| TokenizeError::Malformed { path, reason }
        };
        let engine = match ranks {
            Some((kind, ranks)) => RankFile::new(kind, &read(&ranks)?, &config)
                .map(|loaded| Engine::Ranks(Box::new(loaded)))
                .map_err(malformed(&ranks))?,
            None if !file.exists() => return Err(no_tokenizer_file(directory, &config)),
            None => Engine::from_json(&read(&file)?).map_err(malformed(&file))?,
        };
        let tried = guarded(|| (engine.decode(&engine.encode(TRIAL)), engine.special_tokens_per_prompt()));
        if tried.is_none() || engine.is_broken() {
            return Err(malformed(&file)("its steps do not work on a short text".to_owned()));
        }
        if !counts_any_text(&engine) {
            return Err(malformed(&file)("it finds no tokens in any text".to_owned()));
        }
        let named = named_special_tokens(&config, &map);
        let id_of = |key: &str| named.iter().find(|(name, _)| name == key).and_then(|(_, text)| engine.id_of(text));
        let (bos, eos) = (id_of("bos_token"), id_of("eos_token"));
        let special_ids =
            engine.special_ids().into_iter().chain(named.iter().filter_map(|(_, text)| engine.id_of(text))).collect();
        let template = template_source(&directory, &config)?
            .map(|(path, source)| TemplateFile { path, parsed: ChatTemplate::new(source, &named) });
        Ok(Self { file, special_ids, bos, eos, template, engine })
    }

    /// Fails if the library panicked while prompts were made: their lengths are wrong then.
    pub fn check(&self) -> Result<(), TokenizeError> {
        match self.engine.is_broken() {
            true => Err(TokenizeError::Malformed {
                path: self.file.clone(),
                reason: "its steps do not work on the text of a prompt".to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// How many tokens a text has, none added.
    pub fn count(&self, text: &str) -> usize {
        self.engine.count(text)
    }

    /// How many tokens a text has that a chat template wrote.
    pub fn count_rendered(&self, text: &str) -> usize {
        self.engine.count_rendered(text)
    }

    /// Whether no token has a blank after anything that is none, as far as that is certain.
    pub fn cuts_before_blanks(&self) -> bool {
        self.engine.cuts_before_blanks()
    }

    /// The tokens of a text, none added.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.engine.encode(text)
    }

    /// The text of tokens, special ones included.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.engine.decode(ids)
    }

    /// How many tokens are added to one prompt.
    pub fn special_tokens_per_prompt(&self) -> usize {
        self.engine.special_tokens_per_prompt()
    }

    /// How many ids the vocabulary has, tokens added later not counted.
    pub fn vocabulary_size(&self) -> usize {
        self.engine.vocabulary_size()
    }

    /// Ids of special tokens, ascending.
    pub fn special_ids(&self) -> impl Iterator<Item = u32> {
        self.special_ids.iter().copied()
    }

    /// Ids of the vocabulary that are not special, ascending.
    pub fn ordinary_ids(&self) -> Vec<u32> {
        let size = u32::try_from(self.vocabulary_size()).unwrap_or(u32::MAX);
        (0..size).filter(|id| !self.special_ids.contains(id) && self.engine.has(*id)).collect()
    }

    /// Ids of the vocabulary, special ones included, ascending.
    pub fn all_ids(&self) -> Vec<u32> {
        let size = u32::try_from(self.vocabulary_size()).unwrap_or(u32::MAX);
        (0..size).filter(|id| self.engine.has(*id)).collect()
    }

    /// Id that begins a text.
    pub fn bos_id(&self) -> Option<u32> {
        self.bos
    }

    /// Id that ends a text.
    pub fn eos_id(&self) -> Option<u32> {
        self.eos
    }

    /// BOS, else EOS.
    pub fn separator_id(&self) -> Option<u32> {
        self.bos.or(self.eos)
    }

    /// Whether there is a chat template, usable or not.
    pub fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// Messages as the chat template puts them; `None` where there is no template.
    pub fn render(
        &self,
        messages: impl Serialize,
        add_generation_prompt: bool,
    ) -> Option<Result<String, TokenizeError>> {
        let TemplateFile { path, parsed } = self.template.as_ref()?;
        let rendered = match parsed {
            Ok(template) => template.render(messages, add_generation_prompt),
            Err(reason) => Err(reason.clone()),
        };
        Some(rendered.map_err(|reason| TokenizeError::Template { path: path.clone(), reason }))
    }
}

/// Whether any text has tokens: a vocabulary of few words may not contain those of the trial.
fn counts_any_text(engine: &Engine) -> bool {
    let mut ids = 0..u32::try_from(engine.vocabulary_size()).unwrap_or(u32::MAX);
    engine.count(TRIAL) > 0 || ids.any(|id| engine.has(id) && engine.count(&engine.decode(&[id])) > 0)
}

/// The largest file of a tokenizer that is read; the largest known has 35 MB.
const MOST_BYTES: u64 = 1 << 30;

/// A plain file of a size that tokenizers have: a device would never end, and a pipe without a writer never begin.
fn read(path: &Path) -> Result<Vec<u8>, TokenizeError> {
    let unreadable = |source| TokenizeError::Unreadable { path: path.to_owned(), source };
    let found = fs::metadata(path).map_err(unreadable)?;
    if !found.is_file() || found.len() > MOST_BYTES {
        let rule = if found.is_file() { "too large for a tokenizer" } else { "not a file" };
        return Err(unreadable(std::io::Error::other(rule)));
    }
    fs::read(path).map_err(unreadable)
}

/// A file's JSON; `null` when there is no such file.
fn read_json(path: &Path) -> Result<Value, TokenizeError> {
    if !path.exists() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&read(path)?)
        .map_err(|error| TokenizeError::Malformed { path: path.to_owned(), reason: error.to_string() })
}

/// What a directory without a `tokenizer.json` has instead.
fn no_tokenizer_file(directory: PathBuf, config: &Value) -> TokenizeError {
    let code = config.get("auto_map").and_then(|map| map.get("AutoTokenizer"));
    let code = code.map(|code| code.as_array().and_then(|both| both.iter().find_map(Value::as_str)).or(code.as_str()));
    if let Some(class) = code {
        let class = class.or_else(|| config.get("tokenizer_class")?.as_str()).unwrap_or("unknown").to_owned();
        return TokenizeError::NeedsCode { directory, class };
    }
    let found = OTHER_FORMATS.iter().find(|(file, _)| directory.join(file).exists());
    match found {
        Some((file, format)) => TokenizeError::OtherFormat { directory, file, format },
        None => TokenizeError::NoTokenizerFile { directory },
    }
}

/// The text of a token that is written as a string or as `{"content": ...}`.
fn token_text(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}

/// Every special token the files name, as (`bos_token`, its text); lists give one pair an element.
fn named_special_tokens(config: &Value, map: &Value) -> Vec<(String, String)> {
    let mut named: Vec<(String, String)> = Vec::new();
    for (key, value) in [config, map].into_iter().filter_map(Value::as_object).flatten() {
        match value {
            Value::Array(tokens) if key == "additional_special_tokens" || key == "extra_special_tokens" => {
                named.extend(tokens.iter().filter_map(token_text).map(|text| (key.clone(), text.to_owned())));
            }
            Value::Object(tokens) if key == "extra_special_tokens" => {
                let tokens = tokens.iter().filter_map(|(name, token)| Some((name, token_text(token)?)));
                named.extend(tokens.map(|(name, text)| (name.clone(), text.to_owned())));
            }
            _ if key.ends_with("_token") && !named.iter().any(|(name, _)| name == key) => {
                named.extend(token_text(value).map(|text| (key.clone(), text.to_owned())));
            }
            _ => {}
        }
    }
    named
}

/// The default chat template and the file that has it: one of its own wins over the configuration.
fn template_source(directory: &Path, config: &Value) -> Result<Option<(PathBuf, String)>, TokenizeError> {
    let file = directory.join(TEMPLATE_FILE);
    if file.exists() {
        let source = String::from_utf8_lossy(&read(&file)?).into_owned();
        return Ok(Some((file, source)));
    }
    let template = match config.get("chat_template") {
        Some(Value::String(text)) => Some(text.as_str()),
        Some(Value::Array(named)) => named
            .iter()
            .find(|entry| entry.get("name").and_then(Value::as_str) == Some("default"))
            .or_else(|| named.first())
            .and_then(|entry| entry.get("template")?.as_str()),
        _ => None,
    };
    Ok(template.map(|source| (directory.join(CONFIG_FILE), source.to_owned())))
}
