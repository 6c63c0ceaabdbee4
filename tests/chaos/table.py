# SPDX-License-Identifier: Apache-2.0
"""The result of a run: a table for people, and a line for a file that keeps all runs."""

import csv
import statistics
from pathlib import Path

from hold_checks import BY_HAND, STALE, THEIRS, VIOLATION
from journal import CURATOR, KAZOO, OURS

COLUMNS = ("recipe", "minutes", "servers", "observers", "clients", "curators", "kazoos", "seed",
           "faults", "by_kind", "grants_ours", "grants_others", "recovery_median_ms",
           "recovery_worst_ms", "bound_ms", "overlaps_ours", "stale_others", "theirs", "by_hand",
           "orphans", "diverged", "brought_back", "stalls_ours", "stalls_others", "tokens_fallen",
           "violations")


def kinds(faults):
    counted = {}
    for fault in faults:
        counted[fault.kind] = counted.get(fault.kind, 0) + 1
    return counted


def in_words(counted):
    return " ".join("%s:%d" % item for item in sorted(counted.items()))


def grants(records, *makers):
    return sum(count for (_, maker), count in records.grants.items() if maker in makers)


def recoveries(faults, lock=None):
    return sorted(ms for fault in faults for name, ms in fault.recovery_ms.items()
                  if lock in (None, name))


def slow_by_cause(faults):
    """Returns, for each cause that slow recoveries mostly waited for, their times in ms."""
    found = {}
    for fault in faults:
        for name, delay in fault.slow.items():
            found.setdefault(delay.main_cause(), []).append(fault.recovery_ms[name])
    return found


def row(world, watch, minutes, bound_ms):
    records, options = world.records, world.options
    took = recoveries(world.faults)
    return dict(zip(COLUMNS, (
        " ".join(options.recipe), "%.1f" % minutes, options.servers, options.observers,
        options.clients, options.curators, options.kazoos, options.seed, len(world.faults),
        in_words(kinds(world.faults)), grants(records, OURS), grants(records, CURATOR, KAZOO),
        "%.0f" % statistics.median(took) if took else "", "%.0f" % took[-1] if took else "",
        "%.0f" % bound_ms, records.overlaps_of(VIOLATION), records.overlaps_of(STALE),
        records.overlaps_of(THEIRS), records.overlaps_of(BY_HAND),
        sum(not suspect.diverged() for suspect in watch.orphans.found) - watch.brought_back,
        len(watch.diverged), watch.brought_back,
        sum(blame == OURS for _, _, blame in watch.stalls),
        sum(blame != OURS for _, _, blame in watch.stalls), len(records.falls),
        len(watch.violations))))


def show(world, line):
    """Prints the table."""
    records = world.records
    print("\n%-20s %8s %8s %7s %9s %9s" % ("lock", "ours", "Curator", "kazoo",
                                           "median ms", "worst ms"))
    for lock in world.locks:
        took = recoveries(world.faults, lock.name)
        counts = [records.grants.get((lock.name, maker), 0) for maker in (OURS, CURATOR, KAZOO)]
        print("%-20s %8d %8d %7d %9s %9s" % (
            lock.name, *counts, "%.0f" % statistics.median(took) if took else "-",
            "%.0f" % took[-1] if took else "-"))
    for why, took in sorted(slow_by_cause(world.faults).items(), key=lambda item: -len(item[1])):
        print("slow, %s: %d, worst %.0f ms" % (why, len(took), max(took)))
    print("lost: %s" % in_words(records.lost))
    print("refused: %s" % in_words(records.journal.refusals))
    for name in COLUMNS:
        print("%-20s %s" % (name, line[name]))


def append(path: Path, line):
    new = not path.exists()
    with open(path, "a", newline="", encoding="ascii") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(line)
