# SPDX-License-Identifier: Apache-2.0
"""What the tests of clients/python stand on: clients with a child or with a daemon's socket, and
tasks. The rest is that of the command's tests."""

import asyncio
import os
import pathlib
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(PROJECT / "clients/python"), str(PROJECT / "tests/command")]
sys.dont_write_bytecode = True

import uvzk  # noqa: E402
from command_kit import ENVIRONMENT, HOSTS, PATIENCE_S, SHORT, UVZK, check, check_equal, children, until  # noqa: E402
from serve_kit import Daemon, boottime_ms, transport_option  # noqa: E402

os.environ.update(ENVIRONMENT)
# For processes that a test starts.
SCRIPT_ENVIRONMENT = {**ENVIRONMENT, "PYTHONPATH": str(PROJECT / "clients/python"), "UVZK_COMMAND": UVZK}
OPTIONS = (*transport_option(), *SHORT)
CHILD = {"hosts": HOSTS, "command": UVZK, "options": OPTIONS}


def with_child():
    return uvzk.connect(**CHILD)


def with_socket(daemon):
    return uvzk.connect(socket=daemon.path)


def run(task, patience_s=PATIENCE_S):
    """Runs a case's task, which ends in time by itself."""

    async def in_time():
        running = asyncio.ensure_future(task)
        await asyncio.wait([running], timeout=patience_s)
        check(running.done(), "it does not end")
        await running

    asyncio.run(in_time())


async def waiting(lock, **options):
    """The task of an acquire that stands in line."""
    queued = asyncio.Event()
    task = asyncio.ensure_future(acquired(lock.acquire(on_queued=lambda _: queued.set(), **options)))
    await queued.wait()
    return task


async def until_seen(seen, fits):
    """The first state of a watch that fits."""
    async for state in seen:
        if fits(state):
            return state
    raise AssertionError("the watch has ended")


async def acquired(acquire):
    return await acquire


async def refused(awaitable, code):
    try:
        await awaitable
    except uvzk.UvzkError as why:
        check_equal(why.code, code, f"error: {why}")
        return why
    raise AssertionError(f"not refused with {code}")


async def nothing_is_left(client, path):
    """No request is under way, nothing is held, and no znode is there."""
    connection = await client.connection()
    while connection._answered:
        await connection.ask("hello")
    found = await connection.ask("metrics")
    check_equal([found[name] for name in ("holds", "waiting", "watches", "objects")], [0] * 4, "what is left")
    until(lambda: children(path) == [], f"no znode in {path}")  # who was cancelled is answered before


__all__ = ["CHILD", "Daemon", "HOSTS", "OPTIONS", "PATIENCE_S", "PROJECT", "SCRIPT_ENVIRONMENT", "UVZK", "acquired",
           "boottime_ms", "check", "check_equal", "children", "nothing_is_left", "refused", "run", "until",
           "until_seen", "uvzk", "waiting", "with_child", "with_socket"]  # fmt: skip
