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
from typing import Any, Awaitable, Callable, Generic, List, Optional, Sequence, Type, TypeVar, Union

from . import client as asynchronous
from . import elections, forking, holds, locks
from .daemon import Where
from .errors import UvzkConnectionError, UvzkLost

T = TypeVar("T")


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
        runs = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(runs,), name="uvzk", daemon=True)
        self._thread.start()
        runs.wait()

    def _run(self, runs: threading.Event) -> None:
        self.loop.call_soon(runs.set)
        self.loop.run_forever()
        self.loop.close()

    def begin(self, awaitable: Callable[[], Awaitable[T]], give_up: Callable[[T], None] = lambda _: None) -> Call[T]:
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
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

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

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Any) -> None:
        lost = self.lost.reason
        self.release()
        if lost and kind is None:
            raise lost


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


class ReadWrite:
    def __init__(self, client: Client, path: str) -> None:
        self.read = Lock(client, lambda client: client.read_write(path).read)
        self.write = Lock(client, lambda client: client.read_write(path).write)


class Election:
    """As uvzk.Election, without terms()."""

    def __init__(self, client: Client, path: str, id: str, kind: str) -> None:
        self._client = client
        self._make: "Callable[[asynchronous.Client], elections.Election]" = lambda client: client.election(path, id, kind)

    def lead(self, timeout: Optional[float] = None) -> Hold:
        """Waits until this program leads."""
        return self._client._begin_acquire(lambda client: self._make(client).lead(timeout)).result()

    def leader(self) -> Optional[elections.Leader]:
        return self._client._call(lambda client: self._make(client).leader())

    def participants(self) -> locks.Participants:
        return self._client._call(lambda client: self._make(client).participants())


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

    def connected(self, timeout: float) -> None:
        self._call(lambda client: client.connected(timeout))

    def revoke(self, node: str) -> None:
        self._call(lambda client: client.revoke(node))

    def metrics(self) -> str:
        return self._call(lambda client: client.metrics())

    def contenders(self, path: str) -> List[locks.Contender]:
        return self._call(lambda client: client.contenders(path))
