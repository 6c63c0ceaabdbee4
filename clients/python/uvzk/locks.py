# SPDX-License-Identifier: Apache-2.0
"""Locks: a mutex, the two sides of a read-write lock, a semaphore, and several locks as one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import (TYPE_CHECKING, Any, AsyncGenerator, Callable, Dict, Generator, Generic, List, Optional, Sequence,
                    Type, TypeVar)  # fmt: skip

from .body import Body
from .connection import Connection, Latest, Line, ignore
from .errors import UvzkLost, UvzkTimeout, error_of
from .holds import Hold, data_of

if TYPE_CHECKING:
    from .client import Client

H = TypeVar("H", bound=Hold)

# After its time an acquire's answer may come so much later.
LATE_ANSWER_S = 1


def ms(seconds: float) -> int:
    """Rounded up: an acquire with a time waits for it."""
    return -int(-seconds * 1000 // 1)


def times(timeout: Optional[float]) -> Dict[str, int]:
    return {} if timeout is None else {"timeout_ms": ms(timeout)}


class Acquire(Generic[H]):
    """An acquire that has not begun yet: `await` it, or `async with` it. Once. `fields` is its own.

    If the task is cancelled while it waits, no znode stays. At the end of `async with` the lock is
    released; if the hold was lost before that, UvzkLost is raised."""

    def __init__(self, client: "Client", op: str, fields: Line, granted: Callable[[Connection, Line], H], *,
                 cancel_on_loss: bool = False, on_queued: Optional[Callable[[int], None]] = None,
                 on_revoke: Optional[Callable[[], None]] = None) -> None:  # fmt: skip
        self._client = client
        self._op = op
        self._fields = fields
        if on_queued:
            fields["queued"] = True
        if on_revoke:
            fields["revocable"] = True
        self._granted = granted
        self._cancel_on_loss = cancel_on_loss
        self._on_queued = on_queued
        self._on_revoke = on_revoke
        self._body: Optional[Body] = None

    def __await__(self) -> Generator[Any, None, H]:
        return self._acquire().__await__()

    async def _acquire(self) -> H:
        timeout_ms = self._fields.get("timeout_ms")
        connection = await self._client.connection(to_ask_servers=timeout_ms == 0)
        granted: "asyncio.Future[H]" = connection.loop.create_future()
        listens = self._on_queued is not None or self._on_revoke is not None

        def answered(answer: Line) -> None:
            if listens:
                connection.listen_no_more("id", number)
            if not answer["ok"]:
                if not granted.done():
                    granted.set_exception(error_of(answer))
                return
            hold = self._granted(connection, answer)
            if granted.done():  # the grant and the cancellation have crossed
                hold.give_back()
            else:
                granted.set_result(hold)

        number = connection.send(self._op, self._fields, answered)
        if listens:
            connection.listen("id", number, self._happened(connection))

        def cancel() -> None:
            if connection.end is None:
                connection.send("cancel", {"acquire": number}, ignore)

        def give_up() -> None:
            """The daemon is stopped."""
            if not granted.done():
                granted.set_exception(UvzkTimeout("UV_ETIMEDOUT", "the daemon does not answer", retriable=True))
                cancel()

        silence = connection.loop.call_later(timeout_ms / 1000 + LATE_ANSWER_S, give_up) if timeout_ms else None
        try:
            return await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                cancel()
            elif granted.exception() is None:
                granted.result().give_back()
            raise
        finally:
            if silence:
                silence.cancel()

    def _happened(self, connection: Connection) -> Callable[[Line], None]:
        def happened(event: Line) -> None:
            if event["event"] == "queued" and self._on_queued:
                connection.loop.call_soon(self._on_queued, event["ahead"])
            elif event["event"] == "revoke" and self._on_revoke:
                connection.loop.call_soon(self._on_revoke)

        return happened

    async def __aenter__(self) -> H:
        hold = await self._acquire()
        self._body = Body(hold, self._cancel_on_loss)
        return hold

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Any) -> None:
        assert self._body is not None
        lost = await self._body.end(kind)
        if lost:
            raise lost from error


@dataclass(frozen=True)
class Participants:
    """The znodes of those who hold a lock and of those who wait for it, in their order. `leader` is
    of an election: the data of the leader's znode, if somebody leads."""

    holders: List[str]
    waiters: List[str]
    leader: Optional[bytes] = None


@dataclass(frozen=True)
class Contender:
    """One that stands at a path, whatever its kind of lock is. `data` is what its znode has."""

    node: str
    kind: str
    holds: bool
    data: bytes


class Lock:
    """One lock at one path. It costs nothing until it is acquired; any number of tasks may use it."""

    def __init__(self, client: "Client", path: str, kind: str = "mutex", max_leases: Optional[int] = None) -> None:
        self.path = path
        self._client = client
        self._fields: Line = {"path": path, **({} if kind == "mutex" else {"lock": kind})}
        if max_leases is not None:
            self._fields["max_leases"] = max_leases

    def acquire(self, timeout: Optional[float] = None, *, owner: Optional[str] = None, data: Optional[str] = None,
                max_hold: Optional[float] = None, leases: Optional[int] = None, cancel_on_loss: bool = False,
                on_queued: Optional[Callable[[int], None]] = None,
                on_revoke: Optional[Callable[[], None]] = None) -> Acquire[Hold]:  # fmt: skip
        """Begins when it is awaited.

        timeout: in seconds; 0: only if the lock is free now (a daemon that has just begun finds the servers
        first); None: wait forever. UvzkTimeout is raised.
        owner: who has this name within this client may acquire the lock again, and releases it as often.
        data: of the lock's znode. max_hold: in seconds, after which the hold is lost.
        leases: of a semaphore, how many this acquire takes.
        cancel_on_loss: of `async with`: the task is cancelled when the hold is lost, and UvzkLost is raised.
        on_queued(ahead), on_revoke(): called in the loop when the acquire has a place in the queue, and
        when another client asks for the lock (the znode has no data then)."""
        fields = {**self._fields, **times(timeout), **acquire_fields(owner, data, max_hold)}
        if leases is not None:
            fields["leases"] = leases
        return Acquire(self._client, "acquire", fields, lambda connection, answer: Hold(connection, answer, on_revoke),
                       cancel_on_loss=cancel_on_loss, on_queued=on_queued, on_revoke=on_revoke)  # fmt: skip

    def member(self) -> Line:
        """What it is as one of several locks."""
        return self._fields

    async def participants(self) -> Participants:
        connection = await self._client.connection(to_ask_servers=True)
        return participants_of(await connection.ask("participants", **self._fields))

    def watch(self) -> AsyncGenerator[Participants, None]:
        """Yields the participants, and again after each change. Several changes may be one."""
        return watched(self._client, self._fields)


class ReadWrite:
    """Many hold `read` at a time, or one holds `write`."""

    def __init__(self, client: "Client", path: str) -> None:
        self.read = Lock(client, path, "read")
        self.write = Lock(client, path, "write")


class AllOf:
    """Several locks as one: all are held, or none."""

    def __init__(self, client: "Client", locks: Sequence[Lock], in_turn: bool = False) -> None:
        self._client = client
        self._fields: Line = {"members": [lock.member() for lock in locks], **({"in_turn": True} if in_turn else {})}

    def acquire(self, timeout: Optional[float] = None, *, owner: Optional[str] = None, data: Optional[str] = None,
                max_hold: Optional[float] = None, cancel_on_loss: bool = False) -> Acquire[Hold]:  # fmt: skip
        """As Lock.acquire()."""
        fields = {**self._fields, **times(timeout), **acquire_fields(owner, data, max_hold)}
        return Acquire(self._client, "acquire_all", fields, Hold, cancel_on_loss=cancel_on_loss)


def acquire_fields(owner: Optional[str], data: Optional[str], max_hold: Optional[float]) -> Line:
    fields: Dict[str, Any] = {}
    if owner is not None:
        fields["owner"] = owner
    if data is not None:
        fields["data"] = data
    if max_hold is not None:
        # The hold is told of its limit as soon as it is known.
        fields.update(max_hold_ms=ms(max_hold), warning_ms=max(1, ms(max_hold) - 1))
    return fields


def participants_of(line: Line) -> Participants:
    leader = line.get("leader")
    return Participants(line["holders"], line["waiters"], None if leader is None else data_of(leader))


def contender_of(row: Line) -> Contender:
    return Contender(row["node"], row["lock"], row["holds"], data_of(row))


async def watched(client: "Client", fields: Line) -> AsyncGenerator[Participants, None]:
    connection = await client.connection()
    news = Latest()
    number: List[int] = []
    over = False

    def unwatch() -> None:
        if number and connection.end is None:
            connection.listen_no_more("watch", number[0])
            connection.send("unwatch", {"watch": number[0]}, ignore)

    def answered(answer: Line) -> None:
        if answer["ok"]:
            number.append(answer["watch"])
            connection.listen("watch", answer["watch"], news.put)
        news.put(answer)
        if over:
            unwatch()

    connection.send("watch", fields, answered)
    try:
        while True:
            line = await news.get()
            if "holders" in line:
                yield participants_of(line)
            elif "event" in line:
                raise UvzkLost(line["error"], line["message"], retriable=True)
            else:
                raise error_of(line)
    finally:
        over = True
        unwatch()
