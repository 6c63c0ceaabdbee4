# SPDX-License-Identifier: Apache-2.0
"""The report of bench/run --peers: uvzk beside what else people lock with."""

import shapes
from markdown import checks, median, number, others_took, shown, table, with_spread
from peers import PEERS

TITLES = {
    "memory": "In memory: one server, which writes nothing to a disk",
    "durable": "Durable: three servers, each calls fsync before it answers a write",
}
NAMES = PEERS | {"uvzk": "uvzk", "native": "uvzk, native", "raw": "bare C client",
                 "redlock": "redlock", "redis-semaphore": "redis-semaphore",
                 "redisson": "Redisson"}  # fmt: skip

HOW = """Each program is written as its library's documentation says. uvzk, Curator and kazoo lock on ZooKeeper. etcd: etcd's client \
for Go, a `concurrency.Mutex`; tasks that share a lock have a session each. A watch of \
etcd that begins behind the store's revision is brought up to date only every 100 ms (`syncWatchersLoop`), and then the next holder waits for that. Redis has no lock that waits, so each library of its clients has \
a way of its own. One C program plays these over hiredis: the lock is `SET key value NX PX`, the release a script that deletes the key if it has \
the value. redlock (npm, 4.2) tries again after 200 ms, give or take up to 100; redis-semaphore (npm, 5.8) after 10 ms; Redisson \
(`RLock`) waits for a message that the release publishes. None of these three grants in the order of the acquires: the task that has just released a lock \
takes it again most often, so a rate of grants says nothing of how long a waiter waits: the table of the grants to another, and the last one, do. \
With holds of 1 ms a task of theirs asks again only when another has been granted, because otherwise there would hardly be a handover. On three servers redlock and \
redis-semaphore lock on most of them, as Redlock does; Redisson's lock is on one server."""


def present(medians, kind):
    """Who was measured, in the order of PEERS."""
    return [peer for peer in PEERS if any(
        (kind, shape.name, peer) in medians.rounds for shape in shapes.SHAPES)]  # fmt: skip


def of_figure(medians, kind, title, figure, chosen, form=with_spread):
    """A row for each shape, a column for each program; programs that have none are left out."""
    who = [peer for peer in present(medians, kind)
           if any(medians.of(kind, shape.name, peer, figure) for shape in chosen)]  # fmt: skip
    rows = [[shape.title, *(form(medians.of(kind, shape.name, peer, figure)) for peer in who)]
            for shape in chosen
            if any(medians.of(kind, shape.name, peer, figure) for peer in who)]  # fmt: skip
    return table([title, *(NAMES[peer] for peer in who)], rows) if rows else []


def percent(of):
    return "–" if of is None else f"{100 * of.median:.0f} %"


def tables(medians, kind):
    every = [shape for shape in shapes.SHAPES if shape.beside]
    cycles = [shape for shape in every if not shape.hold]
    handovers = [shape for shape in every if shape.hold]
    contended = [shape for shape in cycles if shape.paths == 1 and shape.tasks > 1]
    journaled = [shape for shape in every if shape.journaled]
    alone = [shape for shape in cycles if shape.tasks == 1]
    parts = (
        ("grants a second", "cycles_per_s", cycles, with_spread),
        ("µs from asking to the grant, p50", "acquire_p50_us", alone, with_spread),
        ("µs from a release to the next holder, p50", "handover_p50_us", handovers, with_spread),
        ("µs from a release to the next holder, p99", "handover_p99_us", handovers, with_spread),
        ("grants to another than the last holder", "to_another", journaled, percent),
        ("requests a grant", "server_requests", every, median),
        ("µs of the servers' processors a grant", "server_cpu_us", every, median),
        ("µs from asking to the grant, p99", "acquire_p99_us", contended, median),
    )
    lines = []
    for part in parts:
        lines += of_figure(medians, kind, *part)
    return lines


def conditions(facts):
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return [f"{facts['date']}, {facts['machine']}; uvzk {facts['uvzk']}, {versions}. All processes on "
            "the same machine, over loopback. Durable: ZooKeeper with forceSync, etcd as it is, "
            "Redis with appendfsync always; the three servers of a system share one disk, on which "
            f"an fsync of 2 kB took {number(facts['fsync_us'])} µs. {facts['rounds']} "
            f"round{'s' if facts['rounds'] > 1 else ''} by turns, {facts['window_ms']} ms each behind a "
            f"warming up of {facts['warm_ms']} ms. Medians, with the least and the most in brackets. "
            f"The machine's load average of the last 15 minutes was {facts['load']}.", ""]  # fmt: skip


def sections(medians, facts):
    lines = [HOW, "", checks(medians), "", *others_took(medians), *conditions(facts)]
    for kind in sorted(medians.factories(), reverse=True):
        lines += [f"### {TITLES[kind]}", "", shown(TITLES[kind], f"beside-{kind}"), "",
                  *tables(medians, kind)]
    return lines
