"""Prometheus itself: found on PATH, or taken out of Debian's package, so that nothing is installed and no service starts."""

import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

TOOLS = ["prometheus", "promtool"]


def tools(folder):
    """The paths of both programs; the package is unpacked into this folder, and kept there."""
    unpacked = pathlib.Path(folder) / "prometheus"
    path = os.pathsep.join([os.environ.get("PATH", ""), str(unpacked / "usr/bin")])
    if not all(shutil.which(tool, path=path) for tool in TOOLS):
        unpack(unpacked)
    found = [shutil.which(tool, path=path) for tool in TOOLS]
    if not all(found):
        raise SystemExit(
            f"error: this check needs {' and '.join(TOOLS)}, and neither PATH nor Debian's package has them\n"
            "  try: https://prometheus.io/download and both on PATH, or a machine on which `apt-get download prometheus` works"
        )
    return found


def unpack(folder):
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["apt-get", "download", "-qq", "prometheus"], cwd=folder, check=True)
        (package,) = glob.glob(str(folder / "prometheus_*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        os.remove(package)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"  Debian's package cannot be had: {error}", flush=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url):
    """The body of an answer, or None where nobody answers so far."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError:
        raise
    except OSError:
        return None


class Prometheus:
    """A server with a configuration, from when it is ready until it is no longer needed."""

    def __init__(self, program, configuration):
        self.folder = tempfile.TemporaryDirectory(prefix="prometheus-")
        root = pathlib.Path(self.folder.name)
        (root / "prometheus.yml").write_text(configuration)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.said = open(root / "output", "w+")
        self.process = subprocess.Popen(
            [
                program, f"--config.file={root}/prometheus.yml", f"--storage.tsdb.path={root}/data",
                f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
            ],
            stdout=self.said, stderr=subprocess.STDOUT, cwd=root,
        )  # fmt: skip

    def __enter__(self):
        for _ in range(300):
            if self.process.poll() is not None:
                break
            try:
                if get(self.url + "/-/ready"):
                    return self
            except urllib.error.HTTPError:
                pass
            time.sleep(0.1)
        self.said.seek(0)
        raise SystemExit(f"error: Prometheus does not start\n{self.said.read()[-2000:]}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def query(self, expression):
        """What Prometheus has for an expression: labels, and the value or values."""
        answer = json.loads(get(f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": expression})))
        return answer["data"]["result"]

    def values(self, expression):
        """All values of the one series that an expression gives, in the order of time."""
        series = self.query(f"{expression}[10m]")
        return [float(value) for _, value in series[0]["values"]] if len(series) == 1 else []
