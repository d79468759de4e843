//! Measures how long it takes to resolve a command line, a file and help: `cargo run --release -p aiperf-config
//! --example time_to_resolve`.

use aiperf_config::completion::{Command, Shell, completions, profile_words};
use aiperf_config::{Context, config_init, json_schema, long_help, man_page, resolve_profile, short_help};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const ROUNDS: u32 = 200;

/// The first call, which pays for cold caches and lazy tables as a command does, and the mean of the others.
fn time<T>(what: &str, mut run: impl FnMut() -> T) {
    let start = Instant::now();
    std::hint::black_box(run());
    let first = start.elapsed();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        std::hint::black_box(run());
    }
    let mean: Duration = start.elapsed() / ROUNDS;
    println!("{what:28} first {:8.1} us   mean {:8.1} us", first.as_secs_f64() * 1e6, mean.as_secs_f64() * 1e6);
}

fn main() -> std::io::Result<()> {
    let dir = std::env::temp_dir().join(format!("aiperf-time-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("c.yaml"), config_init("every-setting", None, None).unwrap_or_default())?;
    std::fs::write(dir.join("v.yaml"), config_init("variables", None, None).unwrap_or_default())?;
    let env: BTreeMap<String, String> = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()))
        .collect();
    let ctx = Context { env: &env, stdout_is_terminal: true, cwd: &dir, benchmark_id: "0123456789ab".into() };
    let resolve = |line: &str| {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        resolve_profile(&args, &ctx).map(|resolved| resolved.plan().phases.len())
    };
    let flags = "-m m -u h:1 --streaming --concurrency 8 --request-count 100 --isl 512 --osl 64 -H A:b --extra-inputs ignore_eos:true";
    time("flags to plan", || resolve(flags));
    time("a bad flag", || resolve("-m m --concurency 8"));
    time("file to plan", || resolve("-f c.yaml --concurrency 8"));
    time("file with templates to plan", || resolve("-f v.yaml"));
    time("short help", short_help);
    time("long help", long_help);
    time("completions for bash", || {
        completions(Shell::Bash, &[Command { words: profile_words(&[]), ..Command::new("profile", "") }])
    });
    time("manual page", || man_page("0", &[]));
    time("JSON schema", json_schema);
    std::fs::remove_dir_all(&dir)
}
