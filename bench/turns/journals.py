# SPDX-License-Identifier: Apache-2.0
"""The journals of the processes that share one lock (bench/journal.h): whether two ever held at
once, and how long a release takes until the next one holds."""

import pathlib
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Hold:
    granted: int
    released: int
    token: int
    holder: tuple  # the process and the task


def read(paths):
    """In the order of the grants. A last line may be cut off."""
    holds = []
    for process, path in enumerate(paths):
        for line in pathlib.Path(path).read_text().split("\n")[:-1]:
            task, token, granted, released = map(int, line.split())
            holds.append(Hold(granted, released, token, (process, task)))
    return sorted(holds)


def percentile(samples, part):
    return round(samples[int(part * (len(samples) - 1))] / 1000, 1)


def figures(holds, begins, ends):
    """Of the grants between these two moments; exclusion and order are of all."""
    pairs = list(zip(holds, holds[1:]))
    told = {"overlaps": sum(after.granted < before.released for before, after in pairs),
            "out_of_order": sum(0 < after.token <= before.token for before, after in pairs)}
    measured = [(before, after) for before, after in pairs if begins <= after.granted < ends]
    seconds = (ends - begins) / 1e9
    told |= {"cycles": len(measured), "seconds": round(seconds, 3),
             "cycles_per_s": round(len(measured) / seconds, 1)}  # fmt: skip
    changes = sorted(after.granted - before.released for before, after in measured
                     if before.holder != after.holder)  # fmt: skip
    if changes:
        told["handover_p50_us"] = percentile(changes, 0.5)
        told["handover_p99_us"] = percentile(changes, 0.99)
    if measured:
        told["to_another"] = round(len(changes) / len(measured), 4)
    return told


def self_check():
    one, other = (0, 0), (1, 0)
    holds = [Hold(0, 1000, 1, one), Hold(3000, 4000, 2, other), Hold(5000, 6000, 3, other),
             Hold(7000, 8000, 4, one)]  # fmt: skip
    told = figures(holds, 0, 10**6)
    assert told["cycles"] == 3 and told["overlaps"] == told["out_of_order"] == 0, told
    # The holder that took it again is no handover.
    assert told["handover_p50_us"] == 1.0 and told["to_another"] == 0.6667, told
    assert figures(holds, 6500, 7500)["cycles"] == 1
    assert figures([*holds, Hold(7500, 9000, 5, other)], 0, 10**6)["overlaps"] == 1
    assert figures([*holds, Hold(8500, 9000, 4, other)], 0, 10**6)["out_of_order"] == 1
    assert figures([Hold(0, 1, 0, one), Hold(2, 3, 0, one)], 0, 10**6)["out_of_order"] == 0
