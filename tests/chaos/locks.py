# SPDX-License-Identifier: Apache-2.0
"""The locks and elections of a run: their paths, how many clients may hold them at once, and which
clients take them. Of an election one client may lead at once."""

from dataclasses import dataclass

IN_TURN = 1  # UVZK_MULTILOCK_IN_TURN
ALL_PERMITS = 1000  # of a read-write lock; a writer takes them all


@dataclass(frozen=True)
class Lock:
    name: str
    kind: str  # as in the clients' command "lock"
    path: str
    recipe: str
    permits: int = 1
    leases: int = 1  # how many each hold takes
    others: bool = True  # Curator's clients take it too
    kazoo: bool = False
    members: tuple = ()  # of a multi lock: their names
    flags: int = 0
    taken_alone: bool = True  # False: a member without workers of its own

    def exclusive(self):
        return self.permits == 1

    def is_value(self):
        """Whether it is set, and not held."""
        return self.kind in ("count", "value")


# The locks of all recipes. The halves of a read-write lock are named NAME.read and NAME.write.
# Curator acquires the members of a multi lock one after the other, and so does uvzk if Curator
# takes the same locks. If other clients acquired the same members at once, a deadlock would be
# possible. So at_once has members of its own.
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
    Lock("latch", "latch", "/chaos/latch", "election"),
    Lock("selector", "selector", "/chaos/selector", "election"),
    Lock("persistent", "persistent", "/chaos/persistent", "driver", others=False),
)


def of_recipes(names):
    """Returns the locks of these recipes; "all" means every recipe."""
    return [lock for lock in LOCKS if "all" in names or lock.recipe in names]


def recipes():
    return sorted({lock.recipe for lock in LOCKS})


def need(lock, name):
    """Returns how many of a lock's permits each lease of a hold takes, if the hold is of this
    name."""
    return lock.permits if name.endswith(".write") else 1


def directories(locks):
    """Returns the directories in which contenders' znodes are: {path: lock}."""
    found = {}
    for lock in locks:
        ends = ("/locks", "/leases") if lock.kind.startswith("semaphore") else ("",)
        for end in ends:
            if lock.path:
                found[lock.path + end] = lock
    return found
