#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A lock program is stopped and killed with all that it has started, and nobody else is: its number may be another's by then."""

import asyncio
import pathlib
import sys
import time

sys.dont_write_bytecode = True
from program import Program, children  # noqa: E402

PATIENCE_S = 20


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def until(fits):
    end = time.monotonic() + PATIENCE_S
    while not fits():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def begun(*command):
    said = asyncio.Event()
    program = Program(command, lambda *_: said.set(), None)
    await program.begin()
    await asyncio.wait_for(said.wait(), PATIENCE_S)
    return program


async def case_stopped_with_its_children():
    program = await begun("sh", "-c", "sleep 60 & echo ready 1; wait")
    both = [program.process.pid, *children(program.process.pid)]
    assert len(both) == 2, both
    program.stop()
    assert program.stopped == both, program.stopped
    await until(lambda: {state_of(pid) for pid in both} == {"T"})
    program.resume()
    await until(lambda: "T" not in {state_of(pid) for pid in both})
    await program.killed()


async def case_ended():
    program = await begun("sh", "-c", "echo ready 1")
    await asyncio.wait_for(program.reading, PATIENCE_S)
    program.stop()
    assert program.stopped == [], program.stopped


for name, case in list(globals().items()):
    if name.startswith("case_"):
        asyncio.run(case())
