"""What the measuring scripts share: the binary, the simulated server, a measured client run, steal, statistics.

Python's standard library only.
"""

import fcntl
import math
import json
import os
import pathlib
import pty
import re
import shlex
import signal
import ssl
import struct
import subprocess
import tempfile
import termios
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEAL_LIMIT = 0.005


def aiperf_binary(given, profile="dist"):
    """The binary to measure: the one given, or the build of this profile, which is made first."""
    if given:
        path = pathlib.Path(given)
        if not os.access(path, os.X_OK):
            raise SystemExit(f"error: {path} is not an executable file\n  try: --aiperf PATH, or leave it out")
        return str(path.resolve())
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = target / profile / "aiperf"
    # An older build would be measured in place of these files.
    subprocess.run(["cargo", "build", "--quiet", "--profile", profile], cwd=ROOT, check=True)
    return str(binary)


# How client and server may speak: arguments of `aiperf profile`, and whether there is TLS.
WAYS = {
    "http": ([], False),
    "https": ([], True),
    "http2": (["--transport", "http2"], False),
    "https2": (["--transport", "http2"], True),
}


def two_cores():
    """The first two cores that this process may use, each as a set; the same one twice if there is only one."""
    cores = sorted(os.sched_getaffinity(0))
    return {cores[0]}, {cores[min(1, len(cores) - 1)]}


def pinned(cores):
    """Further arguments of `Popen` for a process that may use these cores only; none without cores."""
    return {"preexec_fn": lambda: os.sched_setaffinity(0, cores)} if cores else {}


def apart(threads):
    """The first cores that this process may use, one for each thread of the server, and the others."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) <= threads:
        raise SystemExit(f"error: --pin needs more than {threads} cores, and there are {len(cores)}")
    return set(cores[:threads]), set(cores[threads:])


class Busy:
    """Processes that do nothing but use a core, each in a session of its own, while this lasts."""

    def __init__(self, count, cores=None):
        self.count, self.cores = count, cores

    def __enter__(self):
        command = ["sh", "-c", "while :; do :; done"]
        start = {"start_new_session": True, **pinned(self.cores)}
        self.processes = [subprocess.Popen(command, **start) for _ in range(self.count)]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class Sim:
    """A simulated server, from its first line of output to its end. `profile` are arguments for clients of it."""

    def __init__(self, aiperf, *options, way="http", cores=None):
        self.profile, tls = WAYS[way]
        self.start = pinned(cores)
        self.command = [aiperf, "sim", "--port", "0", *map(str, options)]
        self.context = None
        if tls:
            self.folder = tempfile.TemporaryDirectory(prefix="sim-")
            self.authority = os.path.join(self.folder.name, "ca.pem")
            self.command += ["--tls", "--tls-ca-file", self.authority]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, **self.start)
        line = self.process.stdout.readline()
        found = re.search(r"listening on (https?://\S+)", line)
        if not found:
            self.process.kill()
            self.process.wait()
            raise SystemExit(f"error: {shlex.join(self.command)} did not say where it listens")
        self.url = found.group(1)
        if self.url.startswith("https"):
            # Clients inherit whom to trust.
            os.environ["SSL_CERT_FILE"] = self.authority
            self.context = ssl.create_default_context(cafile=self.authority)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.context:
            del os.environ["SSL_CERT_FILE"]

    def answers(self):
        """Inference requests answered so far, whatever the answer."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=10, context=self.context) as page:
            text = page.read().decode()
        counts = re.findall(r'^http_requests_total\{.*method="POST".*\} (\S+)$', text, re.MULTILINE)
        return int(sum(map(float, counts)))

    def cpu_s(self):
        """The CPU time of the server so far, in steps of 10 ms."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            return sum(cpu_of_stat(stat.read())[1:])


class Steal:
    """The share of processor time that the host took away since this was made."""

    def __init__(self):
        self.before = self.read()

    @staticmethod
    def read():
        with open("/proc/stat") as stat:
            fields = [int(field) for field in stat.readline().split()[1:]]
        # guest and guest_nice are already in user and nice
        return sum(fields[:8]), fields[7]

    def share(self):
        total, steal = (after - before for after, before in zip(self.read(), self.before))
        return steal / total if total else 0.0


TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_of_stat(stat):
    """The name, and the seconds in user and in system mode, of a process or thread by its `stat` in /proc."""
    # the name is in parentheses, and may contain some
    name, rest = stat.partition("(")[2].rpartition(")")[::2]
    fields = rest.split()
    return name, int(fields[11]) * TICK_S, int(fields[12]) * TICK_S


def disturbed(share):
    return share > STEAL_LIMIT


def undisturbed(run, attempts=3):
    """The result of `run()`, repeated while the host takes processor time away; `repeats` is how often it was."""
    for repeats in range(attempts):
        result = run()
        if not disturbed(result["steal"]):
            break
    return result | {"repeats": repeats}


def repeats_in_words(results):
    """How many runs were repeated because of steal, and how many had it to the last."""
    repeated = sum(result["repeats"] > 0 for result in results)
    last = sum(disturbed(result["steal"]) for result in results)
    return f"{repeated} runs repeated because of steal, {last} DISTURBED to the last"


class Bars:
    """Limits that results are held to. A script ends with `exit_status`: 1 if one was missed."""

    def __init__(self):
        self.found = []

    def hold(self, is_met, text):
        """`is_met` is None if there was nothing to judge."""
        self.found.append((is_met, text))

    @property
    def exit_status(self):
        return int(any(is_met is False for is_met, _ in self.found))

    def __str__(self):
        marks = {True: "pass", False: "FAIL", None: "none"}
        return "\n".join(f"  {marks[is_met]}  {text}" for is_met, text in self.found)


COLUMNS, ROWS = 120, 40


class Terminal:
    """A terminal that somebody looks at: what is written to it is read at once, and kept in a file."""

    def __init__(self, output):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.reader = threading.Thread(target=self.read, args=(output,))

    def start(self, command):
        process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, cwd=ROOT, start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"}, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(self.slave)
        self.reader.start()
        return process

    def read(self, output):
        while True:
            try:
                said = os.read(self.master, 1 << 16)
            # Its end, when nobody can write to it any more.
            except OSError:
                return
            if not said:
                return
            output.write(said)

    def close(self):
        self.reader.join()
        os.close(self.master)


class ClientRun:
    """One process, measured from outside."""

    def __init__(self, command, log, watch=None, on_a_terminal=False, cores=None, environment=None):
        """Runs `command` to its end. `watch(pid, over)` is called in a thread of its own until the process ends."""
        self.command = command
        steal = Steal()
        with open(log, "wb") as output:
            terminal = Terminal(output) if on_a_terminal else None
            self.start_ns = time.time_ns()
            if terminal:
                process = terminal.start(command)
            else:
                process = subprocess.Popen(
                    command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT, env={**os.environ, **(environment or {})},
                    **pinned(cores),
                )  # fmt: skip
            over = threading.Event()
            watcher = threading.Thread(target=watch, args=(process.pid, over)) if watch else None
            if watcher:
                watcher.start()
            try:
                _, status, usage = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                raise
            finally:
                over.set()
            self.end_ns = time.time_ns()
            if terminal:
                terminal.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        if watcher:
            watcher.join()
        self.steal = steal.share()
        self.user_s, self.system_s = usage.ru_utime, usage.ru_stime
        self.peak_bytes = usage.ru_maxrss * 1024
        if process.returncode != 0:
            tail = pathlib.Path(log).read_text(errors="replace")[-2000:]
            raise SystemExit(f"error: exit {process.returncode} from {shlex.join(command)}\n{tail}")

    @property
    def wall_s(self):
        return (self.end_ns - self.start_ns) / 1e9


# fetched besides the ticks: the first page, one at each end of the phase, the last
PAGES_BESIDE_TICKS = 4
INTERVAL_S = 0.333


def collection(wanted):
    """Arguments that switch collection of server metrics off, or none; the wait for the last page is left out."""
    os.environ["AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD"] = "0"
    return [] if wanted else ["--no-server-metrics"]


def scrapes(folder):
    """How often pages of metrics were fetched, and what share of the asked rate that is; nothing without collection."""
    found = sorted(pathlib.Path(folder).rglob("server_metrics_export.json"))
    if not found:
        return {}
    (info,) = json.loads(found[0].read_text())["summary"]["endpoint_info"].values()
    lasted = (info["last_fetch_ns"] - info["first_fetch_ns"]) / 1e9
    ticks = info["total_fetches"] - PAGES_BESIDE_TICKS
    return {
        "scrapes": info["total_fetches"],
        "scrape_errors": info.get("errors", 0),
        "scrape_rate_share": ticks / max(int(lasted / INTERVAL_S), 1),
        "median_scrape_interval_ms": info.get("median_update_interval_ms"),
        "avg_scrape_ms": info["avg_fetch_latency_ms"],
    }


def find(folder, name):
    """The file of that name (or ending in it) below a folder; of several runs, that of the last."""
    found = sorted(pathlib.Path(folder).rglob(f"*{name}"))
    if not found:
        raise SystemExit(f"error: no {name} in {folder}")
    return found[-1]


def ui_unless(extra):
    """Arguments for a client without a progress bar, where others do not ask for a display."""
    return [] if any(word.split("=")[0] == "--ui" for word in extra) else ["--ui", "none"]


def joined(words, *flags):
    """Words of a command line in which values of these flags may look like flags themselves."""
    found = []
    for word in words:
        if found and found[-1] in flags:
            found[-1] += f"={word}"
        else:
            found.append(word)
    return found


def interleaved(pairs, one, other):
    """Results of `one()` and `other()` in pairs, each pair in the other order than the one before."""
    found = []
    for number in range(pairs):
        if number % 2:
            second, first = other(), one()
        else:
            first, second = one(), other()
        found.append((first, second))
    return found


def median(values):
    return percentile(sorted(values), 0.5)


def percentile(ordered, share):
    """Of a sorted list, with linear interpolation between ranks."""
    if not ordered:
        return math.nan
    rank = (len(ordered) - 1) * share
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (rank - low)


def mean(values):
    return sum(values) / len(values) if values else math.nan
