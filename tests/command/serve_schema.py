# SPDX-License-Identifier: Apache-2.0
"""What docs/guide/serve.schema.json says of a line. Who has no jsonschema takes each line as right."""

import collections
import json
import pathlib

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA_FILE = pathlib.Path(__file__).resolve().parents[2] / "docs/guide/serve.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text())
DEFINITIONS = SCHEMA["$defs"]
# So many lines of the same fields are looked at: a test may send many thousands.
OF_A_SHAPE = 50


def closed(part):
    """The same, where no field is allowed that it does not name: the daemon sends no others."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    more = {"additionalProperties": False} if part.get("type") == "object" else {}
    return {**{name: closed(one) for name, one in part.items()}, **more}


CLOSED = closed(SCHEMA)
VALIDATORS = {}
seen = collections.Counter()


def wrong(line, *names):
    """What is wrong with the line by this definition, or None."""
    if jsonschema is None:
        return None
    if names not in VALIDATORS:
        where = "#/$defs/" + "/".join(names)
        VALIDATORS[names] = jsonschema.Draft202012Validator({**CLOSED, "oneOf": [{"$ref": where}]})
    for error in VALIDATORS[names].iter_errors(line):
        return f"{line}: {'; '.join(why.message for why in error.context) or error.message}"
    return None


def wrong_request(line):
    op = line.get("op")
    return wrong(line, "requests", op) if op in DEFINITIONS["requests"] else f"{line}: no such op"


def wrong_answer(line, op):
    return wrong(line, "answers", op) if line["ok"] else wrong(line, "refusal")


def wrong_event(line):
    return wrong(line, "events", line["event"]) if line["event"] in DEFINITIONS["events"] else f"{line}: no such event"


class Exchange:
    """The lines of one connection. An answer is that of the last request with its id."""

    def __init__(self):
        self.requests = {}

    def sent(self, text):
        for line in text.split(b"\n"):
            try:
                request = json.loads(line)
            except ValueError:
                continue  # a part of a line, or a wrong one on purpose
            if isinstance(request, dict) and isinstance(request.get("id"), int):
                self.requests[request["id"]] = request

    def wrong(self, line):
        """What is wrong with a line that the daemon has sent, or with the request that it has accepted."""
        if "event" in line:
            return self._first((line["event"], *sorted(line)), lambda: wrong_event(line))
        request = self.requests.get(line.get("id"))
        if request is None:
            return wrong(line, "refusal") if not line["ok"] else None
        op = request.get("op")
        shape = (op, line.get("error"), *sorted(line), *sorted(request))
        refused = line.get("error") == "SERVE_EREQUEST"
        return self._first(shape, lambda: wrong_answer(line, op) or (None if refused else wrong_request(request)))

    def _first(self, shape, look):
        seen[shape] += 1
        return look() if seen[shape] <= OF_A_SHAPE else None
