# SPDX-License-Identifier: Apache-2.0
"""The faults of a run, one after the other, in an order that the seed decides. Each strikes whoever holds the lock, or
the servers; its duration is DURATIONS times the time-out of the lock."""

import asyncio

DURATIONS = (0.5, 2.5)
GAP_S = (0.5, 2.0)
INTO_HOLD_S = (0.0, 0.6)  # how long after the grant
DELAY_MS = (200, 900)
DOWN_S = (0.1, 1.0)
STEP_S = 30
PATIENCE_S = 20


class Faults:
    def __init__(self, run, random, kinds):
        self.run, self.random, self.kinds = run, random, kinds

    def duration(self):
        return self.random.uniform(*DURATIONS) * self.run.timeout_ms / 1000

    async def play(self):
        while True:
            await asyncio.sleep(self.random.uniform(*GAP_S))
            if not self.kinds:
                continue
            kind, into = self.random.choice(self.kinds), self.random.uniform(*INTO_HOLD_S)
            holder = await self.run.next_holder(PATIENCE_S)
            if holder is None:
                self.run.note("no_holder")
                continue
            await asyncio.sleep(into)
            await getattr(self, kind)(holder)

    async def lasting(self, kind, holder, begin, end):
        seconds = self.duration()
        self.run.note(kind, holder, round(seconds * 1000))
        begin()
        try:
            await asyncio.sleep(seconds)
        finally:
            end()
        self.run.note("end_" + kind, holder)

    async def stop(self, holder):
        program = self.run.programs[holder]
        await self.lasting("stop", holder, program.stop, program.resume)

    async def stop_waiter(self, holder):
        """Who is granted the lock meanwhile does not know it before it goes on."""
        waiter = self.random.choice([one for one in range(len(self.run.programs)) if one != holder])
        program = self.run.programs[waiter]
        await self.lasting("stop_waiter", waiter, program.stop, program.resume)

    async def kill(self, holder):
        self.run.note("kill", holder)
        await self.run.programs[holder].killed()
        await self.run.programs[holder].begin()

    async def cut(self, holder):
        """Nothing passes, and nobody is told. At the end the connections are reset, or what was held is passed on."""
        def begin():
            self.run.each_relay(holder, "hold", 1, 1)

        def end():
            if resets:
                self.run.each_relay(holder, "cut")
            self.run.each_relay(holder, "hold", 0, 0)

        resets = self.random.random() < 0.5
        await self.lasting("cut", holder, begin, end)

    async def delay(self, holder):
        ms = self.random.randrange(*DELAY_MS)
        await self.lasting("delay", holder, lambda: self.run.each_relay(holder, "delay", ms),
                           lambda: self.run.each_relay(holder, "delay", 0))  # fmt: skip

    async def block(self, _):
        """Whoever is next computes for so long, instead of waiting."""
        self.run.block_ms = self.duration() * 1000

    async def late_write(self, _):
        """The next write is under way for so long, and meanwhile its holder is stopped."""
        self.run.late_write_s = self.duration()

    def some_servers(self):
        """One; of five, two of them."""
        ports = range(len(self.run.servers.ports))
        return self.random.sample(ports, (len(ports) + 1) // 3 or 1)

    async def server_stop(self, holder):
        some = self.some_servers()
        await self.lasting("server_stop", holder, lambda: [self.run.servers.stop(one) for one in some],
                           lambda: [self.run.servers.resume(one) for one in some])  # fmt: skip

    async def server_restart(self, holder):
        down_s, some = self.random.uniform(*DOWN_S), self.some_servers()
        self.run.note("server_restart", holder)
        for one in some:
            self.run.servers.kill(one)
        try:
            await asyncio.sleep(down_s)
        finally:
            for one in some:
                self.run.servers.begin_again(one)

    async def clock(self, holder):
        """The wall clock of one server goes forward. Of five, the holder did not reach two others when it acquired."""
        ports = len(self.run.servers.ports)
        far = range(3, ports)

        def hold_far(whether):
            self.run.each_relay(holder, "hold", whether, whether, servers=far)

        try:
            if far and not await self.run.acquires_again(holder, lambda: hold_far(1), PATIENCE_S):
                self.run.note("no_clock", holder)  # it does not acquire with three of five servers
                return
            self.run.note("clock", holder)
            self.run.servers.step_clock(min(2, ports - 1), STEP_S)
            await asyncio.sleep(self.run.timeout_ms / 1000)
        finally:
            hold_far(0)


ALL = ("stop", "stop_waiter", "kill", "cut", "delay", "block", "late_write", "server_stop", "server_restart", "clock")
# Those of https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html, by the fault that makes them.
SCENARIOS = {
    "pause": ("stop",),  # "the client is paused for an extended period of time while holding the lock"
    "late-write": ("late_write",),  # the same, if its write is under way, or is the next that it does
    "pause-in-acquire": ("stop_waiter",),  # the pause comes while the answers to its acquire are under way
    "clock": ("clock",),  # "the clock on node C jumps forward"
    "crash": ("server_restart",),  # "node C crashes before persisting the lock to disk, and immediately restarts"
}
