"""A mutant, which is one small breakage of the library, and the mutants of by_hand/."""

import hashlib
import pathlib
import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"\w+|->|[-+&|=<>!]=|&&|\|\||\+\+|--|<<|>>|\S")


class DoesNotApply(Exception):
    """The text that a mutant replaces does not occur, or occurs more than once."""


@dataclass
class Mutant:
    name: str
    file: str  # relative to the project's directory
    why: str = ""
    # The function in which the old text must occur exactly once; "": the file.
    function: str = ""
    noticed_by: str = ""  # the test that noticed it last time; "": not known
    hunks: list = field(default_factory=list)  # of (old, new)

    def apply(self, source):
        """Returns the text `source` of the file with the mutant in it."""
        for old, new in self.hunks:
            start, end = find(source, old, self.function)
            source = source[:start] + new + source[end:]
        return source

    def key(self):
        """Identifies the mutant until its text is changed."""
        text = repr((self.file, self.function, self.hunks))
        return self.name + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]


def span_of_function(source, name):
    """Returns where the function begins, and where the brace at the beginning of a line ends
    it."""
    definition = re.compile(r"^\w[^;{}]*\b%s\([^;{}]*\)\s*\{" % re.escape(name), re.M)
    found = definition.search(source)
    end = re.compile(r"^\}", re.M).search(source, found.end()) if found else None
    if end is None:
        raise DoesNotApply(f"no function {name}")
    return found.start(), end.end()


def find(source, old, function):
    """Returns where `old` occurs, whatever its line breaks are."""
    start, end = span_of_function(source, function) if function else (0, len(source))
    tokens = TOKEN.findall(old)
    pattern = r"\s*".join(re.escape(token) for token in tokens)
    if tokens[0][0].isalnum() or tokens[0][0] == "_":
        pattern = r"\b" + pattern
    places = [found.span() for found in re.finditer(pattern, source[start:end])]
    if len(places) != 1:
        raise DoesNotApply(f"found {len(places)} times: {old.strip()}")
    return start + places[0][0], start + places[0][1]


def parse(text, where):
    """Returns the mutants of one file of by_hand/. README.md describes the format."""
    mutants = []
    in_new = True
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        mark, _, rest = line.partition(" ")
        if mark == "mutant:":
            mutants.append(Mutant(name=rest.strip(), file=""))
        elif not mutants:
            raise SystemExit(f"{where}:{number}: no mutant has been named yet")
        elif mark == "file:":
            mutants[-1].file = rest.strip()
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
