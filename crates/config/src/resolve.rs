//! Arguments and environment to a checked configuration.

use crate::compose;
use crate::context::Context;
use crate::environment::{self, Environment};
use crate::error::{ConfigError, Problem};
use crate::export;
use crate::file::{self, Source};
use crate::flags::{API_KEY, CONFIG, RANDOM_SEED, SEARCH_RECIPE, To, VARIANT};
use crate::given::{GivenFlag, GivenFlags};
use crate::rules::{self, Facts};
use crate::sections::envelope::{Benchmark, Envelope};
use crate::sections::phases::PhaseType;
use crate::sections::runs::MultiRun;
use crate::sections::sweep::Sweep;
use crate::setting::{Reader, Setting};
use crate::sweep::{self, Variation};
use crate::tokens::{self, Asked};
use crate::tree::{Datum, Node, Origin, Places};
use crate::values;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{CampaignPlan, FileNames};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A checked configuration: all set values, by the user or by a rule, and the runs.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The benchmark of the first run, typed.
    pub benchmark: Benchmark,
    /// The whole configuration, typed.
    pub envelope: Envelope,
    /// Seed of every random draw.
    pub random_seed: Option<i64>,
    /// Runs of each variation.
    pub trials: i64,
    /// The runs of a sweep; empty without a sweep, and for a search that finds its runs as it goes.
    pub variations: Vec<RunVariation>,
    /// Folder below the artifact directory, unless the user named the directory.
    pub artifact_subdir: Option<String>,
    /// One line each, for stderr.
    pub notes: Vec<String>,
    /// The configuration of the first run with the origin of each value.
    pub(crate) node: Node,
    pub(crate) places: Places,
    pub(crate) flags: GivenFlags,
    pub(crate) environment: Environment,
    /// The configuration before a run of a sweep varies it, and the document it came from.
    base: Node,
    source: Source,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct RunVariation {
    /// Its number in the sweep.
    pub index: usize,
    /// The swept values, in words.
    pub label: String,
    /// Folder of the run.
    pub dir_name: String,
    pub values: Map<String, Value>,
    /// Seed of the run.
    pub seed: Option<i64>,
    pub(crate) benchmark: Benchmark,
    /// Its configuration with the origin of each value.
    pub(crate) node: Node,
}

impl RunVariation {
    /// Its configuration as exported: every effective setting, secrets redacted.
    pub fn input_config(&self) -> Value {
        export::input_config(&self.benchmark)
    }
}

impl Tree {
    /// The configuration of the first run as exported: every effective setting, secrets redacted.
    pub fn input_config(&self) -> Value {
        export::input_config(&self.benchmark)
    }

    /// The same, set fields only.
    #[cfg(test)]
    pub(crate) fn set_config(&self) -> Value {
        export::set_config(&self.benchmark)
    }

    /// The sweep as exported, if there is one.
    pub fn sweep(&self) -> Option<Value> {
        self.envelope.sweep.as_ref().map(Setting::write)
    }

    /// The repeated runs as exported, if set.
    pub fn multi_run(&self) -> Option<Value> {
        self.envelope.multi_run.as_ref().map(Setting::write)
    }

    /// The seed of one run: of a variation (0 without a sweep) and a trial of it, both counted from 0.
    pub fn run_seed(&self, variation: usize, trial: usize) -> Option<i64> {
        self.trial_seed(self.variations.get(variation), trial)
    }

    /// The seed of one trial of a run of a sweep; without a sweep, of the run itself.
    pub(crate) fn trial_seed(&self, run: Option<&RunVariation>, trial: usize) -> Option<i64> {
        let seed = run.map_or(self.random_seed, |run| run.seed)?;
        let vary = self.envelope.multi_run.as_ref().is_some_and(MultiRun::vary_seed_per_trial);
        let label = run.map_or("base", |run| run.label.as_str());
        Some(if vary { sweep::derived_seed(seed, &format!("{label}:trial:{trial}")) } else { seed })
    }

    /// The run of the sweep at a point that is not listed.
    pub(crate) fn at_point(
        &self,
        index: usize,
        values: &Map<String, Value>,
        ctx: &Context<'_>,
    ) -> Result<RunVariation, Vec<Problem>> {
        let variation = sweep::at_point(index, values, &self.base, &self.places).map_err(|problem| vec![problem])?;
        let job = Job { ctx, environment: &self.environment };
        let swept = Swept {
            envelope: &self.base,
            source: &self.source,
            flags: &self.flags,
            typed: &self.envelope,
            seed: self.random_seed,
            is_only: false,
        };
        let run = job.run(&swept, &variation)?;
        separate_folders(std::slice::from_ref(&run)).map_err(|problem| vec![problem])?;
        Ok(run)
    }

    /// The configuration of one run of a sweep, as if it were the only one.
    pub(crate) fn of_run(&self, run: &RunVariation) -> Self {
        let mut node = self.node.clone();
        node.put("benchmark", run.node.clone());
        Self { benchmark: run.benchmark.clone(), node, ..self.clone() }
    }

    /// Hides the secrets of the file, and what its templates make of them.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.source.secrets())
    }

    /// The secrets in the environment variables that the file refers to.
    pub(crate) fn secrets_of_environment(&self) -> Vec<String> {
        self.source.secrets_of_environment()
    }

    /// The file that holds the key, as the user named it.
    pub(crate) fn key_file(&self) -> Option<&str> {
        let of_file = || self.source.text("benchmark.endpoint.api_key");
        let given = self.flags.text(API_KEY).or_else(of_file).or(self.environment.api_key.as_deref());
        given?.strip_prefix('@')
    }

    /// Whether this is one run.
    pub fn single_run(&self) -> bool {
        self.trials == 1 && self.envelope.sweep.is_none()
    }
}

/// Reads the arguments after `profile` into a checked configuration, whether or not it can be run yet.
pub fn resolve_config(args: &[String], ctx: &Context<'_>) -> Result<Tree, ConfigError> {
    checked(args, ctx).map_err(|error| without_secrets(error, args, ctx))
}

/// A refusal without the secrets of the file: a setting may hold what a template made of one.
pub(crate) fn without_secrets(error: ConfigError, args: &[String], ctx: &Context<'_>) -> ConfigError {
    let ConfigError::Invalid(problems) = error else { return error };
    let redactor = Redactor::new(requested(args, ctx).map_or_else(Vec::new, |asked| asked.secrets));
    ConfigError::Invalid(problems.into_iter().map(|problem| problem.without_secrets(&redactor)).collect())
}

fn checked(args: &[String], ctx: &Context<'_>) -> Result<Tree, ConfigError> {
    let given = match tokens::read(args).map_err(ConfigError::Invalid)? {
        Asked::Run(given) => given,
        Asked::ShortHelp => return Err(ConfigError::Help(crate::help::short_help())),
        Asked::LongHelp => return Err(ConfigError::Help(crate::help::long_help())),
    };
    if given.is_empty() {
        let problem = Problem::new("a model is required").because("no other setting gives the model to request");
        return Err(problem.hint("aiperf profile --model NAME --url HOST:PORT").at("benchmark.models.items").into());
    }
    let environment = environment::read(ctx).map_err(ConfigError::Invalid)?;
    let flags = GivenFlags::read(&given, ctx.cwd).map_err(ConfigError::Invalid)?;
    let empty = compose::empty_lists(&flags);
    if !empty.is_empty() {
        return Err(ConfigError::Invalid(empty));
    }
    let notes = given.iter().filter_map(values::left_out_item).collect();
    Job { ctx, environment: &environment }.tree(flags, notes)
}

/// What arguments and file ask for, as far as they can be parsed, without checks.
pub(crate) struct Request {
    pub flags: GivenFlags,
    /// The file's document, without flags.
    pub document: Option<Node>,
    pub places: Places,
    /// Those of the file.
    pub secrets: Vec<String>,
}

/// Parses what the arguments ask for; `None` if they cannot be parsed.
pub(crate) fn requested(args: &[String], ctx: &Context<'_>) -> Option<Request> {
    let Ok(Asked::Run(given)) = tokens::read(args) else { return None };
    let flags = GivenFlags::read(&given, ctx.cwd).ok()?;
    let source = flags.text(CONFIG).and_then(|path| Source::read(path, ctx).ok());
    let places = source.as_ref().map(|source| source.places.clone()).unwrap_or_default();
    let secrets = source.as_ref().map_or_else(Vec::new, Source::secrets);
    let document = source.and_then(|source| source.envelope(&[]).ok());
    Some(Request { flags, document, places, secrets })
}

/// Reads a configuration file alone into a checked configuration.
pub fn resolve_file(file: &str, ctx: &Context<'_>) -> Result<Tree, ConfigError> {
    resolve_config(&["--config".to_owned(), file.to_owned()], ctx)
}

/// Folders in the directory of several runs, and of a single run, that no run of a sweep may have.
const OWN_FOLDERS: &[(&str, &str)] = &[
    (CampaignPlan::AGGREGATE, OF_ALL_RUNS),
    (FileNames::LOGS, OF_ALL_RUNS),
    (CampaignPlan::RUNS, OF_ALL_RUNS),
    (FileNames::RECORDS, "it holds the records of an earlier single run, which a sweep would remove"),
    (CampaignPlan::SWEEP, OF_ALL_RUNS),
];
const OF_ALL_RUNS: &str = "the results of all runs are written there";
/// The default seed of several runs.
const CONSISTENT_SEED: i64 = 42;
/// The default number of inline records above which a file is easier to handle.
const MANY_RECORDS: usize = 500;

struct Job<'a> {
    ctx: &'a Context<'a>,
    environment: &'a Environment,
}

/// The inputs for the runs of a sweep.
struct Swept<'a> {
    envelope: &'a Node,
    source: &'a Source,
    flags: &'a GivenFlags,
    typed: &'a Envelope,
    seed: Option<i64>,
    /// The sweep has one run.
    is_only: bool,
}

impl Job<'_> {
    fn tree(&self, flags: GivenFlags, of_flags: Vec<String>) -> Result<Tree, ConfigError> {
        let source = self.source(&flags)?;
        let places = source.places.clone();
        let mut notes = [&of_flags[..], &self.environment.notes, &source.notes].concat();
        let mut envelope = self.with_flags(&source, &[], &flags, &mut notes).map_err(ConfigError::Invalid)?;
        let mut problems = Vec::new();
        if flags.has(VARIANT) {
            self.variants(&mut envelope, &flags, &mut problems);
        } else {
            sweep::search(&mut envelope, &flags, &mut problems);
            if flags.text(SEARCH_RECIPE).is_none() {
                sweep::flag_lists(&mut envelope, &flags, &mut problems);
            }
        }
        sweep::held_to(&mut envelope, &flags, &mut problems);
        let plots = envelope.find("benchmark.artifacts.auto_plot").filter(|_| flags.has(SEARCH_RECIPE));
        if plots.is_some_and(|node| node.origin == Origin::Rule && node.datum == Datum::Bool(true)) {
            notes.push("the plots of the recipe are left out: plots are not drawn".to_owned());
        }
        if !problems.is_empty() {
            return Err(ConfigError::Invalid(problems));
        }
        let typed = self.typed(&envelope, &places, &flags, &mut notes).map_err(ConfigError::Invalid)?;
        let variations = sweep::expand(&envelope, &places).map_err(ConfigError::Invalid)?;
        let seed = self.seed(&typed, &mut envelope);
        let swept = Swept {
            envelope: &envelope,
            source: &source,
            flags: &flags,
            typed: &typed,
            seed,
            is_only: variations.len() == 1,
        };
        let runs: Result<Vec<RunVariation>, _> =
            variations.iter().map(|variation| self.run(&swept, variation)).collect();
        let runs = runs.map_err(ConfigError::Invalid)?;
        separate_folders(&runs).map_err(|problem| ConfigError::Invalid(vec![problem]))?;
        let body = envelope.get("benchmark").cloned().unwrap_or_else(|| Node::map(Origin::Rule));
        let (node, benchmark) = match runs.first() {
            Some(first) => (first.node.clone(), first.benchmark.clone()),
            None => (body, typed.benchmark.clone().unwrap_or_default()),
        };
        let base = envelope.clone();
        envelope.put("benchmark", node);
        Ok(Tree {
            base,
            source,
            artifact_subdir: export::artifact_subdir(&benchmark),
            benchmark,
            trials: typed.multi_run.clone().unwrap_or_default().num_runs(),
            envelope: typed,
            random_seed: seed,
            variations: runs,
            notes,
            node: envelope,
            places,
            flags,
            environment: self.environment.clone(),
        })
    }

    /// The document that flags are laid over.
    fn source(&self, flags: &GivenFlags) -> Result<Source, ConfigError> {
        Ok(match flags.text(CONFIG) {
            Some(path) => Source::read(path, self.ctx)?,
            None => Source::of(compose::empty()),
        })
    }

    /// A document with these variables, and flags over it.
    fn with_flags(
        &self,
        source: &Source,
        variables: &[(String, Value)],
        flags: &GivenFlags,
        notes: &mut Vec<String>,
    ) -> Result<Node, Vec<Problem>> {
        let mut envelope = source.envelope(variables)?;
        let mut problems = compose::overlay(&mut envelope, flags, self.ctx, &source.places, notes);
        if let Some(endpoint) = envelope.get_mut("benchmark").and_then(|body| body.get_mut("endpoint")) {
            problems.extend(
                compose::api_key(endpoint, self.environment.api_key.as_deref(), self.ctx, &source.places).err(),
            );
        }
        sweep::phase_lists(&mut envelope, &source.places, &mut problems);
        if let Some(Node { datum: Datum::List(phases), .. }) = envelope.child("benchmark").get_mut("phases") {
            for (index, phase) in phases.iter_mut().enumerate() {
                problems.extend(compose::resolve_series(phase, index, self.ctx.cwd, &source.places).err());
            }
        }
        if problems.is_empty() { Ok(envelope) } else { Err(problems) }
    }

    /// Each variant is the command with its own flags on top. Only the differences from the base are stored.
    fn variants(&self, envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
        let variants = match sweep::variants(flags) {
            Ok(variants) => variants,
            Err(more) => return problems.extend(more),
        };
        let base = envelope.get("benchmark").cloned().unwrap_or_else(|| Node::map(Origin::Rule));
        let mut runs = Vec::new();
        for variant in variants {
            let changed = match GivenFlags::read(&variant.given, self.ctx.cwd) {
                Ok(changed) => changed,
                Err(more) => {
                    problems.extend(
                        more.into_iter().map(|problem| problem.because(format!("in the variant {}", variant.name))),
                    );
                    continue;
                }
            };
            let about_all = |given: &&GivenFlag| {
                matches!(given.flag.to, To::Envelope(_) | To::EnvelopeRule(_) | To::NoKey) && given.flag != RANDOM_SEED
            };
            if let Some(given) = changed.0.iter().find(about_all) {
                let what = format!("--variant '{}' cannot set {}", variant.name, given.spelled);
                problems.push(
                    Problem::new(what)
                        .because("it applies to all runs")
                        .hint(format!("{} on its own", given.flag.name)),
                );
                continue;
            }
            let mut all: Vec<_> =
                flags.0.iter().filter(|given| !changed.has(given.flag) && given.flag != VARIANT).cloned().collect();
            all.extend(changed.0);
            match self.with_flags(&Source::of(compose::empty()), &[], &GivenFlags(all), &mut Vec::new()) {
                Ok(other) => {
                    let body = other.get("benchmark").unwrap_or(&other);
                    runs.push(json!({"name": variant.name, "benchmark": sweep::difference(&base, body)}));
                }
                Err(more) => problems.extend(more),
            }
        }
        let spelled = flags.spelled(VARIANT);
        envelope.put("sweep", Node::flag(&json!({"type": "scenarios", "runs": runs}), spelled));
    }

    /// Reads types and checks every rule.
    fn typed(
        &self,
        envelope: &Node,
        places: &Places,
        flags: &GivenFlags,
        notes: &mut Vec<String>,
    ) -> Result<Envelope, Vec<Problem>> {
        let mut reader = Reader::new(places);
        let typed = Envelope::read(envelope, "", &mut reader);
        let mut problems = reader.problems;
        let Some(mut typed) = typed else { return Err(problems) };
        if let (Some(benchmark), Some(node)) = (&mut typed.benchmark, envelope.get("benchmark")) {
            let facts = self.facts(node, places);
            problems.extend(rules::settle(benchmark, &facts, notes));
            // A sweep may set the maximum of each run.
            if let Some(until) = typed.until.as_ref().filter(|_| typed.sweep.is_none()) {
                problems.extend(rules::until::check(until, envelope.get("until"), benchmark, &facts));
            }
        }
        rules::runs::check(&typed, envelope, flags, places, &mut problems);
        if problems.is_empty() { Ok(typed) } else { Err(dedup(problems)) }
    }

    fn benchmark(&self, node: &Node, places: &Places, notes: &mut Vec<String>) -> Result<Benchmark, Vec<Problem>> {
        let mut reader = Reader::new(places);
        let read = Benchmark::read(node, "benchmark", &mut reader);
        let mut problems = reader.problems;
        let Some(mut benchmark) = read else { return Err(problems) };
        problems.extend(rules::settle(&mut benchmark, &self.facts(node, places), notes));
        if problems.is_empty() { Ok(benchmark) } else { Err(dedup(problems)) }
    }

    fn facts<'f>(&'f self, node: &'f Node, places: &'f Places) -> Facts<'f> {
        Facts {
            node,
            places,
            cwd: self.ctx.cwd,
            api_port: self.environment.has("AIPERF_API_SERVER_PORT"),
            many_records: self.environment.many_records.unwrap_or(MANY_RECORDS),
        }
    }

    /// The benchmark of one run.
    fn varied(&self, swept: &Swept<'_>, variation: &Variation) -> Result<Node, Vec<Problem>> {
        let mut base = swept.envelope.clone();
        if !variation.variables.is_empty() {
            base = self.with_flags(swept.source, &variation.variables, swept.flags, &mut Vec::new())?;
        }
        let mut node = variation.apply(base.get("benchmark").unwrap_or(&base));
        let mut problems = Vec::new();
        file::spell_out(&mut node, &Places::default(), &mut problems);
        default_stop(&mut node);
        if problems.is_empty() { Ok(node) } else { Err(problems) }
    }

    /// One run of a sweep.
    fn run(&self, swept: &Swept<'_>, variation: &Variation) -> Result<RunVariation, Vec<Problem>> {
        let node = self.varied(swept, variation)?;
        let in_run = |problem: Problem| problem.because(format!("in the run {}", variation.label));
        let benchmark = self
            .benchmark(&node, &swept.source.places, &mut Vec::new())
            .and_then(|benchmark| self.with_maximum(swept, &node, benchmark))
            .map_err(|problems| problems.into_iter().map(in_run).collect::<Vec<_>>())?;
        let same = swept.is_only || swept.typed.sweep.as_ref().is_some_and(Sweep::same_seed);
        Ok(RunVariation {
            index: variation.index,
            label: variation.label.clone(),
            dir_name: variation.dir_name.clone(),
            values: variation.values.clone(),
            seed: swept.seed.map(|seed| if same { seed } else { seed.wrapping_add(variation.index as i64) }),
            benchmark,
            node,
        })
    }

    /// The benchmark of one run, unless its phases never end if `until` is never met.
    fn with_maximum(&self, swept: &Swept<'_>, node: &Node, benchmark: Benchmark) -> Result<Benchmark, Vec<Problem>> {
        let Some(until) = &swept.typed.until else { return Ok(benchmark) };
        let facts = self.facts(node, &swept.source.places);
        let problems = rules::until::check(until, swept.envelope.get("until"), &benchmark, &facts);
        if problems.is_empty() { Ok(benchmark) } else { Err(problems) }
    }

    /// Several runs without a seed share one by default.
    fn seed(&self, typed: &Envelope, envelope: &mut Node) -> Option<i64> {
        let multi = typed.multi_run.clone().unwrap_or_default();
        let several = typed.sweep.is_some() || multi.num_runs() > 1;
        let seed = typed.random_seed.or((several && multi.set_consistent_seed()).then_some(CONSISTENT_SEED));
        if let Some(seed) = seed {
            envelope.put_default("random_seed", seed);
        }
        seed
    }
}

/// Checks that each run has a folder of its own.
fn separate_folders(runs: &[RunVariation]) -> Result<(), Problem> {
    let own = |run: &RunVariation| OWN_FOLDERS.iter().find(|(folder, _)| *folder == run.dir_name);
    if let Some((folder, why)) = runs.iter().find_map(own) {
        return Err(Problem::new(format!("a run of the sweep cannot have the folder {folder}"))
            .because(*why)
            .hint("another name for the run")
            .at("sweep"));
    }
    let elsewhere = |run: &&RunVariation| {
        let paths = ["artifacts.dir", "benchmark.artifacts.dir"];
        let nested = run.values.get("benchmark").and_then(|body| body.pointer("/artifacts/dir"));
        nested.is_some() || paths.iter().any(|path| run.values.contains_key(*path))
    };
    if let Some(run) = runs.iter().find(elsewhere) {
        return Err(Problem::new(format!("the run {} cannot have its own artifact directory", run.label))
            .because("all runs of a sweep have their folders below one directory")
            .hint("--artifact-dir for all of them")
            .at("sweep"));
    }
    let mut seen = BTreeSet::new();
    match runs.iter().find(|run| !seen.insert(run.dir_name.as_str())) {
        None => Ok(()),
        Some(run) => Err(Problem::new(format!("two runs of the sweep have the folder {}", run.dir_name))
            .because("the files of one would replace those of the other")
            .hint("each value once, or names for the runs")
            .at("sweep")),
    }
}

/// A default number of requests follows the run's own concurrency.
fn default_stop(benchmark: &mut Node) {
    let Some(Node { datum: Datum::List(phases), .. }) = benchmark.get_mut("phases") else { return };
    for phase in phases {
        let by_rule = phase.get("requests").is_some_and(|node| node.origin == Origin::Rule);
        if by_rule && !phase.choice("type").is_some_and(PhaseType::replays) {
            phase.put("requests", Node::rule(compose::default_requests(phase)));
        }
    }
}

/// The same problem may be found by a type and by a rule; it is reported once.
fn dedup(problems: Vec<Problem>) -> Vec<Problem> {
    let mut seen = BTreeSet::new();
    problems.into_iter().filter(|problem| seen.insert(problem.what.clone())).collect()
}
