"""OTLP, received by the official definition of its messages."""

import collections
import gzip
import http.server
import json
import math
import threading
import time

import bench
from google.protobuf import json_format, unknown_fields
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from runs import Run, close

REQUESTS = 120
CONVENTIONS = {
    "request_latency": ("gen_ai.client.operation.duration", None, 1e-3),
    "time_to_first_token": ("gen_ai.client.operation.time_to_first_chunk", None, 1e-3),
    "inter_token_latency": ("gen_ai.client.operation.time_per_output_chunk", None, 1e-3),
    "input_sequence_length": ("gen_ai.client.token.usage", "input", 1.0),
    "output_token_count": ("gen_ai.client.token.usage", "output", 1.0),
}
TO_BASE = {"ms": 1e6, "KB": 1024.0}


class Receiver:
    """Takes exports, or does what `reply(number)` says: None to take it, a status with header fields, or "hang"."""

    def __init__(self, reply=lambda number: None, port=0):
        self.taken, self.calls, self.faults, self.lock = [], 0, [], threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver.lock:
                    what, receiver.calls = reply(receiver.calls), receiver.calls + 1
                if what == "hang":
                    receiver.released.wait(60)
                    return
                status, fields = what or (200, {})
                if status == 200:
                    receiver.take(self.path, self.headers, body)
                answer = metrics_service_pb2.ExportMetricsServiceResponse().SerializeToString()
                self.send_response(status)
                for name, value in {"Content-Type": "application/x-protobuf", "Content-Length": len(answer), **fields}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.released = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def take(self, path, headers, body):
        if path != "/v1/metrics":
            self.faults.append(f"posted to {path}")
        if headers["Content-Type"] != "application/x-protobuf":
            self.faults.append(f"Content-Type: {headers['Content-Type']}")
        if headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        message = metrics_service_pb2.ExportMetricsServiceRequest.FromString(body)
        if unknown(message):
            self.faults.append("fields that the definition does not know")
        with self.lock:
            self.taken.append((headers, message))


def unknown(message):
    """Whether a message holds fields outside the definition, at any depth."""
    if len(unknown_fields.UnknownFieldSet(message)):
        return True
    for field, value in message.ListFields():
        if field.message_type is not None:
            items = value if not hasattr(value, "ListFields") else [value]
            if any(unknown(item) for item in items):
                return True
    return False


def attributes(items):
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in items}


def points(message):
    """(name, attributes) of every point, with its metric."""
    for resource in message.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                data = getattr(metric, metric.WhichOneof("data"))
                for point in data.data_points:
                    yield metric, data, point, attributes(point.attributes)


def consistent(message):
    """What a receiver may rely on in any export."""
    seen, starts = set(), set()
    for metric, data, point, known in points(message):
        key = (metric.name, tuple(sorted(known.items())))
        if key in seen:
            yield f"{metric.name}: twice with the same attributes"
        seen.add(key)
        starts.add(point.start_time_unix_nano)
        if data.aggregation_temporality != metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE:
            yield f"{metric.name}: not cumulative"
        if metric.WhichOneof("data") == "histogram":
            if sum(point.bucket_counts) != point.count:
                yield f"{metric.name}: buckets sum up to {sum(point.bucket_counts)}, not {point.count}"
            if len(point.bucket_counts) != len(point.explicit_bounds) + 1:
                yield f"{metric.name}: {len(point.bucket_counts)} buckets of {len(point.explicit_bounds)} bounds"
            if sorted(set(point.explicit_bounds)) != list(point.explicit_bounds):
                yield f"{metric.name}: bounds do not rise"
    if len(starts) > 1:
        yield f"{len(starts)} starts"


def falls(messages):
    """Values that went down from one export to a later one."""
    before = {}
    for message in messages:
        for metric, _, point, known in points(message):
            key = (metric.name, tuple(sorted(known.items())))
            if metric.WhichOneof("data") == "histogram":
                value = [point.count, *point.bucket_counts]
            elif metric.sum.is_monotonic:
                value = [point.as_double]
            else:
                continue
            if any(old > new for old, new in zip(before.get(key, value), value)):
                yield f"{metric.name} fell from {before[key]} to {value}"
            before[key] = value


def against_records(message, records):
    """Where the export and the records of the run differ."""
    sent = collections.defaultdict(lambda: [0, []])
    for metric, _, point, known in points(message):
        if metric.WhichOneof("data") == "histogram" and known["aiperf.benchmark_phase"] == "profiling":
            entry = sent[metric.name, known.get("gen_ai.token.type"), "error.type" in known]
            entry[0] += point.count
            entry[1].append(point.sum)
    expected = collections.defaultdict(lambda: [0, []])
    records = [record for record in records if record["metadata"]["benchmark_phase"] == "profiling"]
    for record in records:
        for tag, metric in record["metrics"].items():
            name, token_type, factor = CONVENTIONS.get(tag, (f"aiperf.{tag}", None, TO_BASE.get(metric["unit"], 1.0)))
            values = metric["value"] if isinstance(metric["value"], list) else [metric["value"]]
            entry = expected[name, token_type, False]
            entry[0] += len(values)
            entry[1] += [value * factor for value in values]
        if record.get("error"):
            metadata, entry = record["metadata"], expected["gen_ai.client.operation.duration", None, True]
            entry[0] += 1
            entry[1].append((metadata["request_end_ns"] - metadata["request_start_ns"]) / 1e9)
    for key, (count, values) in expected.items():
        got, total = sent[key][0], math.fsum(sent[key][1])
        if got != count:
            yield f"{key}: {got} values, and {count} in the records"
        elif not close(total, math.fsum(values)):
            yield f"{key}: sum {total!r}, and {math.fsum(values)!r} in the records"
    durations = sum(count for (name, *_), (count, _) in sent.items() if name == "gen_ai.client.operation.duration")
    if durations != len(records):
        yield f"{durations} durations of {len(records)} records"


def faults_of(run, receiver, warnings):
    found = list(receiver.faults)
    if run.code != 0:
        return [*found, f"exit {run.code}: {run.output[-500:]}"]
    if run.log().count("could not be sent by OTLP") != warnings:
        found.append(f"{run.log().count('could not be sent by OTLP')} warnings, not {warnings}")
    if not receiver.taken:
        return [*found, "nothing was taken"]
    messages = [message for _, message in receiver.taken]
    for message in messages:
        found += consistent(message)
    found += falls(messages)
    found += against_records(messages[-1], run.records())
    return found


def profile(aiperf, sim, url, **env):
    every = {"AIPERF_OTEL_FLUSH_INTERVAL_SECONDS": "0.1", **env}
    arguments = ["--no-gpu-telemetry", "--concurrency", 4, "--request-count", REQUESTS, "--warmup-request-count", 6]
    return Run(aiperf, sim.url, *arguments, "--otel-url", url, env=every)


def check(aiperf):
    """Gives the title of each scenario and what was wrong in it."""
    with bench.Sim(aiperf, "--ttft", "20ms", "--itl", "1ms", "--fault", "status:500=0.1") as sim:
        with Receiver() as receiver:
            run = profile(aiperf, sim, receiver.url)
            yield "as the records say", faults_of(run, receiver, 0)
        with Receiver() as receiver:
            run = profile(aiperf, sim, receiver.url, OTEL_EXPORTER_OTLP_COMPRESSION="gzip")
            found = faults_of(run, receiver, 0)
            if any(headers["Content-Encoding"] != "gzip" for headers, _ in receiver.taken):
                found.append("not zipped")
            yield "gzip", found
        for title, reply in [
            ("429 with Retry-After", lambda number: None if number % 3 == 2 else (429, {"Retry-After": 1})),
            ("503", lambda number: None if number % 2 else (503, {})),
            ("a hang", lambda number: "hang" if number == 0 else None),
        ]:
            with Receiver(reply) as receiver:
                run = profile(aiperf, sim, receiver.url, AIPERF_OTEL_REQUEST_TIMEOUT_SECONDS="0.5")
                yield title, faults_of(run, receiver, 1)
        yield "a restart", restarted(aiperf, sim)


def restarted(aiperf, sim):
    """A receiver that goes away and comes back at the same place: the second one has all of it."""
    first = Receiver().__enter__()
    second = []

    def restart():
        while not first.taken:
            time.sleep(0.01)
        first.__exit__()
        time.sleep(0.3)
        second.append(Receiver(port=first.port).__enter__())

    thread = threading.Thread(target=restart)
    thread.start()
    run = profile(aiperf, sim, first.url)
    thread.join()
    found = faults_of(run, second[0], 1) + list(falls([message for _, message in first.taken + second[0].taken]))
    second[0].__exit__()
    return found


def record(root):
    """The captured run of the reference, put into bytes by the official definition: our messages must read them."""
    golden = root / "crates/golden/data/telemetry/otlp_capture.json"
    capture = json.loads(golden.read_text())["last_request"]
    message = json_format.ParseDict(capture, metrics_service_pb2.ExportMetricsServiceRequest())
    path = root / "crates/golden/data/telemetry/otlp_capture.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(message.SerializeToString())
    print(f"{path.relative_to(root)}: {path.stat().st_size} bytes")
