# SPDX-License-Identifier: Apache-2.0
"""Barriers: tasks wait until one is removed, or until so many members have entered and left."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Optional

from .connection import Connection, Line, ignore
from .errors import UvzkError, error_of
from .locks import times

if TYPE_CHECKING:
    from .client import Client


class Barrier:
    """As Curator's DistributedBarrier. It stays set until somebody removes it."""

    def __init__(self, client: "Client", path: str) -> None:
        self._client = client
        self._path = path

    async def set(self) -> None:
        await (await self._client.connection()).ask("barrier_set", path=self._path)

    async def remove(self) -> None:
        await (await self._client.connection()).ask("barrier_remove", path=self._path)

    async def wait(self, timeout: Optional[float] = None) -> None:
        """Returns when it is not set. UvzkTimeout after so many seconds."""
        fields: Line = {"path": self._path, **times(timeout)}
        await cancellable(await self._client.connection(), "barrier_wait", fields)


class DoubleBarrier:
    """As Curator's DistributedDoubleBarrier: `members` enter, and all of them leave, together.
    `async with` enters and leaves."""

    def __init__(self, client: "Client", path: str, members: int) -> None:
        self._client = client
        self._fields: Line = {"path": path, "member_quantity": members}
        self._connection: Optional[Connection] = None
        self._number = 0

    async def enter(self, timeout: Optional[float] = None) -> None:
        """Returns when all members have entered."""
        if self._connection is not None:
            raise UvzkError("UVZK_ESTATE", "it has entered already")
        connection = await self._client.connection()
        answer = await cancellable(connection, "enter", {**self._fields, **times(timeout)}, entered=True)
        self._connection, self._number = connection, answer["object"]

    async def leave(self, timeout: Optional[float] = None) -> None:
        """Returns when all members have left. Afterwards this one has left, also after an error."""
        if self._connection is None:
            raise UvzkError("UVZK_ESTATE", "it has not entered")
        connection, self._connection = self._connection, None
        await cancellable(connection, "leave", {"object": self._number, **times(timeout)})

    def give_back(self) -> None:
        """Leaves, and does not wait for the others."""
        connection, self._connection = self._connection, None
        if connection is not None and connection.end is None:
            connection.send("close", {"object": self._number}, ignore)

    async def __aenter__(self) -> DoubleBarrier:
        await self.enter()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.leave()


async def cancellable(connection: Connection, op: str, fields: Line, entered: bool = False) -> Line:
    """Who is cancelled waits no more, and is no member of what it has entered."""
    waits: "asyncio.Future[Line]" = connection.loop.create_future()

    def answered(answer: Line) -> None:
        if not waits.done():
            waits.set_result(answer)
        elif entered and answer["ok"] and connection.end is None:
            connection.send("close", {"object": answer["object"]}, ignore)

    number = connection.send(op, fields, answered)
    try:
        answer = await waits
    except asyncio.CancelledError:
        if connection.end is None:
            if waits.cancelled():
                connection.send("cancel", {"acquire": number}, ignore)
            elif entered and waits.result()["ok"]:
                connection.send("close", {"object": waits.result()["object"]}, ignore)
        raise
    if not answer["ok"]:
        raise error_of(answer)
    return answer
