# SPDX-License-Identifier: Apache-2.0
"""The file `transcript`: what a program and the daemon say to each other, in sections that begin with "== name".

    > a request of the program
    < an answer or an event of the daemon
    * what others do meanwhile: a request of another program, "delete PATH" (its znodes, by hand), or "SIGTERM" to the daemon

A number that the daemon has chosen, a name and a time stand for any other."""

import json

# Whether they are there, and their types, are the same in every run.
VARIABLE = {
    "token", "valid_until_ms", "valid_for_ms", "ends_at_ms", "created_ms", "held_ms", "longest_wait_ms", "mzxid", "session",
    "pid", "hold", "watch", "object", "node", "uvzk", "text", "connections", "holds", "waiting", "watches", "objects",
}  # fmt: skip
NAMES = {"nodes", "holders", "waiters"}  # lists of znodes
# A program may send these or leave them out.
DEFAULTS = {("acquire", "lock"): "mutex", ("participants", "lock"): "mutex", ("watch", "lock"): "mutex",
            ("elect", "lock"): "latch", ("leader", "lock"): "latch", ("acquire", "queued"): False,
            ("acquire", "revocable"): False, ("acquire_all", "in_turn"): False, ("persistent_node", "persistent"): False,
            ("shared_value", "data"): "", ("shared_count", "count"): 0, ("hello", "version"): 1}  # fmt: skip


def sections(text):
    """The name of each section, and its lines as (sign, object or words)."""
    found = {}
    for line in text.splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:], [])
        elif line[:2] in ("> ", "< ", "* "):
            lines.append((line[0], json.loads(line[2:]) if line[2] == "{" else line[2:]))
        elif line and not line.startswith("#"):
            raise ValueError(f"no line of a transcript: {line}")
    return found


def plain(value, name=""):
    """A line of the daemon without what differs from run to run."""
    if name in NAMES and isinstance(value, list):
        return len(value)
    if name == "features":
        return sorted(value)
    if name in VARIABLE and not isinstance(value, (bool, dict, list)):
        return type(value).__name__
    if isinstance(value, dict):
        return {key: plain(one, key) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def request(line):
    """What a request says, whatever its id and the order of its fields are."""
    op = line.get("op")
    line = {name: value for name, value in line.items() if name != "id" and DEFAULTS.get((op, name), line) != value}
    if "members" in line:
        line["members"] = [{k: v for k, v in one.items() if (k, v) != ("lock", "mutex")} for one in line["members"]]
    return line

