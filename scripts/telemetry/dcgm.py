"""GPU telemetry, from pages that prometheus-client makes as a DCGM exporter does."""

import json
import threading
import wsgiref.simple_server

import bench
from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest, make_wsgi_app
from runs import Run, close

LABELS = ["gpu", "UUID", "device", "modelName", "Hostname", "GPU_I_PROFILE", "GPU_I_ID", "pci_bus_id"]
# Field, type, the name in the files, factor, and the value at a scrape of a GPU.
FIELDS = [
    ("DCGM_FI_DEV_POWER_USAGE", Gauge, "nvidia_power_usage", 1.0, lambda gpu, number: 100.0 + 10 * gpu),
    ("DCGM_FI_DEV_GPU_UTIL", Gauge, "nvidia_gpu_utilization", 1.0, lambda gpu, number: float((7 * gpu + number) % 101)),
    ("DCGM_FI_DEV_FB_USED", Gauge, "nvidia_memory_used", 1.048576e-3, lambda gpu, number: 1000.0 * (gpu + 1)),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Counter, "nvidia_energy_consumption", 1e-9, lambda gpu, number: 1e6 * number),
]


def registry(gpus, number):
    """What an exporter of these GPUs has at a scrape."""
    all_of_it = CollectorRegistry()
    for field, kind, _, _, value in FIELDS:
        metric = kind(field, field, LABELS, registry=all_of_it)
        for at, labels in enumerate(gpus):
            sample = metric.labels(**labels)
            (sample.inc if kind is Counter else sample.set)(value(at, number))
    return all_of_it


class Exporter:
    """An exporter of some GPUs, given by their labels; counts its scrapes. Answers none before `opens` is set."""

    def __init__(self, gpus, opens=None):
        self.gpus, self.scrapes = gpus, 0
        outer = self

        def page(environ, start):
            if opens:
                opens.wait(10)
            outer.scrapes += 1
            return outer.app(outer.scrapes)(environ, start)

        class Quiet(wsgiref.simple_server.WSGIRequestHandler):
            def log_message(self, *_):
                pass

        self.server = wsgiref.simple_server.make_server("127.0.0.1", 0, page, handler_class=Quiet)
        self.url = f"http://127.0.0.1:{self.server.server_port}/metrics"

    def app(self, number):
        return make_wsgi_app(registry(self.gpus, number))

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def display(self):
        return self.url.removeprefix("http://").removesuffix("/metrics")


def labels(index, uuid, host, profile="", instance=""):
    return {
        "gpu": str(index), "UUID": uuid, "device": f"nvidia{index}", "modelName": "NVIDIA H100", "Hostname": host,
        "GPU_I_PROFILE": profile, "GPU_I_ID": instance, "pci_bus_id": f"00000000:{index + 1:02x}:00.0",
    }  # fmt: skip


def served(exporter, run):
    """Where the files of a run differ from what an exporter served."""
    document = run.summary().get("telemetry_data")
    if document is None:
        yield f"no telemetry_data: {run.output[-500:]}"
        return
    gpus = document["endpoints"].get(exporter.display, {}).get("gpus", {})
    if len(gpus) != len(exporter.gpus):
        yield f"{len(gpus)} GPUs of {len(exporter.gpus)}: {sorted(gpus)}"
        return
    lines = [line for line in run.lines("gpu_telemetry_export.jsonl") if line["telemetry_source_url"] == exporter.url]
    if not lines or len(lines) % len(exporter.gpus):
        yield f"{len(lines)} lines of {len(exporter.gpus)} GPUs"
    if len(lines) > exporter.scrapes * len(exporter.gpus):
        yield f"{len(lines)} lines of {exporter.scrapes} scrapes"
    known = [
        {field: {value(at, number) * factor for number in range(1, exporter.scrapes + 1)} for _, _, field, factor, value in FIELDS}
        for at in range(len(exporter.gpus))
    ]
    for line in lines:
        at = [
            at for at, gpu in enumerate(exporter.gpus)
            if gpu["UUID"] == line["gpu_uuid"] and int(gpu["gpu"]) == line["gpu_index"] and gpu["Hostname"] == line["hostname"]
        ]  # fmt: skip
        if not at:
            yield f"a line of an unknown GPU: {line}"
            continue
        data = line["telemetry_data"]
        if set(data) != {field for _, _, field, _, _ in FIELDS}:
            yield f"fields {sorted(data)}"
        for field, value in data.items():
            if not any(close(value, other) for one in at for other in known[one][field]):
                yield f"{field} of GPU {at[0]} is {value}, which was never served"
    left = list(range(len(exporter.gpus)))
    for name, gpu in gpus.items():
        metrics = gpu["metrics"]
        # The slices of a GPU share its UUID: which is which, their power says.
        like = [
            at for at in left
            if (exporter.gpus[at]["UUID"], exporter.gpus[at]["Hostname"]) == (gpu["gpu_uuid"], gpu["hostname"])
            and close(metrics["nvidia_power_usage"]["avg"], 100.0 + 10 * at)
        ]  # fmt: skip
        if not like:
            yield f"{name} is {gpu['gpu_uuid']} on {gpu['hostname']} with {metrics['nvidia_power_usage']['avg']} W"
            continue
        left.remove(like[0])
        if not close(metrics["nvidia_memory_used"]["avg"], 1000.0 * (like[0] + 1) * 1.048576e-3):
            yield f"{name}: memory {metrics['nvidia_memory_used']['avg']}"
        spent = metrics["nvidia_energy_consumption"]["avg"] / 1e-3
        if not (0 < round(spent, 6) <= exporter.scrapes and close(spent, round(spent))):
            yield f"{name}: energy {metrics['nvidia_energy_consumption']['avg']} MJ is no whole number of scrapes"


def two_hosts():
    return [[labels(index, f"GPU-{host}-{index}", host) for index in range(4)] for host in ("node1", "node2")]


def divided_gpu():
    slices = [labels(0, "GPU-whole-0", "node1", "1g.10gb", str(instance)) for instance in (7, 8, 9)]
    return [*slices, labels(1, "GPU-other-1", "node1")]


def check(aiperf):
    """Gives the title of each scenario and what was wrong in it."""
    env = {"AIPERF_GPU_COLLECTION_INTERVAL": "0.05", "AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS": "[]"}
    load = ["--concurrency", 4, "--request-count", 80]
    hosts = two_hosts()
    with bench.Sim(aiperf, "--ttft", "20ms", "--itl", "1ms") as sim:
        with Exporter(hosts[0]) as one, Exporter(hosts[1]) as two:
            run = Run(aiperf, sim.url, *load, "--gpu-telemetry", one.url, two.url, env=env)
            found = [*served(one, run), *served(two, run)]
            total = run.summary().get("total_gpu_power", {})
            if not close(total.get("avg", 0), 8 * 100 + 2 * 60):
                found.append(f"total_gpu_power: {total}")
            yield "eight GPUs on two hosts", found
        with Exporter(hosts[0] + hosts[1]) as both:
            run = Run(aiperf, sim.url, *load, "--gpu-telemetry", both.url, env=env)
            yield "two hosts behind one exporter", list(served(both, run))
        with Exporter(divided_gpu()) as divided:
            run = Run(aiperf, sim.url, *load, "--gpu-telemetry", divided.url, env=env)
            yield "slices of a divided GPU", list(served(divided, run))


def record(root):
    """Pages as prometheus-client makes them, and beside each what was put into it."""
    # When a counter was made is of no use, and another instant each time.
    disable_created_metrics()
    cases = []
    for name, gpus in [("eight GPUs on two hosts", sum(two_hosts(), [])), ("slices of a divided GPU", divided_gpu())]:
        number = len(cases) + 3
        expected = [
            {
                "gpu_index": int(gpu["gpu"]), "gpu_uuid": gpu["UUID"], "hostname": gpu["Hostname"], "instance": gpu["GPU_I_ID"],
                "telemetry_data": {field: value(at, number) * factor for _, _, field, factor, value in FIELDS},
            }
            for at, gpu in enumerate(gpus)
        ]  # fmt: skip
        cases.append({"name": name, "page": generate_latest(registry(gpus, number)).decode(), "gpus": expected})
    path = root / "crates/golden/data/prometheus-client/dcgm.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(case) for case in cases)
    path.write_text(f'{{"kind": "dcgm_pages", "cases": [\n{lines}\n]}}\n')
    print(f"{path.relative_to(root)}: {path.stat().st_size} bytes")
