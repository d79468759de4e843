//! The dataset.

use crate::context::Context;
use crate::error::{Problem, needs};
use crate::flags::{Flag, To};
use crate::given::Flags;
use crate::parse::{filters, sequence_distribution};
use crate::tree::{Datum, Node, Origin};
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

/// Flags that shape conversations only where these are made up.
const SYNTHETIC_ONLY: &[&str] = &[
    "--prompt-input-tokens-mean",
    "--prompt-input-tokens-stddev",
    "--seq-dist",
    "--random-range-ratio",
    "--prompt-prefix-pool-size",
    "--prompt-prefix-length",
    "--shared-system-prompt-length",
    "--user-context-prompt-length",
    "--conversation-turn-mean",
    "--conversation-turn-stddev",
    "--conversation-turn-delay-mean",
    "--conversation-turn-delay-stddev",
    "--conversation-turn-delay-ratio",
    "--image-source",
    "--image-source-sampling",
];

const BATCH_SIZES: &[&str] = &["--prompt-batch-size", "--image-batch-size", "--audio-batch-size", "--video-batch-size"];

const BASETEN_ONLY: &[&str] = &[
    "--trace-session-sample-ratio",
    "--replay-speedup",
    "--max-idle-gap-cap-seconds",
    "--open-loop-replay",
    "--open-loop-strict",
    "--omit-kv-hints",
    "--force-min-tokens",
];

/// Flags about text, which an endpoint that reads and writes none has no use for.
const TEXT_ONLY: &[&str] = &[
    "--prompt-input-tokens-mean",
    "--prompt-input-tokens-stddev",
    "--prompt-input-tokens-block-size",
    "--prompt-batch-size",
    "--seq-dist",
    "--random-range-ratio",
    "--random-corpus-style",
    "--prompt-prefix-pool-size",
    "--prompt-prefix-length",
    "--shared-system-prompt-length",
    "--user-context-prompt-length",
    "--tokenizer",
    "--tokenizer-revision",
    "--tokenizer-trust-remote-code",
    "--apply-chat-template",
];

/// Formats whose records name hash blocks of a size.
const HASHED: &[&str] = &["mooncake_trace", "bailian_trace", "baseten_trace", "tracelab"];

/// Where a key of a synthetic dataset is in one that is loaded.
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

/// Flags that turn a kind of media on, and where.
const MEDIA: &[(&str, &[&str])] = &[
    (
        "images",
        &[
            "--image-width-mean",
            "--image-width-stddev",
            "--image-height-mean",
            "--image-height-stddev",
            "--image-source",
            "--image-source-sampling",
        ],
    ),
    ("audio", &["--audio-length-mean", "--audio-length-stddev"]),
    ("video", &["--video-width", "--video-height", "--video-duration", "--video-fps", "--video-synth-type"]),
];

/// The one dataset that flags describe.
pub(super) fn dataset(
    benchmark: &mut Node,
    flags: &Flags,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) {
    let kind = kind(flags, problems);
    let endpoint = endpoint(flags);
    check(flags, kind, endpoint, ctx, problems);
    let mut dataset = Node::map(Origin::Rule);
    dataset.put("name", Node::rule("main"));
    dataset.put("type", Node::rule(kind));
    place(&mut dataset, kind, flags, problems);
    if let Some(entries) = entries(flags) {
        dataset.put("entries", entries);
    }
    if flags.has("--hf-weka-dataset") {
        dataset.put_default("dataset", "weka_hf");
    }
    if kind == "synthetic" {
        let traits = endpoint.traits();
        let no_mean = dataset.find("prompts.isl.mean").is_none();
        if no_mean && (traits.tokenizes_input || traits.produces_tokens) {
            dataset.place("prompts.isl.mean", Node::rule(550.0));
        }
        media_batches(&mut dataset, flags);
    } else {
        notes.extend(unshaped(&mut dataset, flags));
    }
    benchmark.put("datasets", Node::rule(vec![dataset]));
}

/// Drops what shapes made-up requests from a dataset that is loaded, and says so.
fn unshaped(dataset: &mut Node, flags: &Flags) -> Option<String> {
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
        .filter(|said| matches!(said.flag.to, To::Dataset(key) if shapes(key)))
        .map(|said| said.spelled.as_str())
        .collect();
    (!dropped.is_empty()).then(|| format!("{} has no effect: requests are what the data says", dropped.join(", ")))
}

/// The endpoint type that flags ask for.
pub(crate) fn endpoint(flags: &Flags) -> EndpointKind {
    flags.text("--endpoint-type").and_then(EndpointKind::parse).unwrap_or(EndpointKind::Chat)
}

fn kind(flags: &Flags, problems: &mut Vec<Problem>) -> &'static str {
    let public = flags.among(&["--public-dataset", "--hf-weka-dataset"]);
    let file = flags.has("--input-file");
    if let (Some(public), true) = (public.first(), file) {
        problems.push(
            Problem::new(format!("{public} and --input-file exclude each other"))
                .because("a run has one dataset")
                .hint(format!("leave {public} or --input-file out")),
        );
    }
    match (public.is_empty(), file) {
        (false, _) => "public",
        (true, true) => "file",
        (true, false) => "synthetic",
    }
}

/// How many conversations: the first flag that says so; a list gives its largest.
pub(crate) fn entries(flags: &Flags) -> Option<Node> {
    ["--num-dataset-entries", "--conversation-num", "--request-count"].iter().find_map(|name| {
        let said = flags.get(name)?;
        let value = match said.sweep() {
            Some(items) => items.iter().max_by_key(|item| item.as_i64()).cloned()?,
            None => said.value.clone(),
        };
        // A count below one is refused where it is a count, not as a dataset size the user never named.
        let sensible = value.as_i64().is_some_and(|n| n >= 1) || *name == "--num-dataset-entries";
        sensible.then(|| Node::flag(&value, &said.spelled))
    })
}

/// Puts dataset flags where a dataset of this kind has them.
pub(crate) fn place(dataset: &mut Node, kind: &str, flags: &Flags, problems: &mut Vec<Problem>) {
    for said in &flags.0 {
        let To::Dataset(key) = said.flag.to else { continue };
        let key = match LOADED_KEYS.iter().find(|(synthetic, _)| kind != "synthetic" && *synthetic == key) {
            Some((_, loaded)) => loaded,
            None => key,
        };
        let node = match parsed(said.flag, &said.value) {
            Ok(Some(value)) => Node::flag(&value, &said.spelled),
            Ok(None) => said.node(),
            Err(problem) => {
                problems.push(problem.at(said.flag.to.location()));
                continue;
            }
        };
        if said.flag.name == "--num-dataset-entries" {
            continue;
        }
        length(dataset, key);
        dataset.place(key, node);
    }
    for (key, mean, stddev, default_mean) in [
        ("turns", "--conversation-turn-mean", "--conversation-turn-stddev", 1.0),
        ("turn_delay", "--conversation-turn-delay-mean", "--conversation-turn-delay-stddev", 0.0),
    ] {
        if flags.has(mean) || flags.has(stddev) {
            let node = dataset.child(key);
            node.put_default("mean", default_mean);
            node.put_default("stddev", 0.0);
        }
    }
    if let Some(seed) = flags.node("--random-seed") {
        dataset.put("random_seed", seed);
    }
}

/// Where a mean or deviation is about to be put, a bare number becomes a mean and other shapes make way.
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

/// The value of a flag whose text has a form of its own.
fn parsed(flag: &Flag, value: &Value) -> Result<Option<Value>, Problem> {
    let text = value.as_str().unwrap_or_default();
    match flag.name {
        "--seq-dist" => sequence_distribution(text).map(Some).map_err(|rule| {
            Problem::new(format!("--seq-dist '{text}' {rule}")).hint("--seq-dist '256,128:60;1024,256:40'")
        }),
        "--dataset-filter" => {
            let items: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            filters(&items)
                .map(Some)
                .map_err(|rule| Problem::new(format!("--dataset-filter {rule}")).hint("--dataset-filter key=value"))
        }
        _ => Ok(None),
    }
}

/// Media of which a size, length or source is given are one a request unless a number is given.
pub(crate) fn media_batches(dataset: &mut Node, flags: &Flags) {
    for (key, triggers) in MEDIA {
        if triggers.iter().any(|flag| flags.has(flag)) {
            dataset.child(key).put_default("batch_size", 1);
        }
    }
}

/// What flags about the dataset may not stand together.
fn check(flags: &Flags, kind: &str, endpoint: EndpointKind, ctx: &Context<'_>, problems: &mut Vec<Problem>) {
    let format = flags.text("--custom-dataset-type");
    let loaded = if kind == "file" { "--input-file" } else { "--public-dataset" };
    if flags.has("--custom-dataset-type") && kind != "file" {
        problems.push(needs("--custom-dataset-type", "--input-file", "it is the layout of a file"));
    }
    if kind != "synthetic" {
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
    if let Some(block) = flags.get("--prompt-input-tokens-block-size")
        && kind != "synthetic"
        && (kind == "public" || format.is_some_and(|format| !HASHED.contains(&format)))
    {
        problems.push(
            Problem::new(format!("{} needs a trace with hash blocks", block.spelled))
                .because(format!("formats with hash blocks: {}", HASHED.join(", ")))
                .hint(format!("leave {} out", block.spelled)),
        );
    }
    let baseten = flags.among(BASETEN_ONLY);
    if !baseten.is_empty() && (kind != "file" || format.is_some_and(|format| format != "baseten_trace")) {
        problems.push(needs(
            &baseten.join(", "),
            "--input-file FILE with --custom-dataset-type baseten_trace",
            "it is about the replay of such a trace",
        ));
    }
    let weka = kind == "public"
        && (flags.has("--hf-weka-dataset") || flags.text("--public-dataset").is_some_and(|name| name.contains("weka")));
    if flags.has("--max-context-length")
        && !weka
        && (kind != "file" || format.is_some_and(|format| format != "weka_trace"))
    {
        problems.push(needs(
            "--max-context-length",
            "a Weka trace (--custom-dataset-type weka_trace, or a Weka --public-dataset)",
            "only these know the length of a context",
        ));
    }
    if flags.has("--dataset-filter") && kind != "public" {
        problems.push(needs("--dataset-filter", "--public-dataset", "it picks rows of a public dataset"));
    }
    weka_repository(flags, problems);
    let traits = endpoint.traits();
    if !traits.tokenizes_input && !traits.produces_tokens {
        let given = flags.among(TEXT_ONLY);
        if !given.is_empty() {
            problems.push(
                Problem::new(format!("{} cannot be used with --endpoint-type {}", given.join(", "), endpoint.name()))
                    .because("it neither reads nor writes text")
                    .hint(format!("leave {} out", given.join(", "))),
            );
        }
    }
}

fn batches(flags: &Flags, kind: &str, format: Option<&str>, ctx: &Context<'_>, problems: &mut Vec<Problem>) {
    let given = flags.among(BATCH_SIZES);
    if given.is_empty() {
        return;
    }
    let names = given.join(", ");
    if kind != "file" || format != Some("random_pool") {
        problems.push(needs(
            &names,
            "--custom-dataset-type random_pool",
            "with other data of --input-file or --public-dataset a request is what its record says",
        ));
    } else if flags.text("--input-file").is_some_and(|path| ctx.cwd.join(path).is_dir())
        && BATCH_SIZES.iter().any(|flag| flags.number(flag).is_some_and(|n| n != 1.0))
    {
        problems.push(
            Problem::new(format!("{names} must be 1 when --input-file is a directory"))
                .because("each file of the directory gives one part of a request"),
        );
    }
}

fn weka_repository(flags: &Flags, problems: &mut Vec<Problem>) {
    let repository = flags.text("--hf-weka-dataset");
    match (flags.text("--public-dataset"), repository) {
        (Some(name), Some(_)) if name != "weka_hf" => problems.push(
            Problem::new(format!("--hf-weka-dataset cannot be used with --public-dataset {name}"))
                .because("it names the repository of dataset weka_hf")
                .hint("leave --public-dataset out"),
        ),
        (Some("weka_hf"), None) => {
            problems.push(needs(
                "--public-dataset weka_hf",
                "--hf-weka-dataset ORG/NAME",
                "it has no repository of its own",
            ));
        }
        (_, Some(repository)) if repository.trim().is_empty() => {
            problems.push(Problem::new("--hf-weka-dataset must not be blank").hint("--hf-weka-dataset ORG/NAME"));
        }
        _ => {}
    }
}

/// An empty list of values to sweep over.
pub(crate) fn empty_lists(flags: &Flags) -> Vec<Problem> {
    let empty = flags.0.iter().filter(|said| said.sweep().is_some_and(<[Value]>::is_empty));
    empty
        .map(|said| {
            Problem::new(format!("{} ',' has no value", said.spelled))
                .hint(format!("{} {}", said.spelled, json!([1, 2]).to_string().trim_matches(['[', ']'])))
                .at(said.flag.to.location())
        })
        .collect()
}
