//! The commands and files of the documentation of telemetry.

use crate::bench::{answering, free_port, quick, response, serve};
use crate::profile::local_gpus::library;
use crate::profile::receiver::{Receiver, Reply};
use aiperf_sim::SimHandle;
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

const TELEMETRY: &str = include_str!("../../../../../docs/telemetry.md");
const GPUS: &str = include_str!("../../../../../docs/gpu-telemetry.md");
const VARIABLES: &str = include_str!("../../../../../docs/environment.md");
/// Arguments that all examples need and leave out.
const FEW: &str = "--tokenizer builtin --ui none --isl 16 --osl 4 --request-count 8";
const NO_AMD: &str = "no AMD GPU is found in /sys/class/drm";

/// Every command of a page, in blocks, tables and text, with the variables before it and without the comment after it.
fn commands(page: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for line in page.lines() {
        let Some(at) = line.find("aiperf profile ") else { continue };
        let start = line[..at].rfind('`').map_or(0, |tick| tick + 1);
        all.extend(line[start..].split(['`', '#']).next().map(str::trim));
    }
    all
}

/// Blocks that are configuration files of a run.
fn files(page: &str) -> Vec<&str> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.starts_with("benchmark:")).collect()
}

/// Stand-ins on this machine for all servers and libraries that the examples name.
struct Named {
    sim: SimHandle,
    receiver: Receiver,
    /// Of two machines.
    exporters: [String; 2],
    /// NVML, and the binary under its name.
    programs: TempDir,
}

/// The results of an example.
struct Left {
    _dir: TempDir,
    code: Option<i32>,
    output_text: String,
    summary: Option<Value>,
}

impl Named {
    fn start() -> Self {
        let exporter = |host: &'static str| {
            answering(move |number, _, _| {
                let sample = |field: &str, value: usize| {
                    format!(
                        "{field}{{gpu=\"0\",UUID=\"GPU-{host}\",modelName=\"NVIDIA H100\",Hostname=\"{host}\"}} {value}\n"
                    )
                };
                let page = sample("DCGM_FI_DEV_POWER_USAGE", 100) + &sample("DCGM_FI_DEV_SM_CLOCK", 1000 + number);
                response("200 OK", "text/plain; version=0.0.4", &page)
            })
        };
        let programs = library(&[]);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_aiperf"), programs.path().join("aiperf")).unwrap();
        let exporters = ["node1", "node2"].map(exporter);
        Self { sim: serve(quick()), receiver: Receiver::start(|_| Reply::Take), exporters, programs }
    }

    /// The text with the addresses of the stand-ins.
    fn here(&self, text: &str) -> String {
        let free = free_port();
        let url = self.sim.url();
        let server = url.trim_start_matches("http://");
        let [one, two] = &self.exporters;
        let names = [
            ("profile ... ", format!("profile --model m --url {server} ")),
            ("node1:8000", server.to_owned()),
            ("localhost:8000", server.to_owned()),
            ("node1:9400", one.clone()),
            ("localhost:9400", one.clone()),
            ("node2:9400", two.clone()),
            ("https://otlp.example.com", "http://localhost:4318".to_owned()),
            ("localhost:4318", self.receiver.address.clone()),
            ("--api-port 8080", format!("--api-port {free}")),
        ];
        names.iter().fold(text.to_owned(), |text, (name, here)| text.replace(name, here))
    }

    /// Runs a command line in a folder with the files that examples name.
    fn run(&self, command: &str, file: &str) -> Left {
        let dir = TempDir::new().unwrap();
        let (_, rows) = GPUS.split_once("```\n# field,").unwrap();
        std::fs::write(dir.path().join("own.csv"), rows.split("```").next().unwrap()).unwrap();
        std::fs::write(dir.path().join("run.yaml"), file).unwrap();
        let programs = self.programs.path();
        let path = std::env::join_paths(
            [programs.to_owned()].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &format!("{command} --artifact-dir out")]).current_dir(dir.path());
        bash.env("PATH", path.unwrap()).env("LD_LIBRARY_PATH", programs).env("HF_HUB_OFFLINE", "1");
        bash.env("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", format!("[\"http://{}/metrics\"]", self.exporters[0]));
        bash.env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "0");
        bash.env("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "0");
        let output = bash.output().unwrap();
        let output_text =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let summary = std::fs::read(dir.path().join("out/profile_export_aiperf.json")).ok();
        let summary = summary.map(|text| serde_json::from_slice(&text).unwrap());
        Left { _dir: dir, code: output.status.code(), output_text, summary }
    }
}

#[test]
fn every_command_of_the_pages_about_telemetry_runs() {
    let named = Named::start();
    let all: Vec<&str> = [TELEMETRY, GPUS].into_iter().flat_map(commands).collect();
    assert!(all.len() > 15, "{all:?}");
    for flag in ["pynvml", "amdsmi", "localhost:9400", "--network-latency-automatic", "--otel-url", "--api-port"] {
        assert!(commands(TELEMETRY).iter().any(|command| command.contains(flag)), "no command for {flag}");
    }
    for command in all {
        let Left { code, output_text, summary, .. } = named.run(&format!("{} {FEW}", named.here(command)), "");
        if command.ends_with("amdsmi") && code == Some(2) && output_text.contains(NO_AMD) {
            continue;
        }
        assert_eq!(code, Some(0), "{command}\n{output_text}");
        let summary = summary.unwrap();
        assert_eq!(summary["request_count"]["avg"], 8.0, "{command}\n{output_text}");
        // GPUs are watched without a flag.
        let watches_gpus = !command.contains("--no-gpu-telemetry");
        assert_eq!(summary["telemetry_data"].is_object(), watches_gpus, "{command}\n{output_text}");
        assert_eq!(
            summary["network_rtt"].is_object(),
            command.contains("--network-latency"),
            "{command}\n{output_text}"
        );
    }
}

#[test]
fn every_file_of_the_pages_about_telemetry_runs() {
    let named = Named::start();
    let all: Vec<&str> = [TELEMETRY, GPUS].into_iter().flat_map(files).collect();
    assert_eq!(all.len(), 3);
    let rest = "  dataset: {type: synthetic, prompts: {isl: 16, osl: 4}}\n  \
                phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 5}]\n";
    for file in all {
        let flags = "--config run.yaml --tokenizer builtin --ui none";
        let command = named.here(&format!("aiperf profile ... {flags}"));
        let Left { code, output_text, summary, .. } = named.run(&command, &format!("{}{rest}", named.here(file)));
        assert_eq!(code, Some(0), "{file}\n{output_text}");
        assert_eq!(summary.unwrap()["request_count"]["avg"], 5.0, "{file}\n{output_text}");
    }
}

#[test]
fn every_variable_of_the_pages_about_telemetry_is_known() {
    let name = |word: &'static str| word.strip_prefix("AIPERF_").filter(|rest| !rest.is_empty()).map(|_| word);
    let words = |page: &'static str| page.split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
    let variables: Vec<&str> = [TELEMETRY, GPUS].into_iter().flat_map(words).filter_map(name).collect();
    assert!(variables.len() > 10, "{variables:?}");
    for variable in variables {
        assert!(VARIABLES.contains(&format!("| `{variable}` |")), "{variable}");
    }
}
