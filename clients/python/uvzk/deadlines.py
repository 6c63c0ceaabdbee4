# SPDX-License-Identifier: Apache-2.0
"""When each hold of a connection is looked at next."""

from __future__ import annotations

import asyncio
import math
from typing import Callable, Dict, Optional, Tuple


class Deadlines:
    """One timer of the loop for all of them. Most holds are released long before theirs, and a timer of the loop for
    each would cost more than the rest of a hold."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: Dict[int, Tuple[float, Callable[[], None]]] = {}
        self._timer: Optional[asyncio.TimerHandle] = None
        self._at = math.inf  # when the timer runs; no deadline is before that

    def set(self, number: int, seconds: float, reached: Callable[[], None]) -> None:
        """Replaces the one that this number has. `reached` is called once, by the loop."""
        at = self._loop.time() + seconds
        self._due[number] = at, reached
        if at < self._at:
            self._run_at(at)

    def forget(self, number: int) -> None:
        """The timer stays: it finds that there is nothing to do."""
        self._due.pop(number, None)

    def close(self) -> None:
        self._due.clear()
        self._stop()

    def _stop(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer, self._at = None, math.inf

    def _run_at(self, at: float) -> None:
        self._stop()
        self._timer, self._at = self._loop.call_at(at, self._look), at

    def _look(self) -> None:
        reached = self._at  # the loop may be ahead of its own clock by the clock's resolution
        self._stop()
        now = max(reached, self._loop.time())
        try:
            for number in [number for number, (at, _) in self._due.items() if at <= now]:
                if number in self._due:  # not forgotten by another one's call
                    self._due.pop(number)[1]()
        finally:
            if self._due:
                self._run_at(min(at for at, _ in self._due.values()))
