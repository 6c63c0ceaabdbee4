# SPDX-License-Identifier: Apache-2.0
"""Elections, as Curator's LeaderLatch (the default) or LeaderSelector ("mutex") has them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, AsyncGenerator, Optional, Type

from .body import Body
from .connection import Line
from .errors import UvzkError
from .holds import Hold, data_of
from .locks import Acquire, Participants, participants_of, times, watched

if TYPE_CHECKING:
    from .client import Client

# Before it stands again after an error, in seconds: the first pause, each twice as long, and the longest.
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0


class Term(Hold):
    """The time for which this program leads. The block of `async with term` is cancelled when the term
    ends early, and then ends without an error: `term.lost.reason` tells why. At its end the program resigns."""

    async def __aenter__(self) -> Term:
        self._body = Body(self, cancel_on_loss=True)
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Any) -> bool:
        return await self._body.end(kind) is not None


@dataclass(frozen=True)
class Leader:
    """`id` is what it has stood with."""

    id: bytes
    node: str
    token: int


class Election:
    """`id` tells the others who leads: an address, for example."""

    def __init__(self, client: "Client", path: str, id: str, kind: str = "latch") -> None:
        self._client = client
        self._fields: Line = {"path": path, "lock": kind}
        self._id = id

    def lead(self, timeout: Optional[float] = None, *, cancel_on_loss: bool = False) -> Acquire[Term]:
        """As Lock.acquire(), when this program leads."""
        fields: Line = {**self._fields, "data": self._id, **times(timeout)}
        return Acquire(self._client, "elect", fields, Term, cancel_on_loss=cancel_on_loss)

    async def terms(self) -> AsyncGenerator[Term, None]:
        """Stands for election again and again, and yields each term. A term that is still held when the
        next one is asked for is over. Raises errors that are not retriable."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                term = await self.lead()
            except UvzkError as why:
                if not why.retriable:
                    raise
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                continue
            pause_s = FIRST_PAUSE_S
            try:
                yield term
            finally:
                await term.release()

    async def leader(self) -> Optional[Leader]:
        connection = await self._client.connection(to_ask_servers=True)
        found = (await connection.ask("leader", **self._fields))["leader"]
        return None if found is None else Leader(data_of(found), found["node"], found["token"])

    async def participants(self) -> Participants:
        """Without `leader`."""
        connection = await self._client.connection(to_ask_servers=True)
        return participants_of(await connection.ask("participants", **self._fields))

    def watch(self) -> AsyncGenerator[Participants, None]:
        """Yields the participants, with the id of the leader, and again after each change."""
        return watched(self._client, self._fields)
