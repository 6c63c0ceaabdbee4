# SPDX-License-Identifier: Apache-2.0
"""Which pictures there are of a report, and what each shows."""

import beside
import markdown
import plot
import reported
import shapes

# For a light page, for a dark one.
COLOURS = {
    "native": ("#0b57d0", "#6cb0ff"), "uvzk": ("#0f7b6c", "#4fd1b5"), "raw": ("#6e7781", "#9aa4ae"),
    "curator": ("#c2410c", "#fb923c"), "kazoo": ("#4d7c0f", "#a3d65c"),
    "etcd": ("#7e22ce", "#c99bff"), "redlock": ("#b91c1c", "#ff8a80"),
    "redis-semaphore": ("#be185d", "#ff8fc7"), "redisson": ("#854d0e", "#d9b36c"),
}  # fmt: skip
NAMES = {"native": "uvzk, native", "uvzk": "uvzk, C client", "raw": "bare C client",
         "curator": "Curator", "kazoo": "kazoo", "etcd": "etcd", "redlock": "redlock",
         "redis-semaphore": "redis-semaphore", "redisson": "Redisson"}  # fmt: skip
# How the columns of the tables are called, of those that are not as in NAMES.
OF_TURNS = {"native": "native", "uvzk": "uvzk", "raw": "raw", "curator": "Curator", "kazoo": "kazoo"}
RATES = "acquires and releases a second"


def over(table, chosen, columns, across="tasks"):
    """{program: [(number, figure)]}, of the shapes that it was measured at."""
    series = {}
    for name, column in columns.items():
        points = [(getattr(shape, across), table.of(shape.title, column)) for shape in chosen]
        series[name] = [(x, of) for x, of in points if of is not None and of.least > 0]
    return series


def mutexes(keep):
    return [shape for shape in shapes.SHAPES if shape.recipe == "mutex" and not shape.hold
            and shape.kind == shapes.CYCLES and keep(shape)]  # fmt: skip


def at_one_path(shape):
    return shape.paths == 1 and shape.sessions == shape.processes == 1


def of_turns(name, tables):
    """Of --quick and --full, on one kind of connections."""
    rates = tables[RATES]
    groups = (
        ("Mutexes of their own", "tasks", lambda s: s.paths == s.tasks and s.sessions == 1),
        ("One mutex, one session", "tasks", lambda s: at_one_path(s) and s.tasks > 1),
        ("One mutex, ten sessions", "tasks", lambda s: s.paths == 1 and s.sessions == 10),
    )
    panels = [plot.Lines(f"{title}: {RATES}", across, over(rates, mutexes(keep), OF_TURNS))
              for title, across, keep in groups]  # fmt: skip
    return plot.picture(f"uvzk and others on {name}", panels, NAMES, COLOURS, ("raw",))


def of_beside(tables):
    """Of --peers, in memory or durable."""
    columns = {name: beside.NAMES[name] for name in COLOURS}
    locks = {name: column for name, column in columns.items() if name != "raw"}
    rates = tables["grants a second"]
    one = mutexes(lambda s: s.beside and s.paths == 1 and s.sessions == s.processes == 1)
    many = mutexes(lambda s: s.beside and s.processes > 1)
    middle, most = (tables[f"µs from a release to the next holder, {part}"] for part in ("p50", "p99"))
    held = next(s.title for s in shapes.SHAPES if s.hold and s.beside and s.processes == 1)
    spans = {name: (middle.of(held, column), most.of(held, column)) for name, column in columns.items()}
    panels = [
        plot.Lines("One lock, tasks of one process: grants a second", "tasks", over(rates, one, locks)),
        plot.Lines("One lock, tasks of ten processes: grants a second", "tasks", over(rates, many, locks)),
        plot.Spans("From a release to the next of ten holders: p50 to p99", "µs", spans),
    ]  # fmt: skip
    return plot.picture("uvzk beside Curator, kazoo, etcd and Redis", panels, NAMES, COLOURS, ("raw",))


def name_of(heading):
    """The file of the picture of a section."""
    for kind, title in markdown.NAME.items():
        if heading == title:
            return f"performance-{kind}.svg"
    for kind, title in beside.TITLES.items():
        if heading == title:
            return f"beside-{kind}.svg"
    return None


def drawn(lines):
    """{file: SVG}, of a report."""
    told = {}
    for heading, tables in reported.sections(lines).items():
        file = name_of(heading)
        if file is not None:
            told[file] = (of_beside(tables) if heading in beside.TITLES.values()
                          else of_turns(heading, tables))
    return told
