//! The dataset.

use crate::choice::{Choice, joined};
use crate::context::Context;
use crate::error::{Problem, needs};
use crate::flags::{
    APPLY_CHAT_TEMPLATE, AUDIO_BATCH_SIZE, AUDIO_LENGTH_MEAN, AUDIO_LENGTH_STDDEV, CONVERSATION_NUM,
    CONVERSATION_TURN_DELAY_MEAN, CONVERSATION_TURN_DELAY_RATIO, CONVERSATION_TURN_DELAY_STDDEV,
    CONVERSATION_TURN_MEAN, CONVERSATION_TURN_STDDEV, CUSTOM_DATASET_TYPE, DATASET_FILTER, FORCE_MIN_TOKENS, Flag,
    HF_WEKA_DATASET, IMAGE_BATCH_SIZE, IMAGE_HEIGHT_MEAN, IMAGE_HEIGHT_STDDEV, IMAGE_SOURCE, IMAGE_SOURCE_SAMPLING,
    IMAGE_WIDTH_MEAN, IMAGE_WIDTH_STDDEV, INPUT_FILE, MAX_CONTEXT_LENGTH, MAX_IDLE_GAP_CAP_SECONDS,
    NUM_DATASET_ENTRIES, OMIT_KV_HINTS, OPEN_LOOP_REPLAY, OPEN_LOOP_STRICT, PROMPT_BATCH_SIZE,
    PROMPT_INPUT_TOKENS_BLOCK_SIZE, PROMPT_INPUT_TOKENS_MEAN, PROMPT_INPUT_TOKENS_STDDEV, PROMPT_PREFIX_LENGTH,
    PROMPT_PREFIX_POOL_SIZE, PUBLIC_DATASET, RANDOM_CORPUS_STYLE, RANDOM_RANGE_RATIO, RANDOM_SEED, REPLAY_SPEEDUP,
    REQUEST_COUNT, SEQ_DIST, SHARED_SYSTEM_PROMPT_LENGTH, TOKENIZER, TOKENIZER_REVISION, TOKENIZER_TRUST_REMOTE_CODE,
    TRACE_SESSION_SAMPLE_RATIO, To, USER_CONTEXT_PROMPT_LENGTH, VIDEO_BATCH_SIZE, VIDEO_DURATION, VIDEO_FPS,
    VIDEO_HEIGHT, VIDEO_SYNTH_TYPE, VIDEO_WIDTH,
};
use crate::given::{GivenFlag, GivenFlags};
use crate::parse::{filters, sequence_distribution};
use crate::sections::dataset::{Dataset, DatasetType, INPUT_TOKENS, MEAN_TURN_DELAY, MEAN_TURNS, PublicDataset};
use crate::sections::endpoint::Endpoint;
use crate::sections::layout::{Layout, Unread};
use crate::tree::{Datum, Node, Places};
use aiperf_plan::{FileFormat, TraceFormat};
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

/// Flags that apply only to synthetic conversations.
const SYNTHETIC_ONLY: &[&Flag] = &[
    PROMPT_INPUT_TOKENS_MEAN,
    PROMPT_INPUT_TOKENS_STDDEV,
    SEQ_DIST,
    RANDOM_RANGE_RATIO,
    PROMPT_PREFIX_POOL_SIZE,
    PROMPT_PREFIX_LENGTH,
    SHARED_SYSTEM_PROMPT_LENGTH,
    USER_CONTEXT_PROMPT_LENGTH,
    CONVERSATION_TURN_MEAN,
    CONVERSATION_TURN_STDDEV,
    CONVERSATION_TURN_DELAY_MEAN,
    CONVERSATION_TURN_DELAY_STDDEV,
    CONVERSATION_TURN_DELAY_RATIO,
    IMAGE_SOURCE,
    IMAGE_SOURCE_SAMPLING,
];

const BATCH_SIZES: &[&Flag] = &[PROMPT_BATCH_SIZE, IMAGE_BATCH_SIZE, AUDIO_BATCH_SIZE, VIDEO_BATCH_SIZE];

const BASETEN_ONLY: &[&Flag] = &[
    TRACE_SESSION_SAMPLE_RATIO,
    REPLAY_SPEEDUP,
    MAX_IDLE_GAP_CAP_SECONDS,
    OPEN_LOOP_REPLAY,
    OPEN_LOOP_STRICT,
    OMIT_KV_HINTS,
    FORCE_MIN_TOKENS,
];

/// Flags about text, which do not apply to an endpoint without text.
const TEXT_ONLY: &[&Flag] = &[
    PROMPT_INPUT_TOKENS_MEAN,
    PROMPT_INPUT_TOKENS_STDDEV,
    PROMPT_INPUT_TOKENS_BLOCK_SIZE,
    PROMPT_BATCH_SIZE,
    SEQ_DIST,
    RANDOM_RANGE_RATIO,
    RANDOM_CORPUS_STYLE,
    PROMPT_PREFIX_POOL_SIZE,
    PROMPT_PREFIX_LENGTH,
    SHARED_SYSTEM_PROMPT_LENGTH,
    USER_CONTEXT_PROMPT_LENGTH,
    TOKENIZER,
    TOKENIZER_REVISION,
    TOKENIZER_TRUST_REMOTE_CODE,
    APPLY_CHAT_TEMPLATE,
];

/// Keys of a synthetic dataset, and the same keys of a loaded one.
const LOADED_KEYS: &[(&str, &str)] = &[
    ("prompts.block_size", "block_size"),
    ("prompts.batch_size", "prompt_batch_size"),
    ("images.batch_size", "image_batch_size"),
    ("audio.batch_size", "audio_batch_size"),
    ("video.batch_size", "video_batch_size"),
    ("prompts.osl.mean", "osl.mean"),
    ("prompts.osl.stddev", "osl.stddev"),
    ("prompts.cache_bust.target", "cache_bust.target"),
];

/// Flags that switch a kind of media on, with its key.
const MEDIA: &[(&str, &[&Flag])] = &[
    (
        "images",
        &[
            IMAGE_WIDTH_MEAN,
            IMAGE_WIDTH_STDDEV,
            IMAGE_HEIGHT_MEAN,
            IMAGE_HEIGHT_STDDEV,
            IMAGE_SOURCE,
            IMAGE_SOURCE_SAMPLING,
        ],
    ),
    ("audio", &[AUDIO_LENGTH_MEAN, AUDIO_LENGTH_STDDEV]),
    ("video", &[VIDEO_WIDTH, VIDEO_HEIGHT, VIDEO_DURATION, VIDEO_FPS, VIDEO_SYNTH_TYPE]),
];

/// Lays flags over the one dataset of a document. Without a file, flags select its type; with a file, they cannot
/// change it.
pub(super) fn dataset(
    benchmark: &mut Node,
    flags: &GivenFlags,
    ctx: &Context<'_>,
    places: &Places,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    let about_data = |given: &GivenFlag| {
        matches!(given.flag.to, To::Dataset(_)) || given.flag == RANDOM_SEED || given.flag == CONVERSATION_NUM
    };
    let file = places.file.as_deref();
    if file.is_some() && !flags.0.iter().any(about_data) {
        return;
    }
    let endpoint = benchmark.child("endpoint").choice("type").unwrap_or(Endpoint::default().r#type());
    let Some(Node { datum: Datum::List(items), .. }) = benchmark.get_mut("datasets") else { return };
    let [dataset] = &mut items[..] else { return };
    if file.is_none() {
        let kind = asked_type(flags, problems);
        check(flags, kind, endpoint, ctx, problems);
        dataset.put("type", Node::rule(kind));
    }
    let kind = dataset.choice("type").unwrap_or_else(|| Dataset::default().r#type());
    if let Some(file) = file
        && flags.has(INPUT_FILE)
        && kind != DatasetType::File
    {
        let what = format!("--input-file cannot be used with the {} dataset of {file}", kind.name());
        problems.push(
            Problem::new(what)
                .because("flags cannot change the type of a dataset")
                .hint("type: file in the file, or leave --input-file out"),
        );
        return;
    }
    place(dataset, kind, flags, problems);
    if let Some(entries) = entries(flags, file.is_none()) {
        dataset.put("entries", entries);
    }
    if flags.has(HF_WEKA_DATASET) {
        dataset.put_default("dataset", PublicDataset::WekaHf);
    }
    if kind == DatasetType::Synthetic {
        media_batches(dataset, flags);
    }
    if file.is_none() {
        fill_in(dataset, kind, endpoint, flags, notes);
    }
}

/// Fills in what flags without a file leave open.
fn fill_in(dataset: &mut Node, kind: DatasetType, endpoint: EndpointKind, flags: &GivenFlags, notes: &mut Vec<String>) {
    if kind != DatasetType::Synthetic {
        notes.extend(unshaped(dataset, flags));
        return;
    }
    let traits = endpoint.traits();
    let no_mean = dataset.find("prompts.isl.mean").is_none();
    if no_mean && (traits.tokenizes_input || traits.produces_tokens) {
        dataset.place("prompts.isl.mean", Node::rule(INPUT_TOKENS));
    }
}

/// Drops settings of generated requests from a dataset that is loaded, with a note.
fn unshaped(dataset: &mut Node, flags: &GivenFlags) -> Option<String> {
    const SHAPES: &[&str] = &["prefix_prompts", "images", "audio", "video", "rankings"];
    for key in SHAPES {
        dataset.take(key);
    }
    let corpus = dataset.take("prompts").and_then(|mut prompts| prompts.take("corpus"));
    if let Some(corpus) = corpus {
        dataset.place("prompts.corpus", corpus);
    }
    let shapes = |key: &str| {
        let first = key.split('.').next().unwrap_or_default();
        let moved = LOADED_KEYS.iter().any(|(synthetic, _)| *synthetic == key);
        (SHAPES.contains(&first) || (first == "prompts" && key != "prompts.corpus")) && !moved
    };
    let dropped: Vec<&str> = flags
        .0
        .iter()
        .filter(|given| matches!(given.flag.to, To::Dataset(key) if shapes(key)))
        .map(|given| given.spelled.as_str())
        .collect();
    (!dropped.is_empty()).then(|| format!("{} has no effect: requests are taken from the data", dropped.join(", ")))
}

/// The type of dataset that flags without a file select.
fn asked_type(flags: &GivenFlags, problems: &mut Vec<Problem>) -> DatasetType {
    let public = flags.among(&[PUBLIC_DATASET, HF_WEKA_DATASET]);
    let file = flags.has(INPUT_FILE);
    if let (Some(public), true) = (public.first(), file) {
        problems.push(Problem::leave_one_out(public, "--input-file").because("a run has one dataset"));
    }
    match (public.is_empty(), file) {
        (false, _) => DatasetType::Public,
        (true, true) => DatasetType::File,
        (true, false) => Dataset::default().r#type(),
    }
}

/// The number of conversations, from the first flag that sets it; of a list, the largest. A number of requests counts
/// only without a file.
fn entries(flags: &GivenFlags, alone: bool) -> Option<Node> {
    let counts = [NUM_DATASET_ENTRIES, CONVERSATION_NUM].into_iter().chain(alone.then_some(REQUEST_COUNT));
    let given = counts.into_iter().find_map(|flag| flags.get(flag))?;
    let value = match given.sweep() {
        Some(items) => items.iter().max_by_key(|item| item.as_i64()).cloned()?,
        None => given.value.clone(),
    };
    // A count below one is refused as a count, not as a dataset size that the user never set.
    let sensible = value.as_i64().is_some_and(|n| n >= 1) || given.flag == NUM_DATASET_ENTRIES;
    sensible.then(|| Node::flag(&value, &given.spelled))
}

/// Puts dataset flags into the keys of this kind of dataset.
fn place(dataset: &mut Node, kind: DatasetType, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    for given in &flags.0 {
        let To::Dataset(key) = given.flag.to else { continue };
        let key = match LOADED_KEYS.iter().find(|(synthetic, _)| kind != DatasetType::Synthetic && *synthetic == key) {
            Some((_, loaded)) => loaded,
            None => key,
        };
        let node = match parsed(given.flag, &given.value) {
            Ok(Some(value)) => Node::flag(&value, &given.spelled),
            Ok(None) => given.node(),
            Err(problem) => {
                problems.push(problem.at(given.flag.to.location()));
                continue;
            }
        };
        if given.flag == NUM_DATASET_ENTRIES {
            continue;
        }
        length(dataset, key);
        dataset.place(key, node);
    }
    for (key, mean, stddev, default_mean) in [
        ("turns", CONVERSATION_TURN_MEAN, CONVERSATION_TURN_STDDEV, MEAN_TURNS),
        ("turn_delay", CONVERSATION_TURN_DELAY_MEAN, CONVERSATION_TURN_DELAY_STDDEV, MEAN_TURN_DELAY),
    ] {
        if flags.has(mean) || flags.has(stddev) {
            let node = dataset.child(key);
            node.put_default("mean", default_mean);
            node.put_default("stddev", 0.0);
        }
    }
    if let Some(seed) = flags.node(RANDOM_SEED) {
        dataset.put("random_seed", seed);
    }
}

/// Prepares a length for a mean or deviation: a bare number becomes a mean, other shapes are removed.
fn length(dataset: &mut Node, key: &str) {
    let Some((parent, leaf)) = key.rsplit_once('.') else { return };
    if leaf != "mean" && leaf != "stddev" {
        return;
    }
    let Some(old) = dataset.find(parent).cloned() else { return };
    let mean = old.as_f64().or_else(|| old.get("value").and_then(Node::as_f64));
    let kept = match (mean, old.is_map() && old.get("value").is_none()) {
        (_, true) => return,
        (Some(mean), _) => {
            let mut map = Node::map(old.origin.clone());
            map.put("mean", Node::new(Datum::Float(mean), old.origin.clone()));
            map
        }
        (None, _) => Node::map(old.origin.clone()),
    };
    dataset.place(parent, kept);
}

/// The value of a flag whose text has a syntax of its own.
fn parsed(flag: &Flag, value: &Value) -> Result<Option<Value>, Problem> {
    if flag == SEQ_DIST {
        let text = value.as_str().unwrap_or_default();
        return sequence_distribution(text).map(Some).map_err(|rule| {
            Problem::new(format!("--seq-dist '{text}' {rule}")).hint("--seq-dist '256,128:60;1024,256:40'")
        });
    }
    if flag == DATASET_FILTER {
        let items: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        return filters(&items)
            .map(Some)
            .map_err(|rule| Problem::new(format!("--dataset-filter {rule}")).hint("--dataset-filter key=value"));
    }
    Ok(None)
}

/// Media with a given size, length or source default to one per request.
fn media_batches(dataset: &mut Node, flags: &GivenFlags) {
    for (key, triggers) in MEDIA {
        if triggers.iter().any(|flag| flags.has(flag)) {
            dataset.child(key).put_default("batch_size", 1);
        }
    }
}

/// Refuses flags about the dataset that exclude each other.
fn check(
    flags: &GivenFlags,
    kind: DatasetType,
    endpoint: EndpointKind,
    ctx: &Context<'_>,
    problems: &mut Vec<Problem>,
) {
    let format: Option<Layout> = flags.choice(CUSTOM_DATASET_TYPE);
    let loaded = if kind == DatasetType::File { "--input-file" } else { "--public-dataset" };
    if flags.has(CUSTOM_DATASET_TYPE) && kind != DatasetType::File {
        problems.push(needs(CUSTOM_DATASET_TYPE.name, INPUT_FILE.name, "it is the layout of a file"));
    }
    if kind != DatasetType::Synthetic {
        let given = flags.among(SYNTHETIC_ONLY);
        if !given.is_empty() {
            let verb = if given.len() == 1 { "shapes" } else { "shape" };
            problems.push(
                Problem::new(format!("{} {verb} synthetic conversations only", given.join(", ")))
                    .because("with --input-file or --public-dataset conversations come from the data")
                    .hint(format!("leave {} out, or leave {loaded} out", given.join(", "))),
            );
        }
        batches(flags, kind, format, ctx, problems);
    }
    if let Some(block) = flags.get(PROMPT_INPUT_TOKENS_BLOCK_SIZE)
        && kind != DatasetType::Synthetic
        && (kind == DatasetType::Public || format.is_some_and(|format| !Layout::HASHED.contains(&format)))
    {
        problems.push(
            Problem::new(format!("{} needs a trace with hash blocks", block.spelled))
                .because(format!("formats with hash blocks: {}", joined(Layout::HASHED)))
                .hint(format!("leave {} out", block.spelled)),
        );
    }
    let baseten = flags.among(BASETEN_ONLY);
    if !baseten.is_empty()
        && (kind != DatasetType::File || format.is_some_and(|format| format != Layout::Trace(TraceFormat::Baseten)))
    {
        problems.push(needs(
            &baseten.join(", "),
            "--input-file FILE with --custom-dataset-type baseten_trace",
            "it applies to the replay of such a trace",
        ));
    }
    let weka = kind == DatasetType::Public
        && (flags.has(HF_WEKA_DATASET) || flags.choice(PUBLIC_DATASET).is_some_and(PublicDataset::is_weka));
    if flags.has(MAX_CONTEXT_LENGTH)
        && !weka
        && (kind != DatasetType::File || format.is_some_and(|format| format != Layout::Unread(Unread::WekaTrace)))
    {
        problems.push(needs(
            MAX_CONTEXT_LENGTH.name,
            "a Weka trace (--custom-dataset-type weka_trace, or a Weka --public-dataset)",
            "only these record the length of a context",
        ));
    }
    if flags.has(DATASET_FILTER) && kind != DatasetType::Public {
        problems.push(needs(DATASET_FILTER.name, PUBLIC_DATASET.name, "it picks rows of a public dataset"));
    }
    weka_repository(flags, problems);
    let traits = endpoint.traits();
    if !traits.tokenizes_input && !traits.produces_tokens {
        let given = flags.among(TEXT_ONLY);
        if !given.is_empty() {
            problems.push(
                Problem::new(format!("{} cannot be used with --endpoint-type {}", given.join(", "), endpoint.name()))
                    .because("it has neither text input nor text output")
                    .hint(format!("leave {} out", given.join(", "))),
            );
        }
    }
}

fn batches(
    flags: &GivenFlags,
    kind: DatasetType,
    format: Option<Layout>,
    ctx: &Context<'_>,
    problems: &mut Vec<Problem>,
) {
    let given = flags.among(BATCH_SIZES);
    if given.is_empty() {
        return;
    }
    let names = given.join(", ");
    if kind != DatasetType::File || format != Some(Layout::File(FileFormat::RandomPool)) {
        problems.push(needs(
            &names,
            "--custom-dataset-type random_pool",
            "with other data of --input-file or --public-dataset a request is the content of its record",
        ));
    } else if flags.text(INPUT_FILE).is_some_and(|path| ctx.cwd.join(path).is_dir())
        && BATCH_SIZES.iter().any(|flag| flags.number(flag).is_some_and(|n| n != 1.0))
    {
        problems.push(
            Problem::new(format!("{names} must be 1 when --input-file is a directory"))
                .because("each file of the directory gives one part of a request"),
        );
    }
}

fn weka_repository(flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let repository = flags.text(HF_WEKA_DATASET);
    match (flags.choice::<PublicDataset>(PUBLIC_DATASET), repository) {
        (Some(name), Some(_)) if name != PublicDataset::WekaHf => problems.push(
            Problem::new(format!("--hf-weka-dataset cannot be used with --public-dataset {}", name.name()))
                .because("it names the repository of dataset weka_hf")
                .hint("leave --public-dataset out"),
        ),
        (_, Some(repository)) if repository.trim().is_empty() => {
            problems.push(Problem::new("--hf-weka-dataset must not be blank").hint("--hf-weka-dataset ORG/NAME"));
        }
        _ => {}
    }
}

/// A problem for each empty list of sweep values.
pub(crate) fn empty_lists(flags: &GivenFlags) -> Vec<Problem> {
    let empty = flags.0.iter().filter(|given| given.sweep().is_some_and(<[Value]>::is_empty));
    empty
        .map(|given| {
            Problem::new(format!("{} ',' has no value", given.spelled))
                .hint(format!("{} {}", given.spelled, json!([1, 2]).to_string().trim_matches(['[', ']'])))
                .at(given.flag.to.location())
        })
        .collect()
}
