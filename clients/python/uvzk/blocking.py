# SPDX-License-Identifier: Apache-2.0
"""The same for threads: Django, celery and scripts. Each call waits; any thread may make it.

    client = uvzk.blocking.Client("10.0.0.1:2181")
    with client.mutex("/product17").acquire(timeout=5) as hold:
        ...

A client begins with its first request, in each process anew: a forked process has a daemon of its
own, and none of its parent's holds. So a client may be made before a server forks its workers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from typing import (Any, AsyncGenerator, Awaitable, Callable, Dict, Generator, Generic, List, Optional, Sequence, Type,
                    TypeVar, Union)  # fmt: skip

from . import client as asynchronous
from . import barriers, elections, forking, holds, locks, objects
from .daemon import Where
from .errors import UvzkConnectionError, UvzkError, UvzkLost

T = TypeVar("T")
S = TypeVar("S")
A = TypeVar("A", bound=objects.Opened)
V = TypeVar("V", bytes, int)
H = TypeVar("H", bound="Hold")
O = TypeVar("O", bound="Opened[Any]")


class Call(Generic[T]):
    """Something that the loop's thread does while another thread waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, awaitable: Callable[[], Awaitable[T]],
                 give_up: Callable[[T], None]) -> None:  # fmt: skip
        self._loop = loop
        self._awaitable = awaitable
        self._give_up = give_up
        self._answered: "concurrent.futures.Future[T]" = concurrent.futures.Future()
        self._task: "Optional[asyncio.Task[T]]" = None
        self._nobody_waits = False
        loop.call_soon_threadsafe(self._begin)

    def result(self) -> T:
        """If the thread that waits is interrupted, the task is cancelled; a result that comes all the
        same is given up."""
        try:
            return self._answered.result()
        except BaseException:
            if not (self._answered.done() and self._answered.exception()):
                self._loop.call_soon_threadsafe(self._interrupt)
            raise

    def cancel(self) -> None:
        """In any thread. The result is an asyncio.CancelledError, unless it has come before."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and so this is over
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())

    # In the loop's thread:

    async def _wait(self) -> T:
        return await self._awaitable()

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._wait())
        self._task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[T]") -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is not None:
            self._answered.set_exception(error)
        elif self._nobody_waits:
            self._give_up(task.result())
        else:
            self._answered.set_result(task.result())

    def _interrupt(self) -> None:
        self._nobody_waits = True
        task = self._task
        if task and not task.cancel() and not task.cancelled() and not task.exception():
            self._give_up(task.result())


class Thread:
    """A thread of this process that runs a loop, and an asyncio client in it."""

    def __init__(self, where: Where) -> None:
        self.loop = asyncio.SelectorEventLoop()
        self.client = asynchronous.Client(where)
        self._closed = False
        self._beginning = threading.Lock()
        self._forked = False
        self._at_fork = forking.on_fork(self._leave)
        runs = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(runs,), name="uvzk", daemon=True)
        self._thread.start()
        runs.wait()

    def _run(self, runs: threading.Event) -> None:
        self.loop.call_soon(runs.set)
        self.loop.run_forever()
        self.loop.close()

    def _leave(self) -> None:
        """In a forked process, where it does not run."""
        self._forked = True

    def runs_here(self) -> bool:
        return threading.current_thread() is self._thread

    def begin(self, awaitable: Callable[[], Awaitable[T]], give_up: Callable[[T], None] = lambda _: None) -> Call[T]:
        if self._forked:
            raise UvzkConnectionError("CLIENT_EFORKED", "it is the parent process's", retriable=True)
        with self._beginning:
            if self._closed:
                raise UvzkConnectionError("CLIENT_ECLOSED", "the client was closed")
            return Call(self.loop, awaitable, give_up)

    def call(self, awaitable: Callable[[], Awaitable[T]]) -> T:
        return self.begin(awaitable).result()

    def close(self) -> None:
        """What has begun ends, with an error if need be."""
        with self._beginning:
            self._closed = True
            closing = Call(self.loop, self._close, lambda _: None)
        closing.result()
        forking.forget(self._at_fork)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def each(self, make: Callable[[], AsyncGenerator[T, None]], shown: Callable[[T], S]) -> Generator[S, None, None]:
        """What the asynchronous generator yields. Its end waits for that of the other, but in the loop's thread,
        where Python may collect it, too."""
        inner = make()
        try:
            while True:
                try:
                    item = self.call(inner.__anext__)
                except StopAsyncIteration:
                    return
                yield shown(item)
        finally:
            with contextlib.suppress(UvzkError):
                ending = self.begin(inner.aclose)
                if not self.runs_here():
                    ending.result()

    async def _close(self) -> None:
        await self.client.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)


class Loss:
    """The end of a hold without a release."""

    def __init__(self, loss: holds.Loss) -> None:
        self._loss = loss
        self._over = threading.Event()
        loss.add_callback(self._over.set)

    @property
    def reason(self) -> Optional[UvzkLost]:
        return self._loss.reason

    def is_set(self) -> bool:
        return self._loss.is_set()

    def wait(self, timeout: Optional[float] = None) -> Optional[UvzkLost]:
        """Returns the reason; None when the hold was released, or after so many seconds."""
        if not self.is_set():
            self._over.wait(timeout)
        return self.reason


class Hold:
    """As uvzk.Hold. At the end of its `with` it is released; if it was lost before, UvzkLost is raised."""

    def __init__(self, thread: Thread, hold: holds.Hold) -> None:
        self._thread = thread
        self._hold = hold
        self.lost = Loss(hold.lost)
        self.token = hold.token
        self.nodes = hold.nodes

    @property
    def node(self) -> str:
        return self._hold.node

    def valid_for_ms(self) -> int:
        """Does not wait for anything."""
        return self._hold.valid_for_ms()

    def _call(self, awaitable: Callable[[], Awaitable[T]]) -> T:
        if self.lost.reason:
            raise self.lost.reason
        return self._thread.call(awaitable)

    def valid(self) -> int:
        return self._call(self._hold.valid)

    def verify(self) -> int:
        return self._call(self._hold.verify)

    def write(self, *writes: holds.Write) -> None:
        self._call(lambda: self._hold.write(*writes))

    def read(self, path: str) -> holds.Znode:
        return self._call(lambda: self._hold.read(path))

    def release(self) -> None:
        """Nothing happens if the hold is over."""
        lost = self.lost.reason
        if lost is None or lost.code == "SERVE_EENDING":
            with contextlib.suppress(UvzkConnectionError):  # closed, and so released
                self._thread.call(self._hold.release)

    def __enter__(self: H) -> H:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Any) -> None:
        lost = self.lost.reason
        self.release()
        if lost and kind is None:
            raise lost


class Term(Hold):
    """As uvzk.Term, but no loss ends its block: ask `term.lost`. Its `with` ends without an error all the same."""

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Any) -> None:
        self.release()


class AllOf:
    """As uvzk.locks.AllOf; and what all locks are."""

    def __init__(self, client: Client,
                 make: "Callable[[asynchronous.Client], Union[locks.Lock, locks.AllOf]]") -> None:  # fmt: skip
        self._client = client
        self._make_any = make

    def acquire(self, timeout: Optional[float] = None, **more: Any) -> Hold:
        """Waits until it is granted. As uvzk.Lock.acquire(), without cancel_on_loss; on_queued and
        on_revoke are called in the client's thread, so they must not call the client."""
        return self.begin_acquire(timeout, **more).result()

    def begin_acquire(self, timeout: Optional[float] = None, **more: Any) -> Call[Hold]:
        """Returns at once; its result() waits, its cancel() may be called by another thread."""
        return self._client._begin_acquire(lambda client: self._make_any(client).acquire(timeout, **more))


class Lock(AllOf):
    """As uvzk.Lock."""

    def __init__(self, client: Client, make: "Callable[[asynchronous.Client], locks.Lock]") -> None:
        super().__init__(client, make)
        self._make = make

    def participants(self) -> locks.Participants:
        return self._client._call(lambda client: self._make(client).participants())

    def watch(self) -> Generator[locks.Participants, None, None]:
        """Yields the participants, and waits for each change."""
        return self._client._each(lambda client: self._make(client).watch())


class ReadWrite:
    def __init__(self, client: Client, path: str) -> None:
        self.read = Lock(client, lambda client: client.read_write(path).read)
        self.write = Lock(client, lambda client: client.read_write(path).write)


class Election:
    """As uvzk.Election."""

    def __init__(self, client: Client, path: str, id: str, kind: str) -> None:
        self._client = client
        self._make: "Callable[[asynchronous.Client], elections.Election]" = lambda client: client.election(path, id, kind)

    def lead(self, timeout: Optional[float] = None) -> Hold:
        """Waits until this program leads."""
        return self._client._begin_acquire(lambda client: self._make(client).lead(timeout)).result()

    def terms(self) -> Generator[Term, None, None]:
        """Stands for election again and again, and yields each term. A term that is still held when the next
        one is asked for, or when the generator is closed, is over."""
        thread = self._client._running()
        return thread.each(lambda: self._make(thread.client).terms(), lambda term: Term(thread, term))

    def leader(self) -> Optional[elections.Leader]:
        return self._client._call(lambda client: self._make(client).leader())

    def participants(self) -> locks.Participants:
        return self._client._call(lambda client: self._make(client).participants())

    def watch(self) -> Generator[locks.Participants, None, None]:
        return self._client._each(lambda client: self._make(client).watch())


class AtomicLong:
    """As uvzk.atomic_long.AtomicLong."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path

    def get(self) -> int:
        return self._client._call(lambda client: client.atomic_long(self._path).get())

    def add(self, delta: int = 1) -> int:
        return self._client._call(lambda client: client.atomic_long(self._path).add(delta))

    def set(self, value: int) -> int:
        return self._client._call(lambda client: client.atomic_long(self._path).set(value))

    def compare_and_set(self, expected: int, value: int) -> None:
        self._client._call(lambda client: client.atomic_long(self._path).compare_and_set(expected, value))

    def create(self, value: int) -> None:
        self._client._call(lambda client: client.atomic_long(self._path).create(value))


class Barrier:
    """As uvzk.barriers.Barrier."""

    def __init__(self, client: Client, path: str) -> None:
        self._client = client
        self._path = path

    def set(self) -> None:
        self._client._call(lambda client: client.barrier(self._path).set())

    def remove(self) -> None:
        self._client._call(lambda client: client.barrier(self._path).remove())

    def wait(self, timeout: Optional[float] = None) -> None:
        self._client._call(lambda client: client.barrier(self._path).wait(timeout))


class DoubleBarrier:
    """As uvzk.barriers.DoubleBarrier. `with` enters and leaves."""

    def __init__(self, client: Client, path: str, members: int) -> None:
        self._client = client
        self._make: "Callable[[asynchronous.Client], barriers.DoubleBarrier]" = (
            lambda client: client.double_barrier(path, members))  # fmt: skip
        self._entered: "Optional[tuple[Thread, barriers.DoubleBarrier]]" = None

    def enter(self, timeout: Optional[float] = None) -> None:
        if self._entered is not None:
            raise UvzkError("UVZK_ESTATE", "it has entered already")
        thread = self._client._running()
        barrier = self._make(thread.client)
        thread.begin(lambda: barrier.enter(timeout), give_up=lambda _: barrier.give_back()).result()
        self._entered = thread, barrier

    def leave(self, timeout: Optional[float] = None) -> None:
        if self._entered is None:
            raise UvzkError("UVZK_ESTATE", "it has not entered")
        (thread, barrier), self._entered = self._entered, None
        thread.call(lambda: barrier.leave(timeout))

    def __enter__(self) -> DoubleBarrier:
        self.enter()
        return self

    def __exit__(self, *_: Any) -> None:
        self.leave()


class Opened(Generic[A]):
    """Is opened by `with`, and is closed at its end."""

    def __init__(self, client: Client, make: "Callable[[asynchronous.Client], A]") -> None:
        self._client = client
        self._make = make
        self._open: "Optional[tuple[Thread, A]]" = None

    def __enter__(self: O) -> O:
        thread = self._client._running()
        opened: objects.Opened = self._make(thread.client)
        thread.begin(opened.__aenter__, give_up=lambda _: opened.give_back()).result()
        self._open = thread, opened
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._open
        (thread, opened), self._open = self._open, None
        with contextlib.suppress(UvzkConnectionError):  # closed with its client, or the parent process's
            thread.call(opened.__aexit__)

    def _ask(self, asks: Callable[[A], Awaitable[T]]) -> T:
        if self._open is None:
            raise UvzkError("UVZK_ECLOSED", "it is not open: use `with`")
        thread, opened = self._open
        return thread.call(lambda: asks(opened))


class Shared(Opened["objects.Shared[V]"], Generic[V]):
    """As uvzk.objects.Shared."""

    def get(self) -> "objects.Versioned[V]":
        return self._ask(lambda value: value.get())

    def set(self, value: V, if_unchanged: "Optional[objects.Versioned[V]]" = None) -> None:
        self._ask(lambda shared: shared.set(value, if_unchanged))

    def changed(self, timeout: Optional[float] = None) -> "objects.Versioned[V]":
        """Waits for the first value, and then for each change."""
        return self._ask(lambda value: value.changed(timeout))


class PersistentNode(Opened[objects.PersistentNode]):
    """As uvzk.objects.PersistentNode."""

    def there(self, timeout: Optional[float] = None) -> None:
        self._ask(lambda node: node.there(timeout))

    def set(self, data: holds.Data) -> None:
        self._ask(lambda node: node.set(data))


class GroupMember(Opened[objects.GroupMember]):
    """As uvzk.objects.GroupMember."""

    def set(self, data: holds.Data) -> None:
        self._ask(lambda member: member.set(data))

    def members(self) -> Dict[str, bytes]:
        return self._ask(lambda member: member.members())

    def changed(self, timeout: Optional[float] = None) -> Dict[str, bytes]:
        """Waits for the next change."""
        return self._ask(lambda member: member.changed(timeout))


class Client:
    """The arguments are those of uvzk.connect()."""

    def __init__(self, hosts: Optional[str] = None, *, socket: Optional[str] = None, command: Optional[str] = None,
                 options: Sequence[str] = (), max_line: Optional[int] = None) -> None:  # fmt: skip
        self._where = Where(hosts, socket, command, tuple(options), max_line)
        self._thread: Optional[Thread] = None
        self._left: List[Thread] = []
        self._closed = False
        self._begin_again()

    def _begin_again(self) -> None:
        """Also in a forked process. What is left to the parent is kept: nothing of it is to be closed here."""
        if self._thread:
            self._left.append(self._thread)
        self._thread = None
        self._lock = threading.Lock()
        forking.on_fork(self._begin_again)

    def _running(self) -> Thread:
        with self._lock:
            if self._closed:
                raise UvzkConnectionError("CLIENT_ECLOSED", "the client was closed")
            if self._thread is None:
                with forking.lock:
                    self._thread = Thread(self._where)
            return self._thread

    def _call(self, asks: "Callable[[asynchronous.Client], Awaitable[T]]") -> T:
        thread = self._running()
        return thread.call(lambda: asks(thread.client))

    def _each(self, make: "Callable[[asynchronous.Client], AsyncGenerator[T, None]]") -> Generator[T, None, None]:
        thread = self._running()
        return thread.each(lambda: make(thread.client), lambda item: item)

    def _begin_acquire(self, asks: "Callable[[asynchronous.Client], Awaitable[holds.Hold]]") -> Call[Hold]:
        thread = self._running()

        async def acquire() -> Hold:
            return Hold(thread, await asks(thread.client))

        return thread.begin(acquire, give_up=lambda hold: hold._hold.give_back())

    def close(self) -> None:
        """Releases everything."""
        with self._lock:
            thread, self._thread, self._closed = self._thread, None, True
        if thread:
            thread.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def mutex(self, path: str) -> Lock:
        return Lock(self, lambda client: client.mutex(path))

    def read_write(self, path: str) -> ReadWrite:
        return ReadWrite(self, path)

    def semaphore(self, path: str, leases: int) -> Lock:
        return Lock(self, lambda client: client.semaphore(path, leases))

    def all_of(self, *locks: Lock, in_turn: bool = False) -> AllOf:
        return AllOf(self, lambda client: client.all_of(*(lock._make(client) for lock in locks), in_turn=in_turn))

    def election(self, path: str, id: str, kind: str = "latch") -> Election:
        return Election(self, path, id, kind)

    def atomic_long(self, path: str) -> AtomicLong:
        return AtomicLong(self, path)

    def barrier(self, path: str) -> Barrier:
        return Barrier(self, path)

    def double_barrier(self, path: str, members: int) -> DoubleBarrier:
        return DoubleBarrier(self, path, members)

    def shared_value(self, path: str, seed: holds.Data = "") -> Shared[bytes]:
        return Shared(self, lambda client: client.shared_value(path, seed))

    def shared_count(self, path: str, seed: int = 0) -> Shared[int]:
        return Shared(self, lambda client: client.shared_count(path, seed))

    def persistent_node(self, path: str, data: Optional[holds.Data] = None, persistent: bool = False) -> PersistentNode:
        return PersistentNode(self, lambda client: client.persistent_node(path, data, persistent))

    def group_member(self, path: str, member: str, data: Optional[holds.Data] = None) -> GroupMember:
        return GroupMember(self, lambda client: client.group_member(path, member, data))

    def connected(self, timeout: float) -> None:
        self._call(lambda client: client.connected(timeout))

    def revoke(self, node: str) -> None:
        self._call(lambda client: client.revoke(node))

    def metrics(self) -> str:
        return self._call(lambda client: client.metrics())

    def contenders(self, path: str) -> List[locks.Contender]:
        return self._call(lambda client: client.contenders(path))
