# SPDX-License-Identifier: Apache-2.0
"""Locks on ZooKeeper for asyncio: Apache Curator's recipes, through the daemon `uvzk serve`.

    async with uvzk.connect("10.0.0.1:2181") as client:
        async with client.mutex("/product17").acquire(timeout=5) as hold:
            ...

`uvzk.blocking` has the same for threads, `uvzk.kazoo_shaped` a lock with kazoo's calls."""

from .client import Client, connect
from .elections import Election, Leader, Term
from .errors import UvzkConnectionError, UvzkError, UvzkLost, UvzkTimeout
from .holds import Hold, Write, Znode, check, create, delete, set_data
from .locks import Lock, Participants, ReadWrite
from .objects import Versioned

__version__ = "0.4.0.dev0"
__all__ = [
    "Client", "Election", "Hold", "Leader", "Lock", "Participants", "ReadWrite", "Term", "UvzkConnectionError",
    "UvzkError", "UvzkLost", "UvzkTimeout", "Versioned", "Write", "Znode", "check", "connect", "create", "delete",
    "set_data",
]  # fmt: skip
