# SPDX-License-Identifier: Apache-2.0
"""What a journal shows of the holds.

A hold is granted at the time of its "locked", or before. It lasted at least until the last moment at which its lock said
that it did ("holds"), or at which it wrote. So if one process had such a moment after another process was granted the
lock, both held at once, by one clock; and what is found is the least that there was."""

import dataclasses
import typing

import linearizability

NS_IN_MS = 1_000_000
PERMITS, TIMES = 2, 2  # of a semaphore; how often a reentrant mutex is acquired before it is released as often
ENDS = ("unlocking", "unlocked", "failed", "kill")
GONE = ("unlocked", "failed", "kill")
STRIKES = ("stop", "kill", "cut", "delay", "block", "late_write")  # those of one process
OTHERS = ("stop_waiter", "server_stop", "server_restart", "clock")
NOT_OWN = "not_own"  # of a hold that none of these has struck
TAKING = ("kill", "stop", "cut")  # after these the lock changes hands, if the holder loses it


@dataclasses.dataclass
class Hold:
    process: int
    granted: int
    last: int  # the latest moment at which it is known to have held
    asked: int = 0  # when the program was told to acquire it
    token: typing.Optional[int] = None
    released: typing.Optional[int] = None  # when its release had returned
    lost: typing.Optional[int] = None  # when it was told
    ended: typing.Optional[int] = None
    version: typing.Optional[int] = None  # of the set, that it has written
    faults: list = dataclasses.field(default_factory=list)  # (ns, kind)


class Reader:
    def __init__(self):
        self.holds, self.current, self.asked = [], {}, {}

    def read(self, at, process, word, words):
        if word == "asked":
            self.asked[process] = at
        elif word == "locked":
            token = int(words[0]) if words[0] != "-" else None
            self.current[process] = Hold(process, at, at, self.asked.get(process, at), token)
            self.holds.append(self.current[process])
        elif process in self.current:
            self.of_hold(self.current[process], at, word, words)

    def of_hold(self, hold, at, word, words):
        if word == "written":
            hold.version = int(words[0])
        elif word in ("lost", "gave_up") and hold.lost is None and hold.ended is None:
            hold.lost = at
        elif word in STRIKES and hold.ended is None:
            hold.faults.append((at, word))
        if word in ("holds", "write"):
            hold.last = max(hold.last, at)
        if word in ENDS and hold.ended is None:
            hold.ended = at
        if word in GONE:
            hold.released = at if word == "unlocked" and hold.lost is None else None
            del self.current[hold.process]


def of_journal(journal):
    """The holds, in the order of their grants."""
    reader = Reader()
    for entry in journal:
        reader.read(*entry)
    return sorted(reader.holds, key=lambda hold: hold.granted)


def double(holds):
    """(earlier hold, later hold, ns) of each two of different processes that held at once."""
    found, open_ones = [], []
    for hold in holds:
        open_ones = [one for one in open_ones if one.last > hold.granted]
        for one in open_ones:
            if one.process != hold.process:
                found.append((one, hold, min(one.last, hold.last) - hold.granted))
        open_ones.append(hold)
    return found


def next_of_another(holds, hold, after):
    return next((one for one in holds if one.granted > after and one.process != hold.process), None)


def margins(holds):
    """(fault, ns) of each hold that was taken over: how long before the next grant to another it was told that it is
    lost; less than 0: after it. None in the place of ns: it was never told, though it held too long."""
    doubled = {id(one): next_one.granted for one, next_one, _ in reversed(double(holds))}
    found = []
    for hold in holds:
        kind = hold.faults[0][1] if hold.faults else NOT_OWN
        if hold.lost is not None:
            then = next_of_another(holds, hold, hold.granted)
            if then is not None:
                found.append((kind, then.granted - hold.lost))
        elif id(hold) in doubled:
            found.append((kind, None))
    return found


def recoveries(holds):
    """{fault: [ns]}: how long after the fault of a holder another process was granted the lock, if the holder did not
    release it before that."""
    found = {kind: [] for kind in TAKING}
    for hold in holds:
        for at, kind in hold.faults:
            then = next_of_another(holds, hold, at)
            released = kind != "kill" and hold.lost is None and hold.ended is not None and then and hold.ended < then.granted
            if kind in TAKING and then is not None and not released:
                found[kind].append(then.granted - at)
    return found


def faults_of_losses(journal, lost):
    """{fault: how many of these writes, each lost by another one, it has cost}: that of the earlier one of the two holds, which
    was held too long."""
    by_version = {hold.version: hold for hold in of_journal(journal) if hold.version is not None}
    found = []
    for one, other in lost:
        two = [by_version[version] for version in (one, other) if version in by_version]
        if len(two) < 2:  # what was written was heard after its process had been killed
            found.append("kill")
            continue
        earlier = min(two, key=lambda hold: hold.granted)
        found.append(earlier.faults[0][1] if earlier.faults else NOT_OWN)
    return count(found)


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else None


def ms(values):
    return sorted(round(value / NS_IN_MS, 1) for value in values)


def models_for(holds, model):
    """{name: model} of those that must explain the holds of such a lock."""
    if model == "semaphore":
        return {model: linearizability.Semaphore(PERMITS)}
    if model == "reentrant mutex":
        return {model: linearizability.ReentrantMutex(TIMES)}
    fenced = holds and all(hold.token is not None for hold in holds)
    return {"mutex": linearizability.Mutex(), **({"fenced mutex": linearizability.FencedMutex()} if fenced else {})}


def explained(holds, model):
    """{model: whether it explains all of them}"""
    operations = linearizability.of_holds(holds, TIMES if model == "reentrant mutex" else 1)
    return {name: linearizability.unexplained(one, operations) is None for name, one in models_for(holds, model).items()}


def figures(journal, model="mutex"):
    """What a result keeps: lists of ms, so that those of several runs can be put together. Of a semaphore, whose holds are
    at once, there are none."""
    holds = of_journal(journal)
    of_one = [] if model == "semaphore" else holds
    told = margins(of_one)
    return {
        "holds": len(holds),
        "double_ms": ms(length for _, _, length in double(of_one)),
        "told_ms": ms(margin for _, margin in told if margin is not None),
        "told_of_cut_ms": ms(margin for kind, margin in told if kind == "cut" and margin is not None),
        "not_told": sum(margin is None for _, margin in told),
        "without_holder_ms": {kind: ms(found) for kind, found in recoveries(of_one).items()},
        "explained": explained(holds, model),
        "faults": count(word for _, _, word, _ in journal if word in (*STRIKES, *OTHERS)),
    }


def count(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return dict(sorted(found.items()))
