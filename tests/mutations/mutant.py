# SPDX-License-Identifier: Apache-2.0
"""A mutant, which is one small breakage of the library, and the mutants of by_hand/.

A mutant of by_hand/ names a function and a text in it, and not a file, so that it still applies
when a file is renamed or a function moves to another file."""

import hashlib
import pathlib
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"\w+|->|[-+&|=<>!]=|&&|\|\||\+\+|--|<<|>>|\S")


class DoesNotApply(Exception):
    """The text that a mutant replaces does not occur, or occurs more than once."""


def sources_of(project):
    """Returns {file, relative to `project`: its text} of all that a mutant may break."""
    paths = [path for directory in ("src", "loop") for path in (project / directory).rglob("*.[ch]")]
    return {str(path.relative_to(project)): path.read_text() for path in sorted(paths)}


@dataclass
class Mutant:
    name: str
    file: str = ""  # relative to the project's directory; "": not located yet
    why: str = ""
    # The function in which the old text must occur exactly once; "": anywhere.
    function: str = ""
    only_in: str = ""  # the end of the file's path, if the function is not enough; "": any file
    noticed_by: str = ""  # the test that noticed it last time; "": not known
    hunks: list = field(default_factory=list)  # of (old, new)

    def locate(self, sources):
        """Finds the one file of `sources` in which the mutant applies."""
        end = "/" + self.only_in if self.only_in else ""
        files = [file for file, source in sources.items()
                 if ("/" + file).endswith(end) and self.occurs(source)]  # fmt: skip
        if len(files) != 1:
            where = f" in {self.function}" if self.function else ""
            found = ", ".join(files) or "no file"
            raise DoesNotApply(f"found in {found}{where}: {self.hunks[0][0].strip()}")
        self.file = files[0]
        self.apply(sources[self.file])

    def occurs(self, source):
        """Whether each old text occurs at least once."""
        return all(places(source, old, self.function) for old, _ in self.hunks)

    def apply(self, source):
        """Returns the text `source` of the file with the mutant in it."""
        for old, new in self.hunks:
            found = places(source, old, self.function)
            if len(found) != 1:
                raise DoesNotApply(f"found {len(found)} times: {old.strip()}")
            start, end = found[0]
            source = source[:start] + new + source[end:]
        return source

    def key(self):
        """Identifies the mutant until its text is changed."""
        text = repr((self.function, self.hunks))
        return self.name + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]


def span_of_function(source, name):
    """Returns where the function begins, and where the brace at the beginning of a line ends
    it; None if the file does not define it."""
    if f"{name}(" not in source:
        return None
    definition = re.compile(r"^\w[^;{}]*\b%s\([^;{}]*\)\s*\{" % re.escape(name), re.M)
    found = definition.search(source)
    end = re.compile(r"^\}", re.M).search(source, found.end()) if found else None
    return (found.start(), end.end()) if end else None


def places(source, old, function):
    """Returns where `old` occurs in the function, whatever its line breaks are."""
    span = span_of_function(source, function) if function else (0, len(source))
    if span is None:
        return []
    tokens = TOKEN.findall(old)
    pattern = r"\s*".join(re.escape(token) for token in tokens)
    if tokens[0][0].isalnum() or tokens[0][0] == "_":
        pattern = r"\b" + pattern
    return [found.span() for found in re.compile(pattern).finditer(source, *span)]


def parse(text, where):
    """Returns the mutants of one file of by_hand/. README.md describes the format."""
    mutants = []
    in_new = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        mark, _, rest = line.partition(" ")
        if mark == "mutant:":
            mutants.append(Mutant(name=rest.strip()))
        elif not mutants:
            raise SystemExit(f"{where}:{number}: no mutant has been named yet")
        elif mark == "file:":
            mutants[-1].only_in = rest.strip()
        elif mark == "in:":
            mutants[-1].function = rest.strip()
        elif mark == "why:":
            mutants[-1].why = rest.strip()
        elif mark in ("-", "+"):
            hunks = mutants[-1].hunks
            if mark == "-" and (in_new or not hunks):
                hunks.append(("", ""))
            old, new = hunks[-1]
            hunks[-1] = (old + rest + "\n", new) if mark == "-" else (old, new + rest + "\n")
            in_new = mark == "+"
            continue
        else:
            raise SystemExit(f"{where}:{number}: what is this? {line}")
        in_new = True
    return mutants


NOTICED = pathlib.Path(__file__).parent / "noticed"


def noticed():
    """Returns {mutant: the test that noticed it}."""
    lines = NOTICED.read_text().splitlines() if NOTICED.exists() else []
    return dict(line.split() for line in lines)


def write_noticed(tests):
    NOTICED.write_text("".join(f"{name} {test}\n" for name, test in sorted(tests.items())))


def by_hand():
    """Returns all mutants of by_hand/, in the order of the files' names."""
    directory = pathlib.Path(__file__).parent / "by_hand"
    mutants = []
    for path in sorted(directory.glob("*.mutants")):
        mutants += parse(path.read_text(), path.name)
    names = [mutant.name for mutant in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"two mutants have one name: {', '.join(sorted(twice))}")
    known = noticed()
    for mutant in mutants:
        mutant.noticed_by = known.get(mutant.name, "")
    return mutants
