"""The locks of the world: their paths, how many may hold them together, who takes them how."""

from dataclasses import dataclass

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

    def exclusive(self):
        return self.permits == 1


IN_TURN = 1

# What each worker of each client goes for. Halves of a read-write lock are named NAME.read and
# NAME.write.
LOCKS = (
    Lock("mutex", "mutex", "/chaos/mutex", "mutex", kazoo=True),
    Lock("semaphore_mutex", "semaphore_mutex", "/chaos/semaphore_mutex", "semaphore_mutex"),
)


def of_recipes(names):
    """All locks of these recipes; "all": of each."""
    return [lock for lock in LOCKS if "all" in names or lock.recipe in names]


def recipes():
    return sorted({lock.recipe for lock in LOCKS})


def need(lock, name):
    """How many of a lock's permits a hold by this name takes."""
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
