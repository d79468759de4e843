"""Clients that are compared with ours: how each is run, and what its file reports.

A row has a function for the command and one for the result. Times are in milliseconds. The latency between tokens is that
of a request: the time from its first token to its last over the tokens between.
"""

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
from typing import Callable

import bench

STATISTICS = ("mean", "p50", "p99")


@dataclasses.dataclass
class Load:
    """The same for every client: streams with prompts and answers of fixed length."""

    url: str
    streams: int
    requests: int
    isl: int
    osl: int
    # A directory with `tokenizer.json`, for clients that need one.
    tokenizer: str


@dataclasses.dataclass
class Peer:
    name: str
    # The program, found on PATH unless an option or the variable gives a command.
    program: str
    variable: str
    command: Callable[[Load, str], list]
    # Reads the files in the folder: statistics of TTFT, and of the latency between tokens.
    result: Callable[[str], dict]
    needs_tokenizer: bool = True

    def found(self, given):
        """Words that start it, or None if it is not there."""
        words = shlex.split(given or os.environ.get(self.variable, "") or self.program)
        program = shutil.which(words[0]) if words else None
        return [os.path.abspath(program), *words[1:]] if program else None

    def version(self, command):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True)
        words = (done.stdout.strip() or done.stderr.strip()).split()
        return words[-1] if words and done.returncode == 0 else "of unknown version"


def aiperf_command(load, folder):
    return [
        "profile", "--model", "test", "--url", load.url, "--endpoint-type", "chat", "--streaming",
        "--concurrency", load.streams, "--request-count", load.requests, "--isl", load.isl, "--osl", load.osl,
        "--extra-inputs", "ignore_eos:true", "--tokenizer", "builtin", "--ui", "none", "--artifact-dir", folder,
    ]  # fmt: skip


def aiperf_result(folder):
    with open(bench.find(folder, "profile_export_aiperf.json")) as file:
        summary = json.load(file)
    names = dict(zip(STATISTICS, ("avg", "p50", "p99")))
    of = lambda tag: {name: summary[tag][theirs] for name, theirs in names.items()}  # noqa: E731
    return {"ttft": of("time_to_first_token"), "itl": of("inter_token_latency")}


def vllm_command(load, folder):
    return [
        "bench", "serve", "--backend", "openai-chat", "--base-url", load.url, "--endpoint", "/v1/chat/completions",
        "--model", "test", "--tokenizer", load.tokenizer, "--dataset-name", "random", "--random-input-len", load.isl,
        "--random-output-len", load.osl, "--num-prompts", load.requests, "--max-concurrency", load.streams, "--ignore-eos",
        "--percentile-metrics", "ttft,tpot", "--metric-percentiles", "50,99", "--disable-tqdm", "--save-result",
        "--result-dir", folder, "--result-filename", "vllm.json",
    ]  # fmt: skip


def vllm_result(folder):
    with open(bench.find(folder, "vllm.json")) as file:
        result = json.load(file)
    of = lambda metric: {name: result[f"{name}_{metric}_ms"] for name in STATISTICS}  # noqa: E731
    return {"ttft": of("ttft"), "itl": of("tpot")}


def guidellm_command(load, folder):
    data = f"kind=synthetic_text,prompt_tokens={load.isl},output_tokens={load.osl}"
    return [
        "run", "--backend", f"kind=openai_http,target={load.url},model=test", "--profile",
        f"kind=concurrent,streams={load.streams}", "--constraint", f"kind=max_requests,count={load.requests}",
        "--tokenizer", f"kind=huggingface_auto,model={load.tokenizer}", "--data", data,
        "--output", f"kind=json,path={folder}/guidellm.json", "--disable-console",
    ]  # fmt: skip


def guidellm_result(folder):
    with open(bench.find(folder, "guidellm.json")) as file:
        (benchmark,) = json.load(file)["benchmarks"]

    def of(metric):
        found = benchmark["metrics"][metric]["successful"]
        return {"mean": found["mean"], **{name: found["percentiles"][name] for name in STATISTICS[1:]}}

    return {"ttft": of("time_to_first_token_ms"), "itl": of("inter_token_latency_ms")}


PEERS = (
    Peer("AIPerf", "", "PEER_AIPERF", aiperf_command, aiperf_result, needs_tokenizer=False),
    Peer("vllm bench serve", "vllm", "PEER_VLLM", vllm_command, vllm_result),
    Peer("guidellm", "guidellm", "PEER_GUIDELLM", guidellm_command, guidellm_result),
)


def ours(aiperf):
    """This program, by the same row."""
    return dataclasses.replace(PEERS[0], name="aiperf", program=aiperf, variable="")


def true_statistics(lines):
    """The same by the truth log, from the server's receipt of each request on."""
    firsts, gaps = [], []
    for line in lines:
        chunks = [(before + after) / 2 for before, after, payload in line["chunks"] if payload]
        if line.get("streamed") and len(chunks) > 1:
            firsts.append((chunks[0] - (line["received_kernel_ns"] or line["received_read_ns"])) / 1e6)
            gaps.append((chunks[-1] - chunks[0]) / 1e6 / (line["output_tokens"] - 1))
    of = lambda values: {  # noqa: E731
        "mean": bench.mean(values), **{name: bench.percentile(sorted(values), int(name[1:]) / 100) for name in STATISTICS[1:]}
    }
    return {"ttft": of(firsts), "itl": of(gaps), "requests": len(firsts)}


def markdown(rows):
    """One line for each client; the truth is in parentheses."""
    columns = [(metric, name) for metric in ("ttft", "itl") for name in STATISTICS]
    lines = [
        "| client | " + " | ".join(f"{metric.upper()} {name}" for metric, name in columns) + " |",
        "| --- |" + " --- |" * len(columns),
    ]
    for row in rows:
        cells = (f"{row['reported'][metric][name]:.1f} ({row['truth'][metric][name]:.1f})" for metric, name in columns)
        mark = " DISTURBED" if row["disturbed"] else ""
        lines.append(f"| {row['name']} {row['version']}{mark} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def self_test(folder):
    def write(name, value):
        (folder / name).write_text(json.dumps(value))

    expected = {"ttft": {"mean": 1, "p50": 2, "p99": 3}, "itl": {"mean": 4, "p50": 5, "p99": 6}}
    one, two = {"avg": 1, "p50": 2, "p99": 3}, {"avg": 4, "p50": 5, "p99": 6}
    write("profile_export_aiperf.json", {"time_to_first_token": one, "inter_token_latency": two})
    times = {"mean_ttft_ms": 1, "p50_ttft_ms": 2, "p99_ttft_ms": 3, "mean_tpot_ms": 4, "p50_tpot_ms": 5, "p99_tpot_ms": 6}
    write("vllm.json", times)

    def spread(mean, p50, p99):
        return {"successful": {"mean": mean, "percentiles": {"p50": p50, "p99": p99}}}

    metrics = {"time_to_first_token_ms": spread(1, 2, 3), "inter_token_latency_ms": spread(4, 5, 6)}
    write("guidellm.json", {"benchmarks": [{"metrics": metrics}]})
    for peer in PEERS:
        assert peer.result(folder) == expected, peer.name
        words = list(map(str, peer.command(Load("http://h:1", 300, 4411, 64, 32, "/t"), "/f")))
        assert any("http://h:1" in word for word in words) and any("4411" in word for word in words), words
    assert PEERS[0].found("") is None and PEERS[1].found("no-such-program-here") is None
    assert PEERS[1].found("sh -c")[1:] == ["-c"]
    ms = 1_000_000
    chunks = [[49 * ms, 49 * ms, 0], [50 * ms, 52 * ms, 1], [60 * ms, 62 * ms, 1], [71 * ms, 71 * ms, 1]]
    line = {"chunks": chunks, "streamed": True, "received_kernel_ns": ms, "output_tokens": 3}
    truth = true_statistics([line, line | {"streamed": False}])
    assert truth["ttft"]["p99"] == 50.0 and truth["itl"]["mean"] == 10.0 and truth["requests"] == 1, truth
    table = markdown([{"name": "x", "version": "1", "reported": expected, "truth": truth, "disturbed": True}])
    assert table.splitlines()[2].startswith("| x 1 DISTURBED | 1.0 (50.0) | 2.0 (50.0) |"), table
