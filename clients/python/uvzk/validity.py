# SPDX-License-Identifier: Apache-2.0
"""Until when a hold is valid: the daemon's file in memory, and the clock.

docs/guide/serve.md describes the file. It can be read at any moment, in any thread, and without a
turn of the loop."""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import Optional

HEAD = struct.Struct("=8sIIII")
SLOT = struct.Struct("=QQ")  # the number of the hold, and its end in ms of CLOCK_BOOTTIME


def now_ms() -> int:
    """CLOCK_BOOTTIME, rounded up."""
    return -(-time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000)


class ValidityFile:
    def __init__(self, path: str) -> None:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Never closed by hand: a thread may be reading it.
            self._bytes = mmap.mmap(file, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(file)
        magic, version, self._begin, self._size, _ = HEAD.unpack(self._bytes[: HEAD.size])
        if (magic, version) != (b"uvzkhold", 1):
            raise OSError(f"{path}: another layout")

    def valid_until_ms(self, slot: int, hold: int) -> int:
        """Returns 0 when the hold is over."""
        begin = self._begin + self._size * slot
        before = None
        while (now := self._bytes[begin : begin + SLOT.size]) != before:
            before = now
        number: int
        until: int
        number, until = SLOT.unpack(now)
        return until if number == hold else 0


def validity_file(path: Optional[str]) -> Optional[ValidityFile]:
    """Returns None if this process cannot read it: then `valid` is asked."""
    try:
        return ValidityFile(path) if path else None
    except (OSError, ValueError):
        return None
