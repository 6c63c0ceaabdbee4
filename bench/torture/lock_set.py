# SPDX-License-Identifier: Apache-2.0
"""One run of a lock: five processes that change a shared set (body.py says how), and the faults meanwhile. What comes
out is a journal: (time in ns, process or None, word, more words), in the order in which it was heard."""

import asyncio
import pathlib
import random
import sys
import time

import faults
import holds
import locks
from program import Program
from servers import HOST, PROJECT, Servers
from shared_set import SharedSet

sys.path.insert(0, str(PROJECT / "tests" / "chaos"))
from wires import Wires  # noqa: E402

PROCESSES = 5
PAUSE_MS = 2000
AFTER_FAILURE_S = 0.1
BEGIN_S, CLOSE_S = 60, 10
END_S, LOOK_S = 30, 0.05
NAME = "torture"


class Run:
    def __init__(self, lock, servers, build, log, options):
        self.lock, self.servers, self.timeout_ms = lock, servers, options.timeout_ms
        self.set = SharedSet(options.guarded)
        self.journal = []
        self.random = [random.Random(f"{options.seed}-{number}") for number in range(PROCESSES)]
        self.holder, self.held = None, asyncio.Event()
        self.block_ms = self.late_write_s = None
        self.awaited, self.ready = set(range(PROCESSES)), asyncio.Event()
        self.begun = self.ending = False
        self.pause_ms = options.pause_ms
        self.later, self.working = set(), set()
        self.before_asking = {}  # what is done before a program is asked to lock the next time
        self.wires = Wires() if servers.ports else None
        self.programs = [Program(locks.command_of(lock, build, *self.place(number), self.timeout_ms), self.hears(number), log)
                         for number in range(PROCESSES)]  # fmt: skip

    def place(self, number):
        """The servers and the lock's name for this process, whose connections have relays of their own."""
        if not self.servers.ports:
            return "", str(pathlib.Path(self.servers.directory) / NAME)
        return ",".join(f"{HOST}:{self.wires.open(f'r{number}-{index}', HOST, HOST, port)}"
                        for index, port in enumerate(self.servers.ports)), NAME  # fmt: skip

    def each_relay(self, number, command, *words, servers=None):
        for index in range(len(self.servers.ports)) if servers is None else servers:
            self.wires.ask(command, f"r{number}-{index}", *words)

    def note(self, word, number=None, *words):
        self.journal.append((time.monotonic_ns(), number, word, list(map(str, words))))

    async def next_holder(self, patience_s):
        """Who is the next to be granted the lock; None: nobody in so many seconds."""
        self.held.clear()
        try:
            await asyncio.wait_for(self.held.wait(), patience_s)
        except asyncio.TimeoutError:
            return None
        return self.holder

    async def acquires_again(self, number, before, patience_s):
        """Whether the program is granted the lock within so many seconds, having been asked for it after before()."""
        self.before_asking[number] = before
        end = time.monotonic() + patience_s
        while await self.next_holder(end - time.monotonic()) is not None:
            if self.holder == number and number not in self.before_asking:
                return True
        self.before_asking.pop(number, None)
        return False

    # What a program says:

    def hears(self, number):
        def on_line(word, at, words):
            self.journal.append((at, number, word, words))
            handler = getattr(self, "on_" + word, None)
            if handler:
                handler(number, *words)

        return on_line

    def soon(self, seconds, function, *arguments):
        async def wait():
            await asyncio.sleep(seconds)
            function(*arguments)

        task = asyncio.create_task(wait())
        self.later.add(task)
        task.add_done_callback(self.later.discard)

    def ask_to_lock(self, number):
        if not self.ending:
            self.before_asking.pop(number, lambda: None)()
            self.note("asked", number)
            self.programs[number].tell("lock")

    def on_ready(self, number):
        self.working.discard(number)
        self.awaited.discard(number)
        if self.begun:
            self.ask_to_lock(number)
        elif not self.awaited:
            self.ready.set()

    def on_locked(self, number, _):
        self.holder = number
        self.working.add(number)
        self.held.set()

    def on_read(self, number, token):
        ms, self.block_ms = self.block_ms, None
        how = "sleep" if ms is None else "block"
        if ms is None:
            ms = self.random[number].uniform(0, self.pause_ms)
        else:
            self.note("block", number, round(ms))
        self.programs[number].tell("work", self.set.read(token), round(ms), how)

    def on_write(self, number, version, token):
        seconds, self.late_write_s = self.late_write_s, None
        if seconds is None:
            self.write(number, int(version), token)
            return
        self.note("late_write", number, round(seconds * 1000))
        program = self.programs[number]
        program.stop()
        self.soon(seconds, self.write, number, int(version), token)
        self.soon(seconds, program.resume)

    def write(self, number, version, token):
        word = "written" if self.set.write(version, token) else "refused"
        self.note(word, number, len(self.set.parents) - 1)
        self.programs[number].tell(word)

    def on_unlocked(self, number, *_):
        self.working.discard(number)
        self.ask_to_lock(number)

    def on_failed(self, number, *_):
        self.working.discard(number)
        self.soon(AFTER_FAILURE_S, self.ask_to_lock, number)

    # The whole:

    async def begin(self):
        await asyncio.gather(*(program.begin() for program in self.programs))
        await asyncio.wait_for(self.ready.wait(), BEGIN_S)
        self.note("begin")
        self.begun = True
        for number in range(PROCESSES):
            self.ask_to_lock(number)

    async def end(self):
        """Whoever waits for the lock is granted it, works and releases it."""
        self.ending = True
        try:
            await asyncio.wait_for(self.at_rest(), END_S)
        except asyncio.TimeoutError:
            self.note("not_at_rest")
        self.note("end")

    async def at_rest(self):
        while self.working or self.later:
            await asyncio.sleep(LOOK_S)

    async def close(self):
        self.ending = True
        await asyncio.gather(*(program.close(CLOSE_S) for program in self.programs))
        if self.wires:
            self.wires.close()


async def run_for(run, options):
    kinds = [kind for kind in options.faults if kind not in run.lock.not_played]
    player = faults.Faults(run, random.Random(f"{options.seed}-faults"), kinds)
    try:
        await run.begin()
        try:
            await asyncio.wait_for(player.play(), options.minutes * 60)
        except asyncio.TimeoutError:
            pass
        await run.end()
    finally:
        await run.close()
    end = time.monotonic() + 3 * run.timeout_ms / 1000  # until then the sessions of killed processes have ended
    while (leftovers := run.servers.leftovers(NAME)) and time.monotonic() < end:
        await asyncio.sleep(LOOK_S)
    counted = {"acknowledged": run.set.acknowledged(), "lost": len(run.set.lost()), "refused": run.set.refused,
               "lost_by": holds.faults_of_losses(run.journal, run.set.lost()), "leftovers": leftovers}  # fmt: skip
    return run.journal, counted


def play(lock, build, log, options):
    """The journal, and what the set and the servers have at the end."""
    async def whole():
        return await run_for(Run(lock, servers, build, log, options), options)

    with Servers(lock.servers, build) as servers:
        return asyncio.run(whole())
