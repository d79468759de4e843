"""The live API, asked by Prometheus, promtool and a WebSocket client of somebody else."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import bench
import dcgm
from prometheus import Prometheus, free_port, get, tools
from runs import Started
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

DOCS = bench.ROOT / "docs"
REFERENCE = bench.ROOT / "crates/golden/data/telemetry/prometheus_text.json"
# What Prometheus is asked, and where /api/metrics has it: metric and statistic.
WATCHED = {
    'aiperf_request_latency_ms{quantile="0.99"}': ("request_latency", "p99"),
    "aiperf_output_token_throughput_avg_tps": ("output_token_throughput", "avg"),
}
# Left out where they are null.
MAY_BE_NULL = {"reason"}
STATES = {"configuring", "ready", "profiling", "processing", "stopping"}
HANGS = 60


class Watched(Started):
    """A run whose API stays after it, until it is told to end."""

    def __init__(self, aiperf, sim, *arguments, port=None, env=()):
        self.port = port or free_port()
        self.url = f"http://localhost:{self.port}"
        env = {"AIPERF_API_SERVER_POST_COMPLETE_GRACE": "300", **dict(env)}
        super().__init__(aiperf, sim.url, "--concurrency", 4, "--api-port", self.port, *arguments, env=env)

    def text(self, path):
        return get(self.url + path)

    def json(self, path):
        return json.loads(self.text(path))

    def end(self):
        subprocess.run(["curl", "-sS", "-X", "POST", self.url + "/api/shutdown"], stdout=subprocess.DEVNULL, check=True)
        return self.finish()


def until(is_so, why, within=HANGS):
    start = time.monotonic()
    while not is_so():
        if time.monotonic() - start > within:
            raise SystemExit(f"error: this took more than {within} s\n{why()[-2000:]}")
        time.sleep(0.05)


def check(aiperf):
    """Gives the title of each scenario and what was wrong in it."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", bench.ROOT / "target"))
    prometheus, promtool = tools(target / "check-telemetry")
    with bench.Sim(aiperf, "--ttft", "20ms", "--itl", "1ms") as sim:
        pages = []
        yield "Prometheus, set up as documented", scraped(aiperf, sim, prometheus, pages)
        yield f"promtool, {len(pages)} pages", linted(promtool, pages)
        yield "a WebSocket client that hears everything", heard_all(aiperf, sim)
        yield "a WebSocket client that errs", errs(aiperf, sim)


def scraped(aiperf, sim, program, pages):
    """What Prometheus scraped of a run must stand on the pages that there were; these are left in `pages`."""
    page = (DOCS / "telemetry.md").read_text()
    (configuration,) = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "scrape_configs:" in block]
    found, known = [], {expression: set() for expression in WATCHED}
    length = ["--benchmark-duration", 6, "--no-server-metrics", "--no-gpu-telemetry"]
    port = free_port()
    with Prometheus(program, configuration.replace("localhost:8080", f"localhost:{port}")) as prometheus:
        # It takes some seconds before it scrapes at all.
        until(lambda: prometheus.query("up"), lambda: "Prometheus does not scrape")
        with Watched(aiperf, sim, *length, port=port) as run:
            until(lambda: run.process.poll() is not None or run.text("/healthz"), lambda: run.output)
            if run.process.poll() is not None:
                return [f"it ended: {run.output[-500:]}"]
            ended = None
            # Metrics are made once a second: looked at so often, none is missed. Then two scrapes more.
            while ended is None or time.monotonic() < ended + 2.5:
                pages.append(run.text("/metrics"))
                for expression in WATCHED:
                    known[expression] |= samples(pages[-1], expression)
                if ended is None and run.json("/api/results")["status"] != "running":
                    ended = time.monotonic()
                time.sleep(0.1)
            found += agree(prometheus, run, known)
            if run.end().code != 0:
                found.append(f"exit {run.code}: {run.output[-500:]}")
    pages[:] = [page for page, _ in itertools.groupby(pages)]
    return found


def samples(page, expression):
    """The values of an expression on a page, which has more labels than this names."""
    name, _, label = expression.rstrip("}").partition("{")
    lines = [line.rpartition(" ") for line in page.splitlines() if line.startswith(name + "{") and label in line]
    return {float(value) for _, _, value in lines}


def agree(prometheus, run, known):
    """Where Prometheus' answers differ from the run's own."""
    info = prometheus.query("aiperf_info")
    about = run.json("/api/run")
    if [(one["value"][1], one["metric"]["benchmark_id"]) for one in info] != [("1", about["benchmark_id"])]:
        yield f"aiperf_info is {info}, of run {about['benchmark_id']}"
    if any(one["metric"]["job"] != "aiperf" for one in info):
        yield f"aiperf_info is not of the job that the documentation names: {info}"
    # Prometheus was there before the run.
    ups = list(itertools.dropwhile(lambda up: not up, prometheus.values('up{job="aiperf"}')))
    if len(ups) < 6 or set(ups) != {1.0}:
        yield f"scrapes that succeeded: {ups}"
    final, changed = run.json("/api/metrics")["metrics"], False
    for expression, (tag, statistic) in WATCHED.items():
        scraped = prometheus.values(expression)
        if len(scraped) < 5:
            yield f"{expression} has the values {scraped}"
            continue
        changed |= len(set(scraped)) >= 4
        unknown = set(scraped) - known[expression]
        if unknown:
            yield f"{expression}: {sorted(unknown)} stood on no page"
        if scraped[-1] != final[tag][statistic]:
            yield f"{expression} is {scraped[-1]}, and {final[tag][statistic]} in /api/metrics"
    if not changed:
        yield "nothing changed from scrape to scrape"


def complaints(promtool, page):
    """Exit code of promtool, and what it says of each metric."""
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).splitlines()
    return done.returncode, [line.partition(" ") for line in lines if line.strip()]


def linted(promtool, pages):
    """Parse errors, and complaints that pages of the reference do not get."""
    reference = [complaints(promtool, case["expected"]) for case in json.loads(REFERENCE.read_text())["cases"]]
    tolerated = {text for _, lines in reference for _, _, text in lines}
    found = {}
    for page in pages:
        code, lines = complaints(promtool, page)
        # 3: it could be read, and there is something to be said of it.
        if code not in (0, 3):
            found[f"promtool exits {code}: {[''.join(line) for line in lines][:3]}"] = None
            continue
        found.update({f"{metric} {text}": None for metric, _, text in lines if text not in tolerated})
    return list(found) if pages else ["no page to read"]


def documented():
    """Kinds of messages and the members that each must have, as docs/api.md says."""
    page = (DOCS / "api.md").read_text()
    table = page.partition("| `message_type` | when | holds |\n| --- | --- | --- |\n")[2].partition("\n\n")[0]
    kinds, members = {}, []
    for row in table.splitlines():
        name, _, holds = [cell.strip() for cell in row.strip("|").split("|")]
        if holds != "the same":
            heads = [part.partition(":")[0] for part in holds.split(";")]
            members = [word for head in heads for word in re.findall(r"`([a-z_]+)`", head)]
        kinds[name.strip("`")] = members
    return kinds


def wrong(message, kinds):
    """What a message lacks of what is documented."""
    kind = message.get("message_type")
    if kind not in kinds:
        return f"not documented: {message}"
    missing = {"service_id", *kinds[kind]} - MAY_BE_NULL - set(message)
    if missing:
        return f"{kind} lacks {sorted(missing)}"
    if "state" in message and kind == "system_state_changed" and message["state"] not in STATES:
        return f"{kind}: {message['state']}"
    for metric in message.get("metrics", []):
        if not {"tag", "header", "unit"} <= set(metric) or kind == "realtime_telemetry_metrics" and "current" not in metric:
            return f"{kind}: {metric}"
    if "stats" in message and not {"phase_name", "requests_sent", "requests_completed", "state"} <= set(message["stats"]):
        return f"{kind}: {message['stats']}"
    if any(value is None for value in message.values()):
        return f"{kind} has nulls: {message}"
    return None


def subscribed(run, *kinds):
    """A client that hears of these kinds. One that is there before the run has started hears all of it."""
    while run.process.poll() is None:
        try:
            client = connect(f"ws://localhost:{run.port}/ws", open_timeout=10, max_size=None)
            break
        except OSError:
            time.sleep(0.01)
    else:
        raise SystemExit(f"error: the run ended\n{run.output[-2000:]}")
    client.send(json.dumps({"type": "subscribe", "message_types": kinds}))
    return client


def heard_all(aiperf, sim):
    """Every kind of message that is documented must come, and nothing else."""
    kinds, found, messages = documented(), [], []
    gpus = [dcgm.labels(index, f"GPU-{index}", "node1") for index in range(2)]
    env = {"AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS": "[]", "AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD": "0"}
    # Both pages answer once the client is there to hear of it.
    there = threading.Event()
    with dcgm.Exporter(gpus, there) as exporter, dcgm.Exporter(gpus, there) as server:
        arguments = ["--benchmark-duration", 6, "--warmup-request-count", 8]
        pages = ["--gpu-telemetry", exporter.url, "--server-metrics", server.url]
        with Watched(aiperf, sim, *arguments, *pages, env=env) as run, subscribed(run, "*") as client:
            if json.loads(client.recv(HANGS)) != {"type": "subscribed", "message_types": ["*"]}:
                found.append("the first message is no answer to the subscription")
            there.set()
            if not client.ping().wait(10):
                found.append("a ping of the protocol is not answered")
            while not messages or messages[-1].get("message_type") != "benchmark_complete":
                messages.append(json.loads(client.recv(HANGS)))
                if len(messages) == 20:
                    # A file that cannot be written is an error that the run logs.
                    (run.dir / "profile_export_aiperf.csv" / "in the way").mkdir(parents=True)
            run.end()
            if run.code != 1 or "profile_export_aiperf.csv: Is a directory" not in run.output:
                found.append(f"exit {run.code}, not for the file in the way: {run.output[-500:]}")
            # What came between the last message and the end.
            messages += [json.loads(text) for text in client]
            if client.close_code != 1001:
                found.append(f"closed with {client.close_code}")
            records = len(run.records())
    found += {fault: None for message in messages if (fault := wrong(message, kinds))}
    missing = set(kinds) - {message.get("message_type") for message in messages}
    found += [f"no {kind} came" for kind in sorted(missing)]
    done = [message["stats"]["final_requests_completed"] for message in messages if message["message_type"] == "credit_phase_complete"]
    if sum(done) != records:
        found.append(f"phases completed {done} requests, and there are {records} records")
    return found


def errs(aiperf, sim):
    """Messages that are none get an error each; neither the connection nor the run minds."""
    found = []
    malformed = [
        "", "{", "[]", "null", "7", '"subscribe"', "\x00", '{"type": "subscribe", "message_types": "*"}',
        '{"type": "subscribe", "message_types": [1]}', '{"type": "unsubscribe", "message_types": {}}', b"bytes",
    ]  # fmt: skip
    unknown = ["{}", '{"type": "dance"}', '{"type": 7}', '{"type": null}']

    def answer(client, said, *types):
        """The next answer to this client, and how many messages came before it."""
        client.send(said)
        for before in range(100):
            message = json.loads(client.recv(HANGS))
            if "type" in message:
                if message["type"] not in types:
                    found.append(f"{said!r} is answered with {message}")
                return message, before

    length = ["--benchmark-duration", 5, "--no-server-metrics", "--no-gpu-telemetry"]
    with Watched(aiperf, sim, *length) as run, subscribed(run) as client:
        answer(client, '{"type": "ping"}', "subscribed")
        if json.loads(client.recv(HANGS)) != {"type": "pong"}:
            found.append("no pong")
        for said in malformed:
            message, before = answer(client, said, "error")
            if before or not message.get("message"):
                found.append(f"{said!r}: {message} after {before} messages")
        for said in unknown:
            # Nothing comes of it: what is answered next is the ping.
            client.send(said)
            answer(client, '{"type": "ping"}', "pong")
        answer(client, '{"type": "subscribe", "message_types": ["realtime_metrics", "credit_phase_progress"]}', "subscribed")
        heard = {json.loads(client.recv(HANGS))["message_type"] for _ in range(6)}
        if heard != {"realtime_metrics", "credit_phase_progress"}:
            found.append(f"of two kinds that were asked for came {heard}")
        answer(client, '{"type": "unsubscribe", "message_types": ["credit_phase_progress"]}', "unsubscribed")
        heard = {json.loads(client.recv(HANGS))["message_type"] for _ in range(2)}
        if heard != {"realtime_metrics"}:
            found.append(f"after one of two was unsubscribed came {heard}")
        answer(client, '{"type": "unsubscribe", "message_types": ["realtime_metrics"]}', "unsubscribed")
        # A frame that is no text, in the place of one that is: that connection ends, and no other.
        with connect(f"ws://localhost:{run.port}/ws") as broken:
            broken.socket.sendall(b"\x81\x82\0\0\0\0\xff\xfe")
            try:
                found.append(f"text that is none is answered with {broken.recv(HANGS)}")
            except ConnectionClosed:
                pass
            if broken.close_code != 1007:
                found.append(f"text that is none is closed with {broken.close_code}")
        answer(client, '{"type": "ping"}', "pong")
        until(lambda: run.json("/api/results")["status"] != "running", lambda: run.output)
        answer(client, '{"type": "ping"}', "pong")
        if run.end().code != 0 or run.summary()["was_cancelled"]:
            found.append(f"exit {run.code}: {run.output[-500:]}")
    return found
