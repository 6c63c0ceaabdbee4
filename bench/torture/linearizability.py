# SPDX-License-Identifier: Apache-2.0
"""Whether a journal of acquires and releases is one that a lock could have: whether each took effect at one moment between its
call and its return, in an order that the model allows (linearizability). The models are those of Hazelcast's tests of its CP
subsystem: a mutex, a reentrant mutex, a fenced mutex, a semaphore.

The search goes through the calls and returns by time, as Wing and Gong's, and keeps configurations: a state of the model, and
which of the open operations have taken effect in it. When an operation returns, configurations in which it has not are
extended by open operations, or dropped. If none is left, there is no explanation for that operation.

The release of a hold may take effect at any moment after the last one at which the holder is known to have held; that of a hold
that was lost also never."""

import dataclasses
import typing

NEVER = float("inf")
CALL, RETURN = 0, 1


@dataclasses.dataclass(frozen=True)
class Operation:
    process: int
    kind: str  # acquire, release
    called: float
    returned: float  # NEVER: it may have taken effect, or not
    token: typing.Optional[int] = None


class NotPossible(Exception):
    """In this state of the model."""


# A model has a first state, and step(), which returns the next one.


class Semaphore:
    first = ()  # the holders, in order, each as often as it holds

    def __init__(self, permits):
        self.permits = permits

    def step(self, holders, operation):
        if operation.kind == "acquire":
            return self.acquired(holders, operation)
        if operation.process not in holders:
            raise NotPossible
        at = holders.index(operation.process)
        return holders[:at] + holders[at + 1:]

    def acquired(self, holders, operation):
        if len(holders) == self.permits:
            raise NotPossible
        return tuple(sorted((*holders, operation.process)))


class Mutex(Semaphore):
    def __init__(self):
        super().__init__(1)


class ReentrantMutex(Semaphore):
    """The permits are how often its holder may hold it."""

    def acquired(self, holders, operation):
        if holders and holders[0] != operation.process:
            raise NotPossible
        return super().acquired(holders, operation)


class FencedMutex:
    """Its tokens rise."""

    first = (None, 0)  # the holder, the latest token

    def step(self, state, operation):
        holder, latest = state
        if operation.kind == "release":
            if holder != operation.process:
                raise NotPossible
            return None, latest
        if holder is not None or operation.token <= latest:
            raise NotPossible
        return operation.process, operation.token


def extended(model, configurations, wanted, pending):
    """All configurations in which the wanted operation has taken effect."""
    found, todo, seen = set(), list(configurations), set(configurations)
    while todo:
        state, done = todo.pop()
        if wanted in done:
            found.add((state, done - {wanted}))
            continue
        for number, operation in pending.items():
            if number in done:
                continue
            try:
                one = model.step(state, operation), done | {number}
            except NotPossible:
                continue
            if one not in seen:
                seen.add(one)
                todo.append(one)
    return found


def unexplained(model, operations):
    """The first operation for which there is no explanation; None: all is as it may be."""
    moments = []
    for number, operation in enumerate(operations):
        moments.append((operation.called, CALL, number))
        if operation.returned != NEVER:
            moments.append((operation.returned, RETURN, number))
    configurations, pending = {(model.first, frozenset())}, {}
    for _, what, number in sorted(moments):
        if what == CALL:
            pending[number] = operations[number]
            continue
        configurations = extended(model, configurations, number, pending)
        if not configurations:
            return operations[number]
        del pending[number]
        forget(configurations, pending)
    return None


def forget(configurations, pending):
    """Operations without a return that have taken effect in all configurations need not be kept."""
    everywhere = frozenset.intersection(*(done for _, done in configurations))
    for number in everywhere:
        if pending[number].returned == NEVER:
            del pending[number]
    without = {(state, done - everywhere | {number for number in done & everywhere if number in pending})
               for state, done in configurations}  # fmt: skip
    configurations.clear()
    configurations.update(without)


def of_holds(holds, times=1):
    """The operations of a run's holds (holds.py), each of which acquires and releases so often. A hold may have been over since
    the last moment at which it is known to have held, whenever its holder called the release: it may have been late, after a
    pause."""
    operations = []
    for hold in holds:
        end = NEVER if hold.released is None else hold.released
        operations += [Operation(hold.process, "acquire", hold.asked, hold.granted, hold.token)] * times
        operations += [Operation(hold.process, "release", hold.last, end)] * times
    return operations
