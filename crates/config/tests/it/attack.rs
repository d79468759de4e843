//! Random values for every flag: `cargo test -p aiperf-config --test attack -- --ignored --nocapture`. Each command
//! line must give a plan or a message within a second of processor time. `ATTACK_SEED` and `ATTACK_COUNT` choose other
//! and more command lines.

use aiperf_config::{Context, flags, resolve_profile};
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Processor time of this thread: other threads may use its core meanwhile.
fn cpu_now() -> Duration {
    Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock"))
}

/// Values that often break something: empty, huge, negative, no number, other scripts, control characters, paths, JSON,
/// quotes.
const NASTY: &[&str] = &[
    "",
    " ",
    "0",
    "-0",
    "-1",
    "1",
    "2,3",
    ",",
    ",,,",
    "1,,2",
    "1_000",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "99999999999999999999999999",
    "1e300",
    "-1e300",
    "1e-300",
    "1e308,1e308",
    "5e-324",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "infinity",
    "0.1",
    ".5",
    "5.",
    "1e9",
    "0x10",
    "true",
    "null",
    "\u{0}",
    "a\nb",
    "a\r\nX: y",
    "\u{1b}[31mred",
    "\u{7f}",
    "\u{feff}",
    "\u{202e}abc",
    "e\u{301}",
    "\u{1f600}\u{1f600}",
    "\u{10ff80}",
    "\u{10ffff}",
    "\u{661}\u{662}",
    "/",
    "..",
    "../../etc",
    "/dev/null",
    "/dev/zero",
    "/proc/self/mem",
    "pipe",
    "folder",
    "c.yaml",
    "@",
    "@pipe",
    "@/dev/zero",
    "{",
    "{}",
    "[]",
    "{\"a\": {\"b\": [1, null]}}",
    "{\"pairs\":[{\"isl\":1e300,\"osl\":-1,\"prob\":100}]}",
    "{\"input\": 1e999}",
    "[[[[[[[[",
    "'",
    "\"",
    "`id`",
    "$(id)",
    "${HOME}",
    "{{ 7 * 7 }}",
    "%s%n",
    "%00",
    ":",
    "a:",
    ":b",
    "a:b:c:d",
    "a=b",
    "=",
    "a=",
    "key:value,key",
    "http://",
    "http://u:p@h:1",
    "http://[::1]9101",
    "http://h:70000",
    "javascript:1",
    "h:1/?a=b#c",
    "request_latency:nan",
    "request_latency:1 request_latency",
    "concurrency:1,1e300",
    "concurrency:nan,inf:int",
    "rate:0,5",
    "a:isl=1,osl=-1",
    "a:concurrency=1e300",
    "ttft:p95:lt:1e999",
    "128/128,0/0",
    "10,20:50;30,40:50",
    "10|1e300,20:100",
    "chat",
    "poisson",
    "max-throughput",
    "mooncake_trace",
    "all",
];

/// A small generator: the same values for the same seed on any machine.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn value(&mut self) -> String {
        match self.below(12) {
            0 => NASTY[self.below(NASTY.len())].repeat(1 + self.below(2000)),
            1 => {
                let length = self.below(40);
                (0..length).filter_map(|_| char::from_u32(self.below(0x11_0000) as u32)).collect()
            }
            2 => (0..self.below(30)).map(|_| char::from(self.below(128) as u8)).collect(),
            3 => format!("{}{}", NASTY[self.below(NASTY.len())], NASTY[self.below(NASTY.len())]),
            _ => NASTY[self.below(NASTY.len())].to_owned(),
        }
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
#[ignore = "takes a minute; run it after a change to flags or values"]
fn random_values_give_a_plan_or_a_message() {
    let (seed, count) = (number("ATTACK_SEED", 1), number("ATTACK_COUNT", 20_000));
    let dir = tempfile::tempdir().expect("a directory");
    let base = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n";
    std::fs::write(dir.path().join("c.yaml"), base).expect("a file");
    std::fs::create_dir(dir.path().join("folder")).expect("a folder");
    let piped = std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().expect("mkfifo");
    assert!(piped.success());
    let env = BTreeMap::new();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    let all: Vec<&str> = flags::spellings().collect();
    let mut draws = Draws(seed);
    let (mut planned, mut refused, mut longest) = (0u64, 0u64, Duration::ZERO);
    let mut failures: Vec<String> = Vec::new();
    for round in 0..count {
        let mut args = vec!["-m".to_owned(), "m".to_owned()];
        // Every flag is first once; then flags are combined.
        let first = all[round as usize % all.len()];
        for spelling in
            std::iter::once(first).chain((0..draws.below(3)).map(|_| all[draws.below(all.len())])).collect::<Vec<_>>()
        {
            match draws.below(4) {
                0 => args.push(format!("{spelling}={}", draws.value())),
                1 => args.push(spelling.to_owned()),
                _ => args.extend([spelling.to_owned(), draws.value()]),
            }
        }
        let shown = || args.iter().map(|arg| arg.chars().take(80).collect::<String>()).collect::<Vec<_>>();
        let start = cpu_now();
        let result = catch_unwind(AssertUnwindSafe(|| {
            resolve_profile(&args, &ctx).map(|_| ()).map_err(|error| (error.exit_code(), error.to_string()))
        }));
        let took = cpu_now() - start;
        longest = longest.max(took);
        match result {
            Err(_) => failures.push(format!("panic: {:?}", shown())),
            Ok(Ok(())) => planned += 1,
            Ok(Err((2, text))) if !text.is_empty() && text.len() < 100_000 => refused += 1,
            Ok(Err((code, text))) => failures.push(format!("exit {code}, {} bytes: {:?}", text.len(), shown())),
        }
        if took > Duration::from_secs(1) {
            failures.push(format!("{took:?}: {:?}", shown()));
        }
    }
    println!("seed {seed}: {count} command lines, {planned} planned, {refused} refused, longest {longest:?}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
