#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The clock of a server is stepped when the holder has acquired without two of five servers, and only then."""

import asyncio
import pathlib
import sys

sys.dont_write_bytecode = True
PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "bench" / "torture"), str(PROJECT / "tests" / "chaos")]
import faults  # noqa: E402
import lock_set  # noqa: E402

PATIENCE_S = 20
SHORT_S = 0.05


class Servers:
    ports = (1, 2, 3, 4, 5)

    def __init__(self):
        self.stepped = []

    def step_clock(self, index, _):
        self.stepped.append(index)


class ToldProgram:
    """It is granted the lock as soon as it is asked for it, if it acquires at all."""

    def __init__(self, run, number, acquires):
        self.run, self.number, self.acquires = run, number, acquires

    def tell(self, _):
        if self.acquires:
            self.run.on_locked(self.number, "-")


def run_of(acquires):
    run = lock_set.Run.__new__(lock_set.Run)
    run.servers, run.timeout_ms, run.ending, run.journal = Servers(), 1, False, []
    run.before_asking, run.working, run.later = {}, set(), set()
    run.holder, run.held = None, asyncio.Event()
    run.programs = [ToldProgram(run, 0, True), ToldProgram(run, 1, acquires)]
    run.silent = set()

    def each_relay(number, _, whether, __, servers):
        (run.silent.update if whether else run.silent.difference_update)((number, index) for index in servers)

    run.each_relay = each_relay
    return run


async def struck(run):
    """Program 1 holds when the fault begins."""
    fault = asyncio.create_task(faults.Faults(run, None, ["clock"]).clock(1))
    await asyncio.sleep(0)
    assert not run.silent, "the relays are silent while it holds"
    run.on_unlocked(0)
    run.on_unlocked(1)
    assert run.silent == {(1, 3), (1, 4)}, run.silent
    await asyncio.wait_for(fault, PATIENCE_S)
    assert not run.silent, run.silent
    return [word for _, _, word, _ in run.journal if word != "asked"]


async def case_it_acquires_without_two_servers():
    run = run_of(True)
    assert await struck(run) == ["clock"]
    assert run.servers.stepped == [2], run.servers.stepped


async def case_it_does_not_acquire_without_them():
    faults.PATIENCE_S = SHORT_S
    run = run_of(False)
    assert await struck(run) == ["no_clock"]
    assert run.servers.stepped == [], run.servers.stepped
    assert run.before_asking == {}


for name, case in list(globals().items()):
    if name.startswith("case_"):
        asyncio.run(case())
