# SPDX-License-Identifier: Apache-2.0
"""The daemon `uvzk serve`: as a child of this process, or the one that has a socket."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, Sequence

from .errors import UvzkConnectionError

# Of a request, in bytes. A child is told the greater one: a znode's data may have a megabyte.
LINE_OF_A_SOCKET = 16384
LINE_OF_A_CHILD = 4 << 20


@dataclass(frozen=True)
class Where:
    """Which daemon: that of `socket`, or a child."""

    hosts: Optional[str] = None
    socket: Optional[str] = None
    command: Optional[str] = None
    options: Sequence[str] = ()
    max_line: Optional[int] = None

    def __post_init__(self) -> None:
        if self.socket and (self.hosts or self.command or self.options):
            raise ValueError("with socket, there are no hosts, command and options: the daemon has its own")

    @property
    def longest_line(self) -> int:
        return self.max_line or (LINE_OF_A_SOCKET if self.socket else LINE_OF_A_CHILD)


@dataclass(frozen=True)
class Link:
    """A connected socket, and the child at its other end if there is one."""

    socket: socket.socket
    child: Optional[subprocess.Popen[bytes]]


def command_of_wheel(name: str) -> Optional[str]:
    """Returns None if the wheel has no such command."""
    own = Path(__file__).parent / "bin" / name
    return str(own) if own.exists() else None


def find_command(command: Optional[str] = None) -> str:
    """The command uvzk: the one that is named, else $UVZK_COMMAND, the one of the wheel, or of PATH."""
    found = command or os.environ.get("UVZK_COMMAND") or command_of_wheel("uvzk") or shutil.which("uvzk")
    if not found:
        raise UvzkConnectionError("CLIENT_ECOMMAND", "the command uvzk was not found: neither $UVZK_COMMAND, "
                                  "nor in the package, nor in PATH")  # fmt: skip
    return found


def connect(where: Where) -> Link:
    """Blocks for the few milliseconds of a fork and an exec, or of a connect to a Unix socket.

    No process may be forked meanwhile (forking.lock): it would have both ends open, and keep the connection
    from ending."""
    return _connect(where.socket) if where.socket else _start(where)


def _connect(path: str) -> Link:
    ours = socket.socket(socket.AF_UNIX)
    try:
        ours.connect(path)
    except OSError as why:
        ours.close()
        raise UvzkConnectionError("CLIENT_EENDED", f"{path}: {why.strerror}", retriable=True) from why
    return Link(ours, None)


def _start(where: Where) -> Link:
    command = [find_command(where.command), "serve"]
    if where.hosts:
        command += ["--hosts", where.hosts]
    ours, other = socket.socketpair()
    try:
        child = subprocess.Popen(
            [*command, "--max-line", str(where.longest_line), *where.options,
             "--fd", str(other.fileno()), "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[other.fileno()])  # fmt: skip
    except OSError as why:
        ours.close()
        raise UvzkConnectionError("CLIENT_ECOMMAND", f"{command[0]}: {why.strerror}") from why
    finally:
        other.close()
    threading.Thread(target=child.wait, name="uvzk-child", daemon=True).start()  # so that it is no zombie
    return Link(ours, child)
