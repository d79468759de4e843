"""Runs of the binary in a scratch directory, and what they left."""

import json
import os
import pathlib
import subprocess
import tempfile


class Run:
    """A run against a server; its directory goes with it."""

    def __init__(self, aiperf, url, *arguments, env=(), timeout=120):
        self.folder = tempfile.TemporaryDirectory(prefix="telemetry-")
        self.dir = pathlib.Path(self.folder.name) / "out"
        command = [
            aiperf, "profile", "--model", "test-model", "--url", url, "--tokenizer", "builtin", "--isl", "16", "--osl", "8",
            "--streaming", "--ui", "none", "--no-server-metrics", "--artifact-dir", str(self.dir), *map(str, arguments),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, cwd=self.folder.name, env={**os.environ, **dict(env)}
        )
        self.code, self.output = done.returncode, done.stdout + done.stderr

    def lines(self, name):
        return [json.loads(line) for line in (self.dir / name).read_text().splitlines()]

    def records(self):
        return self.lines("profile_export.jsonl")

    def summary(self):
        return json.loads((self.dir / "profile_export_aiperf.json").read_text())

    def log(self):
        return (self.dir / "logs/aiperf.log").read_text()


def close(one, two):
    return abs(one - two) <= 1e-9 * max(abs(one), abs(two), 1e-3)
