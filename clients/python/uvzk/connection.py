# SPDX-License-Identifier: Apache-2.0
"""One connection to a daemon: requests, answers and events, each a line of JSON.

It is used in the thread of its loop alone. It uses the loop's add_reader and add_writer, and no
transport: a transport that is collected in a forked process would change the parent's epoll."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import socket
import threading
from typing import Any, Callable, Dict, Optional, Tuple

from . import forking
from .daemon import Link, Where, connect
from .deadlines import Deadlines
from .errors import UvzkConnectionError, UvzkError, error_of
from .validity import ValidityFile, validity_file

Line = Dict[str, Any]
Listener = Callable[[Line], None]
# The fields by which an event tells whose it is.
NUMBERED = ("hold", "object", "watch", "id")
# If the connection ends before the answer, the servers may have carried these out.
CHANGES = {"write", "set", "revoke", "barrier_set", "barrier_remove", "atomic_add", "atomic_compare_and_set",
           "atomic_set", "atomic_force_set", "atomic_create"}  # fmt: skip
# Of one read. malloc() has room for so much without asking the kernel.
CHUNK = 1 << 16
# So many bytes of requests do not wait for the end of the turn: the daemon carries them out while the others are made.
BATCH = 2048
# What a daemon that has just begun gets to find the servers, before it is asked what needs them at once.
FIRST_CONTACT_MS = 10000
CLOSED = UvzkConnectionError("CLIENT_ECLOSED", "the client was closed")


_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode


def line_of(number: int, op: str, fields: Line) -> str:
    """A request. Most have texts and numbers alone, which need no encoder of their own."""
    parts = [f'{{"id":{number},"op":"{op}"']
    for name, value in fields.items():
        parts.append(f'"{name}":{value}' if type(value) is int else f'"{name}":{_encode(value)}')
    return ",".join(parts) + "}\n"


def ignore(_: Line) -> None:
    """Of an answer that changes nothing."""


class Latest:
    """The latest of several lines. Whoever gets them one after the other may miss some, but never the last."""

    def __init__(self) -> None:
        self._line: Line = {}
        self._news = asyncio.Event()

    def put(self, line: Line) -> None:
        self._line = line
        self._news.set()

    async def get(self, timeout: Optional[float] = None) -> Line:
        """Returns each of them once. asyncio.TimeoutError after so many seconds, if there is none."""
        if not self._news.is_set():
            await asyncio.wait_for(self._news.wait(), timeout)
        self._news.clear()
        return self._line


class Connection:
    def __init__(self, loop: asyncio.AbstractEventLoop, link: Link, longest_line: int) -> None:
        self.loop = loop
        self._thread = threading.get_ident()
        self.ended: "asyncio.Future[None]" = loop.create_future()
        self.end: Optional[UvzkError] = None  # why there is no connection any more
        self.child = link.child
        self.validity: Optional[ValidityFile] = None
        self.deadlines = Deadlines(loop)
        self._socket = link.socket
        self._socket.setblocking(False)
        self._longest_line = longest_line
        self._last_id = 0
        self._answered: Dict[int, Tuple[str, Listener]] = {}
        self._listeners: Dict[Tuple[str, int], Listener] = {}
        self._read = b""
        self._unsent = bytearray()
        self._turn_is_noted = False
        self._has_writer = False
        self._closing = False
        self._has_waited_for_servers = False
        self._at_fork = forking.on_fork(self._leave)
        loop.add_reader(self._socket.fileno(), self._readable)

    def serves(self) -> bool:
        """Whether it has not ended, and is of the loop that runs in this thread. asyncio.get_running_loop() would ask the
        kernel for the process each time."""
        return self.end is None and self._thread == threading.get_ident() and self.loop.is_running()

    # ------------------------------------------------------------------ requests

    def send(self, op: str, fields: Line, answered: Listener) -> int:
        """Sends a request, and returns its id. `answered` is called once, with the answer or, when the
        connection ends before that, with another one that says so; never within this call."""
        if self.end is not None:
            raise copy.copy(self.end)
        line = line_of(self._last_id + 1, op, fields).encode()
        if len(line) > self._longest_line:
            raise UvzkError("CLIENT_ELINE", f"{op}: the request has {len(line)} bytes; {self._longest_line} are allowed")
        self._last_id += 1
        self._answered[self._last_id] = op, answered
        self._unsent += line
        if not self._turn_is_noted:
            self._turn_is_noted = True
            self.loop.call_soon(self._turn_is_over)
            self._write()  # the first request of a turn does not wait for its end
        elif len(self._unsent) >= BATCH and not self._has_writer:
            self._write()
        return self._last_id

    async def ask(self, op: str, **fields: Any) -> Line:
        """Returns the answer, or raises its error. Who is cancelled does not know whether it was carried out."""
        answer: "asyncio.Future[Line]" = self.loop.create_future()
        self.send(op, fields, lambda line: None if answer.done() else answer.set_result(line))
        line = await answer
        if not line["ok"]:
            raise error_of(line)
        return line

    async def servers(self) -> None:
        """Waits once, until the daemon is connected to the servers: before that they cannot be asked anything.
        What is asked afterwards has its own error if it is not."""
        if self._has_waited_for_servers:
            return
        try:
            await self.ask("connected", timeout_ms=FIRST_CONTACT_MS)
        except UvzkConnectionError:
            raise
        except UvzkError:
            pass  # it is not connected in time; or it is older than this request
        self._has_waited_for_servers = True

    def listen(self, kind: str, number: int, listener: Listener) -> None:
        """Has the listener called with each event that has this number, the last of which says that it is over."""
        self._listeners[kind, number] = listener

    def listen_no_more(self, kind: str, number: int) -> None:
        self._listeners.pop((kind, number), None)

    # ---------------------------------------------------------------------- lines

    def _readable(self) -> None:
        try:
            more = self._socket.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            more = b""
        if not more:
            self._over(CLOSED if self._closing else UvzkConnectionError("CLIENT_EENDED", "the daemon has ended",
                                                                         retriable=True))  # fmt: skip
            return
        bytes_read = self._read + more
        end = bytes_read.rfind(b"\n") + 1
        self._read = bytes_read[end:]
        for line in bytes_read[:end].decode().split("\n"):
            if line:
                self._received(_decode(line)[0])

    def _received(self, line: Line) -> None:
        if "event" not in line:
            _, answered = self._answered.pop(line["id"], ("", ignore))
            answered(line)
            return
        if line["event"] == "closing":
            self._over(UvzkConnectionError(line["error"], line["message"], retriable=True))
            return
        for kind in NUMBERED:
            listener = self._listeners.get((kind, line.get(kind, -1)))
            if listener:
                listener(line)

    def _turn_is_over(self) -> None:
        self._turn_is_noted = False
        self._write()

    def _write(self) -> None:
        """Sends what the kernel takes. The loop calls it again when there is room for the rest."""
        if self.end is not None or not self._unsent:
            return
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._unsent.clear()  # the reader tells it, after what can still be read
        if bool(self._unsent) == self._has_writer:
            return
        self._has_writer = not self._has_writer
        if self._has_writer:
            self.loop.add_writer(self._socket.fileno(), self._write)
        else:
            self.loop.remove_writer(self._socket.fileno())

    # ------------------------------------------------------------------------ end

    async def close(self, patience_s: float) -> None:
        """Returns when the daemon has released everything, at the latest after this time."""
        if self.end is None:
            self._closing = True
            try:
                self._write()
                self._socket.shutdown(socket.SHUT_WR)
                await asyncio.wait([self.ended], timeout=patience_s)
            except OSError:
                pass
        self.drop()

    def drop(self) -> None:
        """Closes it at once. Not in a callback of a hold."""
        self._over(CLOSED)

    def _over(self, why: UvzkError) -> None:
        """Tells everybody who waits for something."""
        if self.end is not None:
            return
        self.end = why
        forking.forget(self._at_fork)
        self.loop.remove_reader(self._socket.fileno())
        self.loop.remove_writer(self._socket.fileno())
        self._socket.close()
        over = {"error": why.code, "message": why.message}
        for (kind, number), listener in list(self._listeners.items()):
            listener({"event": "lost", kind: number, **over})
        for op, answered in list(self._answered.values()):
            answered({"ok": False, "retriable": why.retriable, "unknown": op in CHANGES, **over})
        self._listeners.clear()
        self._answered.clear()
        self.deadlines.close()
        if not self.ended.done():
            self.ended.set_result(None)

    def _leave(self) -> None:
        """In a forked process: all this is the parent's. No loop runs here that could be told."""
        self.end = UvzkConnectionError("CLIENT_EFORKED", "the connection is the parent process's", retriable=True)
        descriptor = self._socket.detach()
        if descriptor >= 0:
            os.close(descriptor)


async def open_connection(where: Where) -> Connection:
    """Starts the daemon, or connects to it, and asks what it speaks."""
    with forking.lock:
        link = connect(where)
        connection = Connection(asyncio.get_running_loop(), link, where.longest_line)
    try:
        hello = await connection.ask("hello", version=1)
    except UvzkConnectionError as why:
        if link.child is None:
            raise
        raise UvzkConnectionError("CLIENT_ECOMMAND", "the daemon has ended at once; its standard error says why") from why
    except UvzkError as why:
        if why.code != "SERVE_EREQUEST":
            raise
        hello = {}  # a daemon that is older than this request
    except asyncio.CancelledError:
        connection.drop()
        raise
    connection.validity = validity_file(hello.get("validity_file"))
    return connection
