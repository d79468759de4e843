"""Runs of a client that sends as fast as it can, and what they cost.

Start-up is from the start of the process to the first request on the wire, drain from the last response to the end of the
process, and the rate is requests / (process wall time - start-up).
"""

import json
import pathlib
import re
import shlex
import shutil

import bench

ISL, OSL = 64, 32
START = re.compile(rb'"request_start_ns":\s*(\d+)')
ISSUED = re.compile(rb'"credit_issued_ns":\s*(\d+)')
END = re.compile(rb'"request_end_ns":\s*(\d+)')
ERROR = re.compile(rb'"error":\s*\{')


def own_command(aiperf, concurrency, extra, isl=ISL, osl=OSL):
    return (
        f"{shlex.quote(aiperf)} profile --model test --url {{url}} --endpoint-type chat --streaming"
        f" --concurrency {concurrency} --request-count {{count}} --isl {isl} --osl {osl} --tokenizer builtin"
        f" --artifact-dir {{dir}} {shlex.join([*bench.ui_unless(extra), *extra])}"
    )


class Session:
    """Runs clients against one server, and throws their files away once they are read."""

    def __init__(self, sim, scratch, quiet, cores=None):
        self.sim, self.scratch, self.quiet, self.cores = sim, scratch, quiet, cores

    def say(self, text):
        if not self.quiet:
            print(text, flush=True)

    def run(self, name, template, count, watch=None):
        folder = self.scratch / name
        folder.mkdir()
        values = {"url": self.sim.url, "count": count, "dir": folder / "artifacts"}
        command = [word.format(**values) for word in shlex.split(template)]
        answered = self.sim.answers()
        run = bench.ClientRun(command, folder / "client.log", watch, cores=self.cores)
        answered = self.sim.answers() - answered
        seen = read_records(bench.find(folder / "artifacts", "profile_export.jsonl"))
        result = {"name": name, "answered_by_server": answered} | figures(run, seen)
        result["measurement"] = measurement(folder / "artifacts") | bench.scrapes(folder / "artifacts")
        result["request_kb"] = average(folder / "artifacts", "http_req_data_sent")
        shutil.rmtree(folder)
        return result

    def calibrated(self, name, template, count, seconds, first_guess):
        if count:
            return count
        rate = self.run(f"{name}-calibration", template, first_guess)["requests_per_s"]
        return max(first_guess, round(rate * seconds))


def read_records(path):
    """Counts and extremes of the records. Lines are not parsed: there may be millions."""
    seen = {"records": 0, "failed": 0, "first_ns": None, "last_ns": None}
    with open(path, "rb") as lines_of_file:
        for line in lines_of_file:
            seen["records"] += 1
            seen["failed"] += bool(ERROR.search(line))
            start = START.search(line) or ISSUED.search(line)
            end = END.search(line)
            if start:
                start = int(start.group(1))
                seen["first_ns"] = start if seen["first_ns"] is None else min(start, seen["first_ns"])
            if end:
                end = int(end.group(1))
                seen["last_ns"] = end if seen["last_ns"] is None else max(end, seen["last_ns"])
    return seen


def figures(run, seen):
    if not seen["records"] or seen["first_ns"] is None:
        raise SystemExit("error: the run left no records")
    good = seen["records"] - seen["failed"]
    startup_s = (seen["first_ns"] - run.start_ns) / 1e9
    cpu_s = run.user_s + run.system_s
    return {
        "requests": good,
        "failed": seen["failed"],
        "requests_per_s": good / (run.wall_s - startup_s),
        "wall_s": run.wall_s,
        "startup_s": startup_s,
        "drain_s": (run.end_ns - seen["last_ns"]) / 1e9,
        "cpu_s_per_1000": cpu_s * 1000 / seen["records"],
        "user_s": run.user_s,
        "system_s": run.system_s,
        "peak_bytes": run.peak_bytes,
        "steal": run.steal,
        "disturbed": bench.disturbed(run.steal),
    }


def measurement(folder):
    """What the client says of itself: backlog and relief."""
    block = summary(folder).get("measurement")
    return {name: value for name, value in flat(block) if "backlog" in name or "relief" in name}


def average(folder, tag):
    """The mean of a metric, if the client has it."""
    return summary(folder).get(tag, {}).get("avg")


def summary(folder):
    """The summary of a run; empty for clients that write another."""
    found = sorted(pathlib.Path(folder).rglob("*profile_export_aiperf.json"))
    return json.loads(found[0].read_text()) if found else {}


def flat(value, name=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else key)
    elif value is not None:
        yield name, value


def mb(count):
    return f"{count / 1e6:.1f} MB"


def lines(result):
    out = [
        f"{result['name']}: {result['requests_per_s']:.0f} requests/s ({result['requests']} requests, {result['failed']} failed,"
        f" {result['answered_by_server']} answered by the server)",
        f"  wall {result['wall_s']:.2f} s: start-up {result['startup_s']:.2f} s, drain {result['drain_s']:.2f} s",
        cost_line(result),
    ]
    if result["measurement"]:
        out.append("  " + ", ".join(f"{name} {value}" for name, value in result["measurement"].items()))
    return "\n".join(out + disturbance(result))


def cost_line(result):
    return (
        f"  CPU {result['cpu_s_per_1000']:.4f} s per 1000 requests (user {result['user_s']:.1f} s, system"
        f" {result['system_s']:.1f} s), peak memory {mb(result['peak_bytes'])}"
    )


def disturbance(result):
    if not result["disturbed"]:
        return []
    return [f"  DISTURBED: the host took {result['steal']:.1%} of the processor time; run it again"]
