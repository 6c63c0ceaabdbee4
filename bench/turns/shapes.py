# SPDX-License-Identifier: Apache-2.0
"""What is measured: the shapes of work, and who takes part in each.

A shape is the flags of bench/tasks, which the peers take too; `raw` is the yardstick, if
there is one: the arguments of raw_tasks. `quick` shapes are those of bench/run --quick."""

from dataclasses import dataclass, field

CYCLES = "cycles"  # acquire, release, again, for a while
PENDING = "pending"  # everybody queues on one path, then the queue drains
BYTES = "bytes"  # what a pending acquire costs, each on a path of its own

# Of the warming up, and of the window: in each every task has several turns. The first ones, on
# fresh directories, take ten thousand tasks a second or two.
LEAST_MS_A_TASK = 0.4


@dataclass(frozen=True)
class Shape:
    name: str
    title: str
    tasks: int
    paths: int = 1
    sessions: int = 1
    recipe: str = "mutex"
    raw: tuple = ()
    peers: tuple = ("uvzk", "raw", "curator")
    kind: str = CYCLES
    quick: tuple = field(default=())  # of the peers, who take part in --quick
    processes: int = 1  # the tasks are so many in all
    hold: int = 0  # ms of each
    beside: tuple = ()  # who takes part in --peers

    @property
    def journaled(self):
        """Whether the holds are written down: what one process sees is not all."""
        return self.processes > 1 or self.hold > 0

    def flags(self):
        """Of one of its processes."""
        flags = {"recipe": self.recipe, "tasks": self.tasks // self.processes,
                 "paths": self.paths, "sessions": self.sessions}  # fmt: skip
        if self.hold:
            flags["hold"] = self.hold
        return [word for name, value in flags.items() for word in (f"--{name}", str(value))]

    def least_ms(self):
        return int(self.tasks * LEAST_MS_A_TASK) if self.kind == CYCLES else 0


PROCESSES = 10  # of the shapes that have more than one

ALL = ("uvzk", "native", "raw", "curator", "kazoo")
FOUR = ("uvzk", "native", "raw", "curator")
NO_RAW = ("uvzk", "native", "curator", "kazoo")
NO_KAZOO = ("uvzk", "native", "curator")
REDIS = ("redlock", "redis-semaphore", "redisson")
BESIDE = (*ALL, "etcd", *REDIS)
LOCKS = tuple(peer for peer in BESIDE if peer != "raw")
IN_ORDER = tuple(peer for peer in LOCKS if peer not in REDIS)  # who grant in the order of the acquires


def distinct(tasks, peers, quick=(), sessions=1, beside=()):
    """Each task has a mutex of its own."""
    work = ("singles",) if tasks < 64 else ("multis", "--batch", "64")
    many = f", {sessions} sessions" if sessions > 1 else ""
    return Shape(f"distinct-{tasks}" + (f"-s{sessions}" if sessions > 1 else ""),
                 f"distinct mutexes, {tasks:,} task" + ("s" if tasks > 1 else "") + many,
                 tasks, paths=tasks, sessions=sessions, peers=peers, quick=quick, beside=beside,
                 raw=(*work, "--tasks", str(tasks), "--paths", str(tasks)))  # fmt: skip


def one_path(tasks, peers, quick=(), sessions=1, beside=()):
    """All tasks at one mutex. The yardstick of one session is the creates and deletes of so
    many in one directory; of several, that an event of one is acted on by the next."""
    if sessions == 1:
        raw = ("singles", "--tasks", str(tasks), "--paths", "1")
    else:
        raw = ("handoff", "--tasks", str(max(tasks, 100)), "--sessions", str(sessions))
    many = f", {sessions} sessions" if sessions > 1 else ""
    return Shape(f"one-path-{tasks}" + (f"-s{sessions}" if sessions > 1 else ""),
                 f"one mutex, {tasks:,} tasks" + many, tasks, sessions=sessions, peers=peers,
                 quick=quick, raw=raw, beside=beside)  # fmt: skip


def processes(tasks, hold=0):
    """At one mutex, each process with a session of its own."""
    held = f", holds of {hold} ms" if hold else ""
    return Shape(("handover" if hold else "one-path") + f"-{tasks}-p{PROCESSES}",
                 f"one mutex, {tasks} tasks in {PROCESSES} processes{held}", tasks, peers=(),
                 processes=PROCESSES, hold=hold, beside=IN_ORDER if hold else LOCKS)


def handover(sessions, peers, quick=(), beside=()):
    """Holds of a millisecond: from the call of a release until the next task holds."""
    return Shape(f"handover-{sessions}-s{sessions}",
                 f"one mutex, {sessions} sessions with a task each, holds of 1 ms", sessions,
                 sessions=sessions, hold=1, peers=peers, quick=quick, beside=beside,
                 raw=("handoff", "--tasks", "100", "--sessions", str(sessions), "--hold", "1"))


def semaphore(tasks, peers, quick=(), sessions=1):
    many = f", {sessions} sessions" if sessions > 1 else ""
    return Shape(f"semaphore-{tasks}" + (f"-s{sessions}" if sessions > 1 else ""),
                 f"semaphore of 3, {tasks} tasks" + many, tasks, sessions=sessions,
                 recipe="semaphore", peers=peers, quick=quick)  # fmt: skip


SHAPES = (
    distinct(1, ALL, quick=FOUR, beside=BESIDE),
    distinct(16, ALL, quick=ALL, beside=BESIDE),
    distinct(256, ALL, quick=FOUR, beside=BESIDE),
    distinct(1000, FOUR, quick=FOUR),
    distinct(10000, ("uvzk", "native", "raw")),
    distinct(10000, ("uvzk", "native"), sessions=4),
    one_path(10, ALL, beside=LOCKS),
    one_path(100, ALL, quick=ALL, beside=LOCKS),
    one_path(1000, FOUR, beside=tuple(peer for peer in LOCKS if peer != "kazoo")),
    one_path(10000, ("uvzk", "native", "raw")),
    one_path(20, NO_KAZOO, sessions=2),
    one_path(100, NO_KAZOO, sessions=2),
    one_path(10, FOUR, sessions=10),
    one_path(100, FOUR, quick=FOUR, sessions=10),
    one_path(100, FOUR, sessions=100),
    one_path(1000, FOUR, sessions=10),
    handover(2, FOUR),
    handover(10, FOUR, quick=FOUR, beside=BESIDE),
    handover(100, FOUR),
    handover(1000, FOUR),
    processes(10),
    processes(100),
    processes(10, hold=1),
    semaphore(10, NO_RAW, quick=NO_KAZOO),
    semaphore(100, NO_RAW),
    semaphore(10, NO_KAZOO, sessions=10),
    semaphore(100, NO_KAZOO, sessions=10),
    Shape("own-semaphore-256", "uncontended semaphores, 256 tasks", 256, paths=256,
          recipe="semaphore", peers=NO_KAZOO),
    Shape("readers-100", "90 % readers, 100 tasks", 100, recipe="rwlock", peers=NO_KAZOO,
          quick=NO_KAZOO),
    Shape("pending-1000", "1,000 pending on one path", 1000, kind=PENDING, peers=NO_RAW,
          quick=NO_KAZOO),
    Shape("pending-10000", "10,000 pending on one path", 10000, kind=PENDING, peers=NO_KAZOO),
    Shape("bytes-10000", "10,000 paths, a hold on each", 10000, kind=BYTES, peers=("uvzk", "native"),
          quick=("uvzk", "native")),
)  # fmt: skip

# Their goals are close, or their rounds differ much: --full measures them in more rounds.
CLOSE = ("distinct-1", "distinct-16", "distinct-256", "distinct-1000", "distinct-10000",
         "one-path-20-s2", "one-path-10-s10", "one-path-100-s100", "semaphore-10-s10")  # fmt: skip

# By which a server, or a JVM, gets warm.
WARMING = ("distinct-16", "one-path-100", "semaphore-10", "readers-100")


def named(name):
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise SystemExit(f"no shape {name}; there are: {', '.join(s.name for s in SHAPES)}")
