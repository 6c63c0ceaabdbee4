# SPDX-License-Identifier: Apache-2.0
"""Mutants that are made mechanically: of operators, conditions, calls and constants.

Each place of src/ and loop/ that can be broken has a rank, which depends only on the seed and on
the text around it. So a change elsewhere does not change the sample."""

import hashlib
import re
from dataclasses import dataclass

from mutant import Mutant, TOKEN

OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+": "-", "-": "+",
}  # fmt: skip

# Lines whose change no test could notice.
SILENT = re.compile(r"^\s*(assert|uvzk__log|\(void\))\b")

NUMBER = re.compile(r"\d+[uUlL]*$")


@dataclass
class Place(Mutant):
    """A mechanical mutant, with its position in the file."""

    start: int = 0
    end: int = 0
    new: str = ""

    def apply(self, source):
        return source[: self.start] + self.new + source[self.end :]


def blanked(source):
    """Returns the text with comments, strings and preprocessor lines replaced by blanks."""
    pattern = re.compile(
        r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
        re.S | re.M,
    )
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), source)


def functions(text):
    """Yields (name, start, end) of each function body. Its braces are at the beginning of
    lines."""
    head = re.compile(r"^\w[^;{}=]*?(\w+)\([^;{}]*\)\s*^\{", re.M)
    for found in head.finditer(text):
        end = re.compile(r"^\}", re.M).search(text, found.end())
        yield found.group(1), found.end(), end.start()


def is_binary(text, at):
    """Whether the + or - at this position is between two values."""
    before = text[:at].rstrip()
    word = re.search(r"\w+$", before)
    if word:
        return word.group() not in ("return", "case")
    return before.endswith((")", "]"))


def operators(text, start, end):
    for found in TOKEN.finditer(text, start, end):
        token = found.group()
        if token in "+-" and not is_binary(text, found.start()):
            continue
        if token in OPERATORS:
            yield found.start(), found.end(), OPERATORS[token]
        elif token == "!":
            yield found.start(), found.end(), ""
        elif NUMBER.match(token):
            suffix = token.lstrip("0123456789")
            value = int(token[: len(token) - len(suffix)])
            yield found.start(), found.end(), f"{value + 1}{suffix}"
            if value > 0:
                yield found.start(), found.end(), f"{value - 1}{suffix}"


def conditions(text, start, end):
    """Makes each condition of an if always true, and always false."""
    for found in re.finditer(r"\bif \(", text[start:end]):
        opening = at = start + found.end() - 1
        depth = 1
        while depth > 0:
            at += 1
            depth += {"(": 1, ")": -1}.get(text[at], 0)
        inner = text[opening + 1 : at]
        yield opening, at + 1, f"(1 || ({inner}))"
        yield opening, at + 1, f"(0 && ({inner}))"


def calls(text, start, end):
    """Removes statements that are only a call."""
    call = re.compile(r"(?<=[;{}])\s*?\n[ \t]+((?:[\w>.\-]+)\((?:[^;{}])*?\));")
    for found in call.finditer(text, start - 1, end):
        if not found.group(1).startswith(("return", "sizeof")):
            yield found.start(1), found.end(1), "(void)0"


def line_of(text, at):
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[begin:end]


def places_of(file, source):
    """Yields all mutants of one file, each with the text that identifies it."""
    text = blanked(source)
    # the same if the file moves to another folder
    name = file[: file.index("/")] + file[file.rindex("/") :]
    seen = {}
    for function, start, end in functions(text):
        for kind in (operators, conditions, calls):
            for at, stop, new in kind(text, start, end):
                if SILENT.match(line_of(text, at)):
                    continue
                line = line_of(source, at)
                what = (name, function, " ".join(line.split()), source[at:stop], new)
                seen[what] = seen.get(what, 0) + 1
                identity = repr((what, seen[what]))
                old = source[at:stop].split("\n")[0]
                yield identity, Place(
                    name="", file=file, function=function, start=at, end=stop, new=new,
                    why=f"{function}: `{line.strip()}`: {old} -> {new or 'nothing'}",
                    hunks=[(line, new)])  # fmt: skip


def sample(project, seed, count):
    """Returns the `count` mutants with the lowest ranks."""
    ranked = []
    for directory in ("src", "loop"):
        for path in sorted((project / directory).rglob("*.c")):
            file = str(path.relative_to(project))
            for identity, place in places_of(file, path.read_text()):
                rank = hashlib.sha256(f"{seed} {identity}".encode()).hexdigest()
                place.name = f"m{rank[:8]}"
                ranked.append((rank, place))
    ranked.sort(key=lambda pair: pair[0])
    return [place for _, place in ranked[:count]]
