# SPDX-License-Identifier: Apache-2.0
"""A lock with the calls of kazoo's `Lock`, and the znodes of Curator's mutex.

Locks of this package and kazoo's own do not exclude one another: kazoo names its znodes in another
way. So change over while no program uses kazoo's lock at the path. (kazoo's with
extra_lock_patterns=["-lock-"] waits for these locks, but they do not wait for it.)"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any, List, Optional, Type

from . import forking
from .blocking import Call, Client, Hold
from .errors import UvzkError, UvzkTimeout


class LockTimeout(UvzkTimeout):
    """As kazoo.exceptions.LockTimeout."""


class CancelledError(UvzkError):
    """As kazoo.exceptions.CancelledError: cancel() has ended an acquire."""


class Lock:
    """As kazoo.recipe.lock.Lock, of a uvzk.blocking.Client: not re-entrant, and for any thread.

    At the end of `with`, UvzkLost is raised if the lock was lost, where kazoo is silent."""

    def __init__(self, client: Client, path: str, identifier: Optional[str] = None) -> None:
        self.path = path
        self._client = client
        self._lock = client.mutex(path)
        self._identifier = str(identifier or "")
        self._hold: Optional[Hold] = None
        self._begin_again()

    def _begin_again(self) -> None:
        """Also in a forked process, which has not acquired it."""
        self._free = threading.Lock()  # taken from an acquire to its release
        self._hold = None
        self._acquire: Optional[Call[Hold]] = None
        self._cancelled = False
        forking.on_fork(self._begin_again)

    @property
    def is_acquired(self) -> bool:
        """False when the lock was lost, too."""
        return self._hold is not None and not self._hold.lost.is_set()

    def acquire(self, blocking: bool = True, timeout: Optional[float] = None) -> bool:
        """Waits for so many seconds at most, or forever, and then raises LockTimeout. Returns False if
        the lock is not free and `blocking` is false, or if this object has it already."""
        if self._hold and self._hold.lost.is_set():
            self.release()
        end = None if timeout is None else time.monotonic() + timeout
        if not self._free.acquire(blocking, -1 if timeout is None or not blocking else timeout):
            return False
        left = None if end is None else max(0.0, end - time.monotonic())
        try:
            self._acquire = self._lock.begin_acquire(left if blocking else 0, data=self._identifier)
            if self._cancelled:
                self._acquire.cancel()
            self._hold = self._acquire.result()
        except asyncio.CancelledError:
            raise CancelledError("UV_ECANCELED", "cancelled by cancel()", retriable=True) from None
        except UvzkTimeout as why:
            if not blocking:
                return False
            raise LockTimeout(why.code, why.message, retriable=why.retriable) from None
        finally:
            self._acquire, self._cancelled = None, False
            if self._hold is None:
                self._free.release()
        return True

    def release(self) -> bool:
        """Returns whether this object has held the lock until now."""
        hold, self._hold = self._hold, None
        if hold is None:
            return False
        held = not hold.lost.is_set()
        try:
            hold.release()
        finally:
            self._free.release()
        return held

    def cancel(self) -> None:
        """Ends the acquire that another thread waits for, or else the next one, with CancelledError."""
        self._cancelled = True
        acquire = self._acquire
        if acquire:
            acquire.cancel()

    def contenders(self) -> List[str]:
        """The identifiers of the one that holds and of those who wait."""
        return [contender.data.decode(errors="replace") for contender in self._client.contenders(self.path)]

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, kind: Optional[Type[BaseException]], *_: Any) -> None:
        lost = self._hold and self._hold.lost.reason
        self.release()
        if lost and kind is None:
            raise lost
