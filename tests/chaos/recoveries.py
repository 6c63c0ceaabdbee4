#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes each recovery of a run as a line of a file (chaos.py --recoveries), and makes tables of
the recoveries of many runs:

    tests/chaos/recoveries.py recoveries.csv    prints tables in Markdown: the recoveries by
                                                recipe, and the causes of the slow ones"""

import csv
import statistics
import sys
from pathlib import Path

import clock

COLUMNS = ("seed", "servers", "curators", "session_ms", "recipe", "lock", "fault", "ms", "cause",
           "diverged")
SLOW_MS = 1000


def rows(world, watch):
    """Yields a row for each recovery. Without `ms`, no client was granted the lock within the
    bound, and the cause is who is to blame. `diverged`: servers had lost something by the end of
    the run."""
    options, recipes = world.options, {lock.name: lock.recipe for lock in world.locks}
    diverged = int(bool(watch.diverged or watch.brought_back))
    for fault in world.faults:
        for name in [*fault.recovery_ms, *fault.stalled]:
            ms = fault.recovery_ms.get(name)
            cause = fault.stalled.get(name, "")
            if name in fault.slow:
                cause = fault.slow[name].main_cause()
            elif ms and ms > SLOW_MS and 2 * (fault.until - fault.undone) / clock.MS > ms:
                cause = "servers: do not all serve yet"
            yield dict(zip(COLUMNS, (
                options.seed, options.servers, options.curators, options.session_ms,
                recipes[name], name, fault.kind, "" if ms is None else "%.1f" % ms, cause,
                diverged)))


def append(path: Path, lines):
    new = not path.exists()
    with open(path, "a", newline="", encoding="ascii") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerows(lines)


def by_recipe(lines):
    """Yields recipe, count, median, 99th percentile, worst, number of slow ones, number of ones
    beyond the bound."""
    for recipe in sorted({line["recipe"] for line in lines}):
        mine = [line for line in lines if line["recipe"] == recipe]
        took = sorted(float(line["ms"]) for line in mine if line["ms"])
        if took:
            yield (recipe, len(mine), statistics.median(took), took[len(took) * 99 // 100],
                   took[-1], sum(ms > SLOW_MS for ms in took),
                   sum(not line["ms"] for line in mine))


def slow_by_cause(lines):
    """Yields cause, count, worst, and the faults before, the most frequent cause first."""
    found = {}
    for line in lines:
        if line["ms"] and float(line["ms"]) > SLOW_MS:
            found.setdefault(line["cause"] or "not looked at", []).append(line)
    for cause, mine in sorted(found.items(), key=lambda item: -len(item[1])):
        kinds = [line["fault"] for line in mine]
        often = sorted(set(kinds), key=lambda kind: (-kinds.count(kind), kind))
        yield (cause, len(mine), max(float(line["ms"]) for line in mine),
               ", ".join("%s %d" % (kind, kinds.count(kind)) for kind in often[:4]))


def show(lines):
    print("| recipe | recoveries | median ms | 99 % ms | worst ms | over 1 s | beyond the bound |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for recipe, count, median, most, worst, slow, stalled in by_recipe(lines):
        print("| %s | %d | %.0f | %.0f | %.0f | %d | %d |" % (
            recipe, count, median, most, worst, slow, stalled))
    print("\n| what stood first meanwhile | slow recoveries | worst ms | after |")
    print("| --- | --- | --- | --- |")
    for cause, count, worst, after in slow_by_cause(lines):
        print("| %s | %d | %.0f | %s |" % (cause, count, worst, after))


def main(paths):
    lines = []
    for path in paths:
        with open(path, newline="", encoding="ascii") as file:
            lines += csv.DictReader(file)
    sound = [line for line in lines if line["diverged"] == "0"]
    print("Servers that have lost nothing: %d runs\n" % len({line["seed"] for line in sound}))
    show(sound)
    others = [line for line in lines if line["diverged"] != "0"]
    if others:
        print("\nServers that have diverged or rolled back: %d runs\n" % len(
            {line["seed"] for line in others}))
        show(others)


if __name__ == "__main__":
    main(sys.argv[1:])
