# SPDX-License-Identifier: Apache-2.0
"""What is no lock: shared values and counts, persistent nodes and groups. Each is opened by
`async with`, and is closed at its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Generic, Optional, TypeVar, Union

from .connection import Connection, Latest, Line
from .errors import UvzkError, UvzkLost, UvzkTimeout, error_of, lost_because_of
from .holds import Data, data_field, data_of

if TYPE_CHECKING:
    from .client import Client

O = TypeVar("O", bound="Opened")
V = TypeVar("V", bytes, int)


class Opened:
    """Something that the daemon follows for this client, as long as the connection lasts."""

    def __init__(self, client: "Client", op: str, fields: Line) -> None:
        self._client = client
        self._op = op
        self._fields = fields
        self._connection: Optional[Connection] = None
        self._number = 0
        self._lost: Optional[UvzkLost] = None

    async def __aenter__(self: O) -> O:
        connection = await self._client.connection()
        self._lost, self._news = None, Latest()
        opened: "asyncio.Future[None]" = connection.loop.create_future()

        def answered(answer: Line) -> None:
            if answer["ok"]:
                self._connection, self._number = connection, answer["object"]
                connection.listen("object", self._number, self._happened)
                if opened.done():
                    self._close()
                else:
                    opened.set_result(None)
            elif not opened.done():
                opened.set_exception(error_of(answer))

        connection.send(self._op, self._fields, answered)
        try:
            await opened
        except asyncio.CancelledError:
            if not opened.cancelled() and opened.exception() is None:
                self._close()
            raise
        return self

    async def __aexit__(self, *_: Any) -> None:
        await asyncio.shield(self._close())

    def give_back(self) -> None:
        """Begins to close it, and does not wait for that."""
        self._close()

    def _close(self) -> "asyncio.Future[Line]":
        """Returns a future of the answer, whatever it is."""
        connection, self._connection = self._connection, None
        assert connection
        closed: "asyncio.Future[Line]" = connection.loop.create_future()
        connection.listen_no_more("object", self._number)
        if connection.end is None and self._lost is None:
            connection.send("close", {"object": self._number}, closed.set_result)
        else:
            closed.set_result({})
        return closed

    def _happened(self, event: Line) -> None:
        if event["event"] == "lost":
            self._lost = lost_because_of(event)
        if self._lost or "error" not in event:  # else the daemon goes on trying
            self._news.put(event)

    async def _ask(self, op: str, **fields: Any) -> Line:
        if self._connection is None:
            raise UvzkError("UVZK_ECLOSED", "it is not open: use `async with`")
        if self._lost:
            raise self._lost
        return await self._connection.ask(op, object=self._number, **fields)

    async def _next(self, timeout: Optional[float]) -> Line:
        """The latest event that was not returned yet, or the next one, if it comes within so many seconds."""
        if self._connection is None:
            raise UvzkError("UVZK_ECLOSED", "it is not open: use `async with`")
        try:
            event = {} if self._lost else await self._news.get(timeout)
        except asyncio.TimeoutError:
            raise UvzkTimeout("UV_ETIMEDOUT", "nothing has changed in time", retriable=True) from None
        if self._lost:
            raise self._lost
        return event


@dataclass(frozen=True)
class Versioned(Generic[V]):
    """A value, and what tells it from every other one: give it to set() as `if_unchanged`."""

    value: V
    mzxid: int
    version: int


class Shared(Opened, Generic[V]):
    """A value in a znode that every client sees and sets, as Curator's SharedValue or SharedCount."""

    def __init__(self, client: "Client", op: str, path: str, seed: Union[Data, int]) -> None:
        self._counts = op == "shared_count"
        super().__init__(client, op, {"path": path, **self._field(seed)})

    def _field(self, value: Union[Data, int]) -> Dict[str, Any]:
        return {"count": value} if isinstance(value, int) else data_field(value)

    def _versioned(self, line: Line) -> "Versioned[V]":
        value: Any = line["count"] if self._counts else data_of(line)
        return Versioned(value, line["mzxid"], line["version"])

    async def get(self) -> "Versioned[V]":
        """What the daemon knows; costs no request to the servers. Directly after the opening it knows
        nothing (UVZK_ENONODE): wait for changed()."""
        return self._versioned(await self._ask("get"))

    async def set(self, value: V, if_unchanged: "Optional[Versioned[V]]" = None) -> None:
        """With `if_unchanged`, an error with UVZK_EBADVERSION if somebody has set another value since."""
        same = {} if if_unchanged is None else {"mzxid": if_unchanged.mzxid, "version": if_unchanged.version}
        await self._ask("set", **self._field(value), **same)

    async def changed(self, timeout: Optional[float] = None) -> "Versioned[V]":
        """Returns the first value that is known, and then the latest one after each change. UvzkTimeout after so
        many seconds; the next call returns what has changed since."""
        return self._versioned(await self._next(timeout))


class PersistentNode(Opened):
    """A znode that the daemon creates again whenever it is missing; it is deleted at the end."""

    def __init__(self, client: "Client", path: str, data: Optional[Data] = None, persistent: bool = False) -> None:
        more = {"persistent": True} if persistent else {}
        super().__init__(client, "persistent_node", {"path": path, **data_field(data), **more})

    async def there(self, timeout: Optional[float] = None) -> None:
        """Returns when the znode is there; again, when it is there again or has other data. UvzkTimeout after so many
        seconds."""
        await self._next(timeout)

    async def set(self, data: Data) -> None:
        """Returns before the servers have it: wait for there()."""
        await self._ask("set", **data_field(data))


class GroupMember(Opened):
    """A member of a group, as Curator's GroupMember, and a view of all members."""

    def __init__(self, client: "Client", path: str, member: str, data: Optional[Data] = None) -> None:
        super().__init__(client, "group_member", {"path": path, "member": member, **data_field(data)})

    async def set(self, data: Data) -> None:
        await self._ask("set", **data_field(data))

    async def members(self) -> Dict[str, bytes]:
        """The name of each member that the daemon knows, and its data."""
        answer = await self._ask("get")
        return {row["member"]: data_of(row) for row in answer.get("members", [])}

    async def changed(self, timeout: Optional[float] = None) -> Dict[str, bytes]:
        """Returns the members after the next change of the group, or of this member's znode. UvzkTimeout after so many
        seconds."""
        await self._next(timeout)
        return await self.members()
