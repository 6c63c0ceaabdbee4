# SPDX-License-Identifier: Apache-2.0
"""What has been measured so far, a JSON object a line, so that a run that was stopped goes
on where it was."""

import datetime
import hashlib
import json

SOURCES = ("include", "src", "loop", "bench")
ENDINGS = (".c", ".h", ".java", ".py", ".go", ".txt")


def digest(project, *conditions):
    """Of all that decides what is measured: a change of it begins anew."""
    sum_of = hashlib.sha256(repr(conditions).encode())
    for directory in SOURCES:
        for path in sorted((project / directory).rglob("*")):
            if path.suffix in ENDINGS and path.parent.name != "turns":
                sum_of.update(path.read_bytes())
    return sum_of.hexdigest()[:16]


class Record:
    def __init__(self, path, subject):
        self.path, self.subject = path, subject
        self.cells = {}  # (factory, shape, peer, round): figures
        self.seconds = {}  # (shape, peer): what a cell took the last time
        self.date = ""  # of the last cell
        if path.exists():
            for line in path.read_text().splitlines():
                self.remember(json.loads(line))

    def remember(self, entry):
        self.seconds[entry["shape"], entry["peer"]] = entry["seconds"]
        if entry["subject"] == self.subject:
            key = (entry["factory"], entry["shape"], entry["peer"], entry["round"])
            self.cells[key] = entry["figures"]
            self.date = max(self.date, entry["date"])

    def add(self, key, figures, seconds):
        entry = dict(zip(("factory", "shape", "peer", "round"), key))
        entry.update(subject=self.subject, date=datetime.date.today().isoformat(),
                     seconds=round(seconds, 2), figures=figures)
        self.remember(entry)
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
