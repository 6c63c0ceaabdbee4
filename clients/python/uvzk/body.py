# SPDX-License-Identifier: Apache-2.0
"""The block of an `async with`: the hold is released at its end, and the block is cancelled if the
hold is lost before that."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Optional, Type

from .errors import UvzkLost
from .holds import Hold


class Body:
    """Begins in the task whose block it is."""

    def __init__(self, hold: Hold, cancel_on_loss: bool) -> None:
        self._hold = hold
        self._cancelled = False
        self._task: "Optional[asyncio.Task[Any]]" = None
        if cancel_on_loss:
            self._task = asyncio.current_task()
            self._cancelled_before = _cancellations(self._task)
            hold.lost.add_callback(self._cancel)

    def _cancel(self) -> None:
        if self._task and self._hold.lost.is_set():
            self._cancelled = True
            self._task.cancel()

    async def end(self, kind: Optional[Type[BaseException]]) -> Optional[UvzkLost]:
        """Returns the loss, if it has ended the block, or if no error has."""
        task, self._task = self._task, None
        others_cancel = False
        if self._cancelled:
            uncancel: Callable[[], int] = getattr(task, "uncancel", lambda: 0)
            others_cancel = uncancel() > self._cancelled_before
        reason = self._hold.lost.reason
        await self._hold.release()
        if reason is None:
            return None
        ours = kind is not None and issubclass(kind, asyncio.CancelledError) and self._cancelled and not others_cancel
        return reason if ours or kind is None else None


def _cancellations(task: "Optional[asyncio.Task[Any]]") -> int:
    """Python counts them from 3.11 on. Before, whoever else cancels the task in the same moment is not heard."""
    cancelling: Callable[[], int] = getattr(task, "cancelling", lambda: 0)
    return cancelling()
