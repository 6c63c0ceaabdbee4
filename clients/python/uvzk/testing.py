# SPDX-License-Identifier: Apache-2.0
"""A ZooKeeper in memory for the tests of programs: uvzk-sim-server, which docs/guide/sim-server.md describes.

    @pytest.fixture
    def zookeeper():
        with uvzk.testing.SimulatedServer() as server:
            yield server

Its calls wait, for a few milliseconds each, and may be made in any thread, also in that of a loop."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from typing import List, Optional, Sequence

from . import forking
from .daemon import command_of_wheel
from .errors import UvzkConnectionError

NAME = "uvzk-sim-server"
SERVERS, CONTROL = "servers ", "control "


def find_command(command: Optional[str] = None) -> str:
    """uvzk-sim-server: the one that is named, else $UVZK_SIM_SERVER_COMMAND, the one of the wheel, or of PATH."""
    found = command or os.environ.get("UVZK_SIM_SERVER_COMMAND") or command_of_wheel(NAME) or shutil.which(NAME)
    if not found:
        raise UvzkConnectionError("CLIENT_ECOMMAND", f"{NAME} was not found: neither $UVZK_SIM_SERVER_COMMAND, "
                                  "nor in the package, nor in PATH")  # fmt: skip
    return found


class SimulatedServer:
    """Runs from now on, until close() or the end of `with`. `options` are the command's, such as
    ["--min-session", "500"]; `hosts` is for uvzk.connect()."""

    def __init__(self, command: Optional[str] = None, options: Sequence[str] = ()) -> None:
        self._lock = threading.Lock()
        with forking.lock:
            self._process = subprocess.Popen([find_command(command), *options], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, text=True)  # fmt: skip
        assert self._process.stdout is not None
        with self._process.stdout as told:
            lines = [told.readline().strip() for _ in range(2)]
        if not (lines[0].startswith(SERVERS) and lines[1].startswith(CONTROL)):
            self.close()
            raise UvzkConnectionError("CLIENT_ECOMMAND", f"{NAME} has ended at once; its standard error says why")
        self.hosts = lines[0][len(SERVERS) :]
        self._control_port = int(lines[1].rpartition(":")[2])

    def command(self, text: str) -> List[str]:
        """Carries out one of its commands, such as "cut all". Returns the lines of the answer."""
        lines: List[str] = []
        with self._lock, socket.create_connection(("127.0.0.1", self._control_port)) as control:
            control.sendall(f"{text}\n".encode())
            for line in control.makefile():
                if line == "ok\n":
                    return lines
                if line.startswith("error"):
                    raise ValueError(f"{text}: {line.strip()}")
                lines.append(line.rstrip("\n"))
        raise ConnectionError(f"{text}: the server has ended")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> SimulatedServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
