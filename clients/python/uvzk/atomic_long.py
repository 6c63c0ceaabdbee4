# SPDX-License-Identifier: Apache-2.0
"""An atomic long: a number that all clients change one after the other, as Curator's DistributedAtomicLong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .connection import Line

if TYPE_CHECKING:
    from .client import Client


class AtomicLong:
    """-2^63 to 2^63 - 1. After an error whose `outcome_unknown` is true, the change may have been made."""

    def __init__(self, client: "Client", path: str) -> None:
        self._client = client
        self._path = path

    async def _ask(self, op: str, **fields: Any) -> Line:
        return await (await self._client.connection()).ask(op, path=self._path, **fields)

    async def get(self) -> int:
        number: int = (await self._ask("atomic_get"))["value"]
        return number

    async def add(self, delta: int = 1) -> int:
        """Returns the sum."""
        number: int = (await self._ask("atomic_add", delta=delta))["value"]
        return number

    async def set(self, value: int) -> int:
        """Returns the value before."""
        number: int = (await self._ask("atomic_set", value=value))["previous"]
        return number

    async def compare_and_set(self, expected: int, value: int) -> None:
        """An error with UVZK_EBADVERSION if it has another value."""
        await self._ask("atomic_compare_and_set", expected=expected, value=value)

    async def create(self, value: int) -> None:
        """An error with UVZK_ENODEEXISTS if it is there already."""
        await self._ask("atomic_create", value=value)
