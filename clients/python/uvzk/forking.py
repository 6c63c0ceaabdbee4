# SPDX-License-Identifier: Apache-2.0
"""What becomes of connections in a process that is forked: it leaves them to its parent.

The kernel's socket, and the event loop's epoll, are the same in both processes. So the forked one
only closes its own descriptor: it neither shuts the socket down, nor removes it from the loop."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from typing import Callable, Dict

# Held by whoever must not be forked half-way.
lock = threading.RLock()
# What the forked process calls first, in any order.
_leaving: "Dict[int, weakref.WeakMethod[Callable[[], None]]]" = {}
_numbers = itertools.count()


def on_fork(leave: Callable[[], None]) -> int:
    """Has this bound method called in each process that is forked, as long as its object exists."""
    with lock:
        for number in [number for number, reference in _leaving.items() if reference() is None]:
            del _leaving[number]
        number = next(_numbers)
        _leaving[number] = weakref.WeakMethod(leave)
    return number


def forget(number: int) -> None:
    with lock:
        _leaving.pop(number, None)


def _in_the_child() -> None:
    leaving = [leave for reference in _leaving.values() if (leave := reference())]
    _leaving.clear()
    lock.release()
    for leave in leaving:
        leave()


os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=_in_the_child)
