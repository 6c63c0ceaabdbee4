# SPDX-License-Identifier: Apache-2.0
"""What a slow recovery waits for: who is first in the queue, looked at repeatedly, and what its
client says about it. It checks nothing."""

from journal import OURS
from orphans import Knowledge, parent

SLOW_MS = 1000  # recoveries that take longer are looked at
LOOK_S = 0.25
MASK = 2**64 - 1


def cause(owner, session, paths, names, knowledge):
    """Returns a short text that can be counted: why a lock is not granted whose first znode is of
    this session."""
    if owner is None:
        return "a session that nobody has"
    current = next((s for s in owner.sessions.values() if s.id == session), None)
    if current is None:
        return "%s: an earlier session's end" % owner.maker
    if owner.paused or not current.connected:
        return "%s: has no connection" % owner.maker
    if owner.maker != OURS:
        return "%s: stands first" % owner.maker
    if knowledge is None:
        return "%s: does not answer" % owner.maker
    if names & set(knowledge.held):
        return "%s: holds" % owner.maker
    if not paths & knowledge.paths and not any(lock in names for lock, _ in knowledge.pending):
        return "%s: does not know it" % owner.maker
    kinds = sorted({kind for lock, kind in knowledge.waits if lock in names})
    return "%s: waits for %s" % (owner.maker, " ".join(kinds) or "nothing")


class Delay:
    """What one lock waits for after one fault."""

    def __init__(self, lock):
        self.lock, self.causes = lock, {}  # by cause: how many looks

    def text(self):
        return "; ".join("%s %.1f s" % (why, looks * LOOK_S) for why, looks in
                         sorted(self.causes.items(), key=lambda item: -item[1]))

    def main_cause(self):
        return max(self.causes, key=self.causes.get, default="not seen")


class Delays:
    """What all locks wait for after one fault."""

    def __init__(self, world, names):
        """`names` maps a directory to the names of the locks that have znodes there."""
        self.world, self.names = world, names
        self.by_lock = {}
        self.next = 0.0

    def look(self, locks, now_s):
        """Looks at each lock that was not granted yet, every LOOK_S seconds."""
        if now_s < self.next:
            return
        self.next = now_s + LOOK_S
        leader = self.world.ensemble.leader()
        tree = self.world.eyes.tree(leader) if leader else None
        for lock in locks:
            why = "no leader serves" if tree is None else self.look_at(lock, tree)
            causes = self.by_lock.setdefault(lock.name, Delay(lock)).causes
            causes[why] = causes.get(why, 0) + 1

    def look_at(self, lock, tree):
        if lock.is_value():
            return "nobody sets it"
        mine = {lock.name, *lock.members}
        directories = {path for path, of in self.world.directories.items() if of.name in mine}
        standing = sorted((stat.czxid, path, stat.owner & MASK) for path, stat in tree.items()
                          if parent(path) in directories)
        if not standing:
            return "nobody stands in it"
        _, path, session = standing[0]
        owner = next((c for c in self.world.clients if c.owns(session)), None)
        rows = owner.ask_known(0.5) if owner else None
        return cause(owner, session, {path}, self.names[parent(path)],
                     None if rows is None else Knowledge(rows))
