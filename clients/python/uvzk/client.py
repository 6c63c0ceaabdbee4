# SPDX-License-Identifier: Apache-2.0
"""A client: it has one connection to a daemon, and another one when that has ended."""

from __future__ import annotations

import asyncio
from typing import Any, List, Optional, Sequence

from .atomic_long import AtomicLong
from .barriers import Barrier, DoubleBarrier
from .connection import Connection, open_connection
from .daemon import Where
from .elections import Election
from .errors import UvzkConnectionError
from .holds import Data
from .locks import AllOf, Contender, Lock, ReadWrite, contender_of, ms
from .objects import GroupMember, PersistentNode, Shared

PATIENCE_S = 5.0


def _whoever_waits_has_its_error(opening: "asyncio.Task[None]") -> None:
    """... and if nobody waits any more, it is no matter."""
    if not opening.cancelled():
        opening.exception()


def connect(hosts: Optional[str] = None, *, socket: Optional[str] = None, command: Optional[str] = None,
            options: Sequence[str] = (), max_line: Optional[int] = None) -> Client:  # fmt: skip
    """Returns a client. `async with` begins and closes it; else it begins with its first request.

    hosts: of ZooKeeper, "10.0.0.1:2181,10.0.0.2:2181"; without it $ZOOKEEPER_HOSTS. A daemon is started
    as a child of this process; its reports are on this process's standard error.
    command: the command uvzk; without it $UVZK_COMMAND, the one of the wheel, or the one of PATH.
    options: more of the daemon's, such as ["--session-timeout", "10"].
    socket: of a daemon that runs already, instead of all these.
    max_line: the longest request in bytes that this daemon accepts."""
    return Client(Where(hosts, socket, command, tuple(options), max_line))


class Client:
    """Is used in one event loop. Another one, or a forked process, makes a new connection."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._connection: Optional[Connection] = None
        self._opening: "Optional[asyncio.Task[None]]" = None
        self._closed = False

    async def __aenter__(self) -> Client:
        await self.connection()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self, patience: float = PATIENCE_S) -> None:
        """Releases everything, and waits so many seconds at most until that is done."""
        self._closed = True
        if self._opening:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._connection:
            await self._connection.close(patience)

    async def connected(self, timeout: float) -> None:
        """Returns when the daemon is connected to the servers. UvzkTimeout after so many seconds, which are more
        than 0; ask again whenever you want to know."""
        await (await self.connection()).ask("connected", timeout_ms=ms(timeout))

    async def connection(self, to_ask_servers: bool = False) -> Connection:
        """The connection, which is opened if there is none. For the modules of this package. The servers
        can be asked at once: a daemon that has just begun has found them."""
        while not (self._connection and self._connection.serves()):
            loop = asyncio.get_running_loop()
            if self._closed:
                raise UvzkConnectionError("CLIENT_ECLOSED", "the client was closed")
            if self._opening is None or self._opening.get_loop() is not loop:
                self._opening = loop.create_task(self._open())
                self._opening.add_done_callback(_whoever_waits_has_its_error)
            opening = self._opening
            try:
                await asyncio.shield(opening)
            except asyncio.CancelledError:
                if not opening.cancelled():
                    raise
        if to_ask_servers:
            await self._connection.servers()
        return self._connection

    async def _open(self) -> None:
        try:
            self._connection = await open_connection(self._where)
        finally:
            self._opening = None

    def mutex(self, path: str) -> Lock:
        return Lock(self, path)

    def read_write(self, path: str) -> ReadWrite:
        return ReadWrite(self, path)

    def semaphore(self, path: str, leases: int) -> Lock:
        """`leases` is how many there are, the same in all programs."""
        return Lock(self, path, "semaphore", leases)

    def all_of(self, *locks: Lock, in_turn: bool = False) -> AllOf:
        """Several locks as one. `in_turn`: one after the other, in the order of their paths."""
        return AllOf(self, locks, in_turn)

    def election(self, path: str, id: str, kind: str = "latch") -> Election:
        return Election(self, path, id, kind)

    def shared_value(self, path: str, seed: Data = "") -> Shared[bytes]:
        """`seed`: what a missing znode is created with."""
        return Shared(self, "shared_value", path, seed)

    def shared_count(self, path: str, seed: int = 0) -> Shared[int]:
        """-2^31 to 2^31 - 1."""
        return Shared(self, "shared_count", path, seed)

    def persistent_node(self, path: str, data: Optional[Data] = None, persistent: bool = False) -> PersistentNode:
        """`persistent`: the znode stays if the daemon is killed; else it ends with the daemon's session."""
        return PersistentNode(self, path, data, persistent)

    def group_member(self, path: str, member: str, data: Optional[Data] = None) -> GroupMember:
        return GroupMember(self, path, member, data)

    def barrier(self, path: str) -> Barrier:
        return Barrier(self, path)

    def double_barrier(self, path: str, members: int) -> DoubleBarrier:
        return DoubleBarrier(self, path, members)

    def atomic_long(self, path: str) -> AtomicLong:
        return AtomicLong(self, path)

    async def contenders(self, path: str) -> List[Contender]:
        """All that stand at a path, those that hold first; the first 100."""
        rows = (await (await self.connection(to_ask_servers=True)).ask("status", path=path))["participants"]
        return [contender_of(row) for row in rows]

    async def revoke(self, node: str) -> None:
        """Asks the owner of a lock's znode to release it. If it is not revocable, it hears nothing."""
        await (await self.connection(to_ask_servers=True)).ask("revoke", node=node)

    async def metrics(self) -> str:
        """The daemon's metrics, as text for Prometheus."""
        text: str = (await (await self.connection()).ask("metrics"))["text"]
        return text
