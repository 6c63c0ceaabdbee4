"""The locks of the world: their paths, how many may hold them together, who takes them how."""

from dataclasses import dataclass

IN_TURN = 1  # UVZK_MULTILOCK_IN_TURN
ALL_PERMITS = 1000  # of a read-write lock: a writer takes them all


@dataclass(frozen=True)
class Lock:
    name: str
    kind: str  # of the clients' command
    path: str
    recipe: str
    permits: int = 1
    leases: int = 1  # that each hold takes
    others: bool = True  # Curator takes it, too
    kazoo: bool = False
    members: tuple = ()  # of a multi lock, by name
    flags: int = 0
    taken_alone: bool = True  # a member that also has workers of its own

    def exclusive(self):
        return self.permits == 1

    def is_value(self):
        """Nobody holds it; it is set."""
        return self.kind in ("count", "value")


# What each worker of each client goes for. Halves of a read-write lock are named NAME.read and
# NAME.write. Curator takes members one after the other; beside it so do ours. Taken at once and
# in turn the same locks would wait for each other in a circle, so those have members of their own.
LOCKS = (
    Lock("mutex", "mutex", "/chaos/mutex", "mutex", kazoo=True),
    Lock("cohort", "cohort", "/chaos/cohort", "mutex"),
    Lock("rwlock", "rwlock", "/chaos/rwlock", "rwlock", permits=ALL_PERMITS),
    Lock("semaphore", "semaphore", "/chaos/semaphore", "semaphore", permits=3),
    Lock("pairs", "semaphore", "/chaos/pairs", "semaphore", permits=3, leases=2),
    Lock("semaphore_mutex", "semaphore_mutex", "/chaos/semaphore_mutex", "semaphore_mutex"),
    Lock("turn_a", "mutex", "/chaos/turn_a", "multilock", taken_alone=False),
    Lock("turn_b", "mutex", "/chaos/turn_b", "multilock", taken_alone=False),
    Lock("in_turn", "multi", "", "multilock", members=("turn_a", "turn_b"), flags=IN_TURN),
    Lock("once_a", "mutex", "/chaos/once_a", "multilock"),
    Lock("once_b", "mutex", "/chaos/once_b", "multilock"),
    Lock("at_once", "multi", "", "multilock", members=("once_a", "once_b"), others=False),
    Lock("driver", "driver", "/chaos/driver", "driver", kazoo=True),
    Lock("fixed", "fixed", "/chaos/fixed", "driver", others=False),
    Lock("count", "count", "/chaos/count", "shared"),
    Lock("value", "value", "/chaos/value", "shared", others=False),
    Lock("persistent", "persistent", "/chaos/persistent", "driver", others=False),
)


def of_recipes(names):
    """All locks of these recipes; "all": of each."""
    return [lock for lock in LOCKS if "all" in names or lock.recipe in names]


def recipes():
    return sorted({lock.recipe for lock in LOCKS})


def need(lock, name):
    """How many of a lock's permits each lease of a hold by this name takes."""
    return lock.permits if name.endswith(".write") else 1


def directories(locks):
    """In which znodes of contenders stand."""
    found = {}
    for lock in locks:
        ends = ("/locks", "/leases") if lock.kind.startswith("semaphore") else ("",)
        for end in ends:
            if lock.path:
                found[lock.path + end] = lock
    return found
