#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker of linearizability is checked: with histories that are wrong, and with some that only look so."""

import itertools
import random
import sys

sys.dont_write_bytecode = True
from linearizability import (FencedMutex, Mutex, NEVER, NotPossible, Operation, ReentrantMutex, Semaphore,
                             unexplained)  # fmt: skip


def history(*lines):
    """Of "PROCESS acquire|release CALLED RETURNED [TOKEN]"; "-": never."""
    found = []
    for line in lines:
        process, kind, called, returned, *token = line.split()
        found.append(Operation(int(process), kind, float(called), NEVER if returned == "-" else float(returned),
                               int(token[0]) if token else None))  # fmt: skip
    return found


def right(model, *lines):
    found = unexplained(model, history(*lines))
    assert found is None, found


def wrong(model, at, *lines):
    operations = history(*lines)
    found = unexplained(model, operations)
    assert found == operations[at], f"{found}, not {operations[at]}"


def case_mutex():
    right(Mutex(), "1 acquire 0 1", "1 release 2 3", "2 acquire 0 4")
    wrong(Mutex(), 1, "1 acquire 0 1", "2 acquire 0 2", "1 release 3 4")
    # The release is under way when the next one is granted, which may be before its reply.
    right(Mutex(), "1 acquire 0 1", "1 release 2 9", "2 acquire 3 4", "2 release 5 6")
    wrong(Mutex(), 0, "1 release 0 1")


def case_lost_hold():
    right(Mutex(), "1 acquire 0 1", "1 release 2 -", "2 acquire 1 3", "2 release 4 -", "3 acquire 0 9")
    # It held at 5, when another one had been granted the lock.
    wrong(Mutex(), 2, "1 acquire 0 1", "1 release 5 -", "2 acquire 1 3")
    # A release that nobody has called takes effect once.
    wrong(Mutex(), 3, "1 acquire 0 1", "1 release 2 -", "2 acquire 3 4", "3 acquire 5 6")


def case_reentrant():
    right(ReentrantMutex(2), "1 acquire 0 1", "1 acquire 2 3", "1 release 4 5", "1 release 6 7", "2 acquire 0 8")
    wrong(ReentrantMutex(2), 3, "1 acquire 0 1", "1 acquire 2 3", "1 release 4 5", "2 acquire 6 7")
    wrong(ReentrantMutex(2), 2, "1 acquire 0 1", "1 acquire 2 3", "1 acquire 4 5")


def case_fenced():
    right(FencedMutex(), "1 acquire 0 1 5", "1 release 2 3", "2 acquire 0 4 6")
    wrong(FencedMutex(), 2, "1 acquire 0 1 5", "1 release 2 3", "2 acquire 0 4 5")
    wrong(FencedMutex(), 1, "1 acquire 0 1 5", "2 acquire 0 4 6")


def case_semaphore():
    right(Semaphore(2), "1 acquire 0 1", "2 acquire 0 2", "1 release 3 4", "3 acquire 0 5")
    wrong(Semaphore(2), 2, "1 acquire 0 1", "2 acquire 0 2", "3 acquire 0 5", "1 release 6 7")
    right(Semaphore(2), "1 acquire 0 1", "1 acquire 1.5 2", "1 release 3 -", "3 acquire 0 5")


def explained_by_trying(model, operations):
    """By all orders: slow, and without an idea that could be wrong."""
    for chosen in itertools.chain.from_iterable(
            itertools.permutations(operations, size) for size in range(len(operations) + 1)):  # fmt: skip
        if any(operation not in chosen for operation in operations if operation.returned != NEVER):
            continue
        if any(later.returned < earlier.called for at, later in enumerate(chosen) for earlier in chosen[:at]):
            continue
        state = model.first
        try:
            for operation in chosen:
                state = model.step(state, operation)
            return True
        except NotPossible:
            pass
    return False


def random_history(chance, processes=3):
    """Of processes that acquire and release in turn, at moments that fit together or do not."""
    operations = []
    for process in range(processes):
        at, token = chance.random() * 3, None
        for kind in ("acquire", "release")[:chance.choice((1, 2, 2))]:
            called = at
            at += chance.random() * 3
            returned = NEVER if kind == "release" and chance.random() < 0.3 else at
            token = chance.randrange(1, 5) if kind == "acquire" else None
            operations.append(Operation(process, kind, called, returned, token))
            at += chance.random()
    return operations


def case_as_by_trying():
    chance, counts = random.Random(1), {True: 0, False: 0}
    for _ in range(150):
        operations = random_history(chance)
        for model in (Mutex(), FencedMutex(), Semaphore(2), ReentrantMutex(2)):
            explained = unexplained(model, operations) is None
            assert explained == explained_by_trying(model, operations), (model, operations)
            counts[explained] += 1
    assert min(counts.values()) > 50, counts


for name, case in list(globals().items()):
    if name.startswith("case_"):
        case()
