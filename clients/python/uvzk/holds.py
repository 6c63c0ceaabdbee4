# SPDX-License-Identifier: Apache-2.0
"""A hold: how long it is valid, its loss, its release, and what is written and read under it."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generator, List, Optional, Union

from .connection import Connection, Line, ignore
from .errors import UvzkConnectionError, UvzkError, UvzkLost, lost_because_of
from .validity import now_ms

Data = Union[str, bytes]
# Of a daemon with a socket: a validity is asked for again after this part of it has passed, ...
RENEWAL = 1 / 3
SOONEST_S = 0.1
# ... and after the validity's end its answer may come so much later. It may wait in the socket of a
# process that was stopped.
LATE_ANSWER_S = 1.0
LONGEST_S = 86400.0  # of a timer


def data_field(data: Optional[Data]) -> Dict[str, str]:
    if data is None:
        return {}
    return {"data": data} if isinstance(data, str) else {"base64": base64.b64encode(data).decode()}


def data_of(answer: Line) -> bytes:
    if "base64" in answer:
        return base64.b64decode(answer["base64"])
    text: str = answer.get("data", "")
    return text.encode()


@dataclass(frozen=True)
class Write:
    """One operation of a guarded write. See create(), set_data(), delete() and check()."""

    kind: str
    path: str
    data: Optional[Data] = None
    version: Optional[int] = None

    def fields(self) -> Line:
        version = {} if self.version is None else {"version": self.version}
        return {"kind": self.kind, "path": self.path, **data_field(self.data), **version}


def create(path: str, data: Optional[Data] = None) -> Write:
    """A persistent znode; its parent exists."""
    return Write("create", path, data)


def set_data(path: str, data: Data, version: Optional[int] = None) -> Write:
    return Write("set", path, data, version)


def delete(path: str, version: Optional[int] = None) -> Write:
    return Write("delete", path, None, version)


def check(path: str, version: Optional[int] = None) -> Write:
    """It exists, and has this version."""
    return Write("check", path, None, version)


@dataclass(frozen=True)
class Znode:
    """`version` is how often the data were set."""

    data: bytes
    version: int


class Loss:
    """The end of a hold without a release. `await hold.lost` returns the reason when it is lost, and
    None when it was released instead."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reason: Optional[UvzkLost] = None
        self._over = False
        self._told: List[Callable[[], None]] = []

    @property
    def reason(self) -> Optional[UvzkLost]:
        """None, as long as the hold is not lost. May be called in any thread."""
        end = self._connection.end
        if end is not None and end.code == "CLIENT_EFORKED" and not self._over:
            return UvzkLost(end.code, end.message, retriable=True)
        return self._reason

    def is_set(self) -> bool:
        """Also in any thread."""
        return self.reason is not None

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Has it called, in the loop's thread, when the hold is lost or released."""
        if self._over:
            self._connection.loop.call_soon(callback)
        else:
            self._told.append(callback)

    def __await__(self) -> Generator[Any, None, Optional[UvzkLost]]:
        if not self._over:
            over: "asyncio.Future[None]" = self._connection.loop.create_future()
            self.add_callback(lambda: None if over.done() else over.set_result(None))
            yield from over
        return self._reason

    def tell(self, reason: Optional[UvzkLost]) -> None:
        """Once. The callbacks run in a turn of their own: one may cancel the task that runs now."""
        self._over, self._reason = True, reason
        for callback in self._told:
            self._connection.loop.call_soon(callback)
        self._told.clear()


class Hold:
    """A lock that is held. `token` is the fencing token; `node` the znode, `nodes` those of all members.

    The hold stays while the loop is blocked, with a daemon as a child and with one that has a socket."""

    def __init__(self, connection: Connection, answer: Line, on_revoke: Optional[Callable[[], None]] = None) -> None:
        self.token: int = answer["token"]
        self.nodes: List[str] = answer["nodes"] if "nodes" in answer else [answer["node"]]
        self.lost = Loss(connection)
        self._connection = connection
        self._number: int = answer["hold"]
        self._slot: Optional[int] = answer.get("slot") if connection.validity else None
        self._told_until: int = answer["valid_until_ms"]
        self._limit: Optional[int] = None
        self._on_revoke = on_revoke
        self._given_back = False
        self._waits: "List[asyncio.Future[None]]" = []  # for the release
        self._is_free = False
        self._asked = False
        self._late = False
        connection.listen("hold", self._number, self._happened)
        self._look_in(answer["valid_for_ms"] / 1000)

    @property
    def node(self) -> str:
        return self.nodes[0]

    def valid_for_ms(self) -> int:
        """For how many ms the servers cannot grant the lock to another client; 0 when the hold is over.

        Reads the clock and memory, does not wait, and may be called in any thread. With a child it is
        right also directly after the loop was blocked. With the daemon of a socket it is what the daemon
        has told last, so after the loop was blocked it may be 0 until the next answer: see valid()."""
        return max(0, self._valid_until() - now_ms())

    def _valid_until(self) -> int:
        if self._given_back or self.lost.is_set():
            return 0
        if self._slot is not None and self._connection.validity is not None:
            return self._connection.validity.valid_until_ms(self._slot, self._number)
        return self._told_until

    async def valid(self) -> int:
        """Asks the daemon for how many ms the hold is valid. Raises UvzkLost when it is over."""
        return await self._validity("valid")

    async def verify(self) -> int:
        """The same, after a quorum of the servers has agreed that the hold stands."""
        return await self._validity("verify")

    async def _validity(self, op: str) -> int:
        self._renewed(await self._ask(op))
        return self.valid_for_ms()

    async def write(self, *writes: Write) -> None:
        """Carries out all of them in one transaction, if the hold stands, or none. It is not repeated:
        after an error whose `outcome_unknown` is true, read the znodes."""
        await self._ask("write", writes=[write.fields() for write in writes])

    async def read(self, path: str) -> Znode:
        """What the znode contained at a moment at which the hold stood."""
        answer = await self._ask("read", path=path)
        return Znode(data_of(answer), answer["version"])

    async def _ask(self, op: str, **fields: Any) -> Line:
        if self.lost.reason:
            raise self.lost.reason
        if self._given_back:
            raise UvzkError("UVZK_ENOTHELD", "the hold was released")
        try:
            return await self._connection.ask(op, hold=self._number, **fields)
        except UvzkError as why:
            if self.lost.reason and not why.outcome_unknown:
                raise self.lost.reason from why
            raise

    async def release(self) -> None:
        """Returns when the lock is free. Nothing happens if the hold is over."""
        self.give_back()
        if self._given_back and not self._is_free:
            waits: "asyncio.Future[None]" = self._connection.loop.create_future()
            self._waits.append(waits)
            await waits

    def give_back(self) -> None:
        """Begins the release, and does not wait for it."""
        reason = self.lost.reason
        if reason and reason.code == "SERVE_EENDING" and self._connection.end is None:
            # The daemon waits with its end until this program has stopped its work.
            self._connection.send("release", {"hold": self._number}, ignore)
        if reason or self._given_back:
            return
        self._given_back = True
        self._end(None)
        try:
            self._connection.send("release", {"hold": self._number}, self._freed)
        except UvzkConnectionError:
            self._is_free = True  # the daemon has released it, or its session ends

    def _freed(self, _: Line) -> None:
        self._is_free = True
        for waits in self._waits:
            if not waits.done():
                waits.set_result(None)

    # ----------------------------------------------------------- what happens to it

    def _happened(self, event: Line) -> None:
        if event["event"] == "lost":
            self._end(lost_because_of(event))
        elif event["event"] == "max_hold":
            self._limit = event["ends_at_ms"]
        elif event["event"] == "revoke" and self._on_revoke:
            self._connection.loop.call_soon(self._on_revoke)

    def _end(self, reason: Optional[UvzkLost]) -> None:
        self._connection.deadlines.forget(self._number)
        self._connection.listen_no_more("hold", self._number)
        self.lost.tell(reason)

    def _look(self) -> None:
        """Is it valid still? A daemon that is stopped cannot tell that it is not."""
        until = self._valid_until()
        left_s = max(0, until - now_ms()) / 1000
        # A file that says 0 is ahead of the event, which has the reason.
        may_be_told = until == 0 if self._slot is not None else True
        if left_s == 0 and (self._late or not may_be_told):
            self._connection.send("release", {"hold": self._number}, ignore)
            self._end(self._why_over())
            return
        self._late = left_s == 0
        if self._slot is None and not self._asked:
            self._asked = True
            self._connection.send("valid", {"hold": self._number}, self._renewed)
        self._look_in(left_s)

    def _look_in(self, left_s: float) -> None:
        if self._late:
            next_s = LATE_ANSWER_S
        elif self._slot is not None:
            next_s = left_s
        else:
            next_s = min(left_s, max(left_s * RENEWAL, SOONEST_S))
        self._connection.deadlines.set(self._number, min(next_s, LONGEST_S), self._look)

    def _why_over(self) -> UvzkLost:
        if self._limit is not None and now_ms() >= self._limit:
            return UvzkLost("UVZK_EMAXHOLD", "the hold has lasted its max_hold", retriable=True)
        return UvzkLost("UVZK_EPROOF", "no proof of ownership came in time", retriable=True)

    def _renewed(self, answer: Line) -> None:
        self._asked = False
        if answer["ok"]:
            self._told_until = max(self._told_until, answer["valid_until_ms"])
