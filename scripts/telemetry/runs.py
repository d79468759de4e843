"""Runs of the binary in a scratch directory, and what they left."""

import json
import os
import pathlib
import subprocess
import tempfile


class Started:
    """A run against a server that is on; its directory goes with it."""

    def __init__(self, aiperf, url, *arguments, env=()):
        self.folder = tempfile.TemporaryDirectory(prefix="telemetry-")
        self.dir = pathlib.Path(self.folder.name) / "out"
        command = [
            aiperf, "profile", "--model", "test-model", "--url", url, "--tokenizer", "builtin", "--isl", "16", "--osl", "8",
            "--streaming", "--ui", "none", "--artifact-dir", str(self.dir), *map(str, arguments),
        ]  # fmt: skip
        self.said = open(pathlib.Path(self.folder.name) / "output", "w+")
        self.process = subprocess.Popen(
            command, stdout=self.said, stderr=subprocess.STDOUT, cwd=self.folder.name, env={**os.environ, **dict(env)}
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def finish(self, timeout=120):
        with self:
            self.code = self.process.wait(timeout)
        return self

    @property
    def output(self):
        self.said.seek(0)
        return self.said.read()

    def lines(self, name):
        return [json.loads(line) for line in (self.dir / name).read_text().splitlines()]

    def records(self):
        return self.lines("profile_export.jsonl")

    def summary(self):
        return json.loads((self.dir / "profile_export_aiperf.json").read_text())

    def log(self):
        return (self.dir / "logs/aiperf.log").read_text()


class Run(Started):
    """A run that is over."""

    def __init__(self, aiperf, url, *arguments, env=(), timeout=120):
        super().__init__(aiperf, url, "--no-server-metrics", *arguments, env=env)
        self.finish(timeout)


def close(one, two):
    return abs(one - two) <= 1e-9 * max(abs(one), abs(two), 1e-3)
