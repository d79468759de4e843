"""One run beside the truth log of its server: the statistics of both, and how far they are apart.

A truth log brackets each write of the server between two readings of the clock. The brackets are the server's own doubt:
a statistic of the truth is a range, from the one of the earlier ends to the one of the later ends.
"""

import json

import bench

METRICS = ("time_to_first_token", "inter_token_latency", "request_latency")
STATISTICS = ("avg", "p50", "p90", "p95", "p99")
# Rounding of exported milliseconds.
TOLERANCE_MS = 1e-4


def profile(aiperf, url, folder, *arguments):
    """The command of a run with streams. Its tokens are those that the server counts."""
    return [
        aiperf, "profile", "--model", "test", "--url", url, "--endpoint-type", "chat", "--streaming",
        "--extra-inputs", "ignore_eos:true", "--tokenizer", "builtin", "--ui", "none", "--no-server-metrics",
        "--no-gpu-telemetry", "--artifact-dir", str(folder / "artifacts"), *map(str, arguments),
    ]  # fmt: skip


def read_lines(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def truths(path):
    """The lines of inference requests in a truth log, by request."""
    return {line["x_request_id"]: line for line in read_lines(path) if line.get("x_request_id")}


def records(folder):
    """The good records of the profiling phase."""
    lines = read_lines(bench.find(folder / "artifacts", "profile_export.jsonl"))
    wanted = [line for line in lines if line["metadata"].get("benchmark_phase", "profiling") == "profiling"]
    return [line for line in wanted if not line.get("error")]


def content(truth):
    """The brackets of the chunks with content."""
    return [chunk[:2] for chunk in truth["chunks"] if chunk[2]]


def true_statistics(records, truths):
    """Each statistic as the range that the brackets leave open. Requests without a line in the log are an error."""
    values = {metric: ([], []) for metric in METRICS}
    for record in records:
        start = record["metadata"]["request_start_ns"]
        chunks = content(truths[record["metadata"]["x_request_id"]])
        first, last = ([(at - start) / 1e6 for at in chunk] for chunk in (chunks[0], chunks[-1]))
        for end in (0, 1):
            values["time_to_first_token"][end].append(first[end])
            values["request_latency"][end].append(last[end])
        if "inter_token_latency" in record["metrics"]:
            divisor = record["metrics"]["output_sequence_length"]["value"] - 1
            values["inter_token_latency"][0].append((last[0] - first[1]) / divisor)
            values["inter_token_latency"][1].append((last[1] - first[0]) / divisor)
    return {
        (metric, name): (statistic(low, name), statistic(high, name))
        for metric, (low, high) in values.items()
        for name in STATISTICS
        if low
    }


def statistic(values, name):
    return bench.mean(values) if name == "avg" else bench.percentile(sorted(values), int(name[1:]) / 100)


def errors(reported, truth):
    """By metric and statistic: the error, the bound, and the part of the bound in the direction of the error."""
    found = {}
    for (metric, name), (low, high) in truth.items():
        value = reported[metric][name]
        bound = reported["measurement"]["error_bound"][metric][name]
        error, admitted = (value - high, bound["early"]) if value > high else (max(low - value, 0), bound["late"])
        found[f"{metric}.{name}"] = {"error": error, "admitted": admitted, "bound": bound["bound"], "value": value}
    return found


def is_out(error):
    """The truth is further away than the run admits."""
    return error["error"] > error["admitted"] + TOLERANCE_MS


class Outcome:
    """What a run wrote, beside the truth log. Without one, there are no errors to find."""

    def __init__(self, folder, truths):
        self.truths = truths
        self.records = records(folder)
        with open(bench.find(folder / "artifacts", "profile_export_aiperf.json")) as file:
            self.summary = json.load(file)
        self.measurement = self.summary["measurement"]
        counted = self.summary.get("request_count", {}).get("avg", 0)
        if len(self.records) != counted:
            raise SystemExit(f"error: the summary is of {counted:.0f} requests, {len(self.records)} records are good")

    def judged(self):
        measurement = self.measurement
        return {
            "requests": len(self.records),
            "verdict": measurement["verdict"]["is"],
            "codes": [reason["code"] for reason in measurement["verdict"]["reasons"]],
            "merged": measurement["merged_event_share"],
            "realtime_workers": measurement["realtime_workers"],
            "errors": errors(self.summary, true_statistics(self.records, self.truths)) if self.truths else {},
        }


def worst(found):
    """The name and the error that exceeds its bound by most."""
    return max(found.items(), key=lambda item: item[1]["error"] - item[1]["admitted"])


def self_test():
    start = 1_794_702_553_000_000_000

    def record(name, osl):
        metrics = {"output_sequence_length": {"value": osl}, "inter_token_latency": {"value": 1}}
        return {"metadata": {"x_request_id": name, "request_start_ns": start}, "metrics": metrics, "error": None}

    def truth(first, last):
        def chunk(at, content):
            return [start + round(at * 1e6), start + round((at + 0.1) * 1e6), content]

        return {"chunks": [chunk(1, 0), chunk(first, 1), chunk(last, 1), chunk(last, 0)]}

    close = lambda one, two: abs(one - two) < 1e-6  # noqa: E731
    found = true_statistics([record("a", 11), record("b", 11)], {"a": truth(50, 150), "b": truth(60, 150)})
    low, high = found["time_to_first_token", "avg"]
    assert close(low, 55) and close(high, 55.1), found
    low, high = found["inter_token_latency", "p50"]
    assert close(low, 9.49) and close(high, 9.51), found
    bound = {"bound": 2.0, "early": 2.0, "late": 0.0}
    values = {"avg": 56.0, "p50": 60.0, "p90": 59.05, "p95": 59.05, "p99": 59.0}
    reported = {metric: values if metric == METRICS[0] else {name: low for name in STATISTICS} for metric in METRICS}
    reported["measurement"] = {"error_bound": {metric: dict.fromkeys(STATISTICS, bound) for metric in METRICS}}
    judged = errors(reported, found)
    of = lambda name: judged[f"time_to_first_token.{name}"]  # noqa: E731
    assert close(of("avg")["error"], 0.9) and not is_out(of("avg")), judged
    assert close(of("p50")["error"], 4.9) and is_out(of("p50")), judged
    assert of("p90")["error"] == 0, "within the bracket"
    assert close(of("p99")["error"], 0.9) and is_out(of("p99")), "the truth is later, which the run excludes"
    assert worst({name: error for name, error in judged.items() if name.startswith("time")})[0].endswith("p50"), judged
    assert close(statistic([1, 2, 3, 4], "p50"), 2.5) and close(statistic([5], "p99"), 5)
