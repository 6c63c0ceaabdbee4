# SPDX-License-Identifier: Apache-2.0
"""Finds orphans: znodes that are older than an acquire timeout and T together, and that the client
of their session does not know.

Each server is looked at separately. A znode that all servers show was left behind by the client. A
znode that only some servers show, for longer than a server may lag, was kept by those servers:
they have diverged."""

from dataclasses import dataclass, field

import clock
from journal import OURS

LOOKS = 3  # so many looks must agree
MASK = 2**64 - 1


@dataclass
class Suspect:
    path: str
    stat: object
    owner: object  # the client
    looks: int = 0
    shown_by: set = field(default_factory=set)
    not_by: set = field(default_factory=set)
    told: bool = False

    def diverged(self):
        return bool(self.not_by)

    def text(self):
        shown = "shown by servers %s" % sorted(self.shown_by)
        if self.not_by:
            shown += ", not by %s" % sorted(self.not_by)
        return "%s of %s, session 0x%x, czxid 0x%x, %s" % (
            self.path, self.owner.name, self.stat.owner & MASK, self.stat.czxid, shown)


class Knowledge:
    """What a client has answered when it was asked."""

    def __init__(self, rows):
        self.paths, self.pending, self.held = set(), [], []
        self.waits = []  # (lock, what it waits for)
        for row in rows:
            if row[0] == "node":
                self.paths.add(row[2])
            elif row[0] == "releasing":
                self.paths.update(row[2:])
            elif row[0] == "pending":
                self.pending.append((row[2], int(row[3])))  # lock, time of the call in ms
                self.waits.append((row[2], row[4]))
            elif row[0] == "held":
                self.held.append(row[2])

    def knows(self, path, born_ms, names):
        """Whether the client knows the path, or waits at one of these locks since before the znode
        was created. Since 0 means that the time is not known."""
        return path in self.paths or any(
            name in names and since <= born_ms for name, since in self.pending)


def parent(path):
    return path.rsplit("/", 1)[0]


class Orphans:
    def __init__(self, directories, names, patience_ms, timeout_ms):
        """`directories` are those in which contenders' znodes are, each with its lock. `names`
        maps a directory to the names of the locks that have znodes there."""
        self.directories, self.names = directories, names
        self.limit_ms = patience_ms + timeout_ms
        self.suspects = {}
        self.found = []

    def age_ms(self, stat, wall_ms):
        return wall_ms - stat.ctime

    def old(self, trees, wall_ms):
        """Returns the old znodes: {(path, czxid): (Stat, numbers of the servers that show it)}."""
        found = {}
        for number, tree in trees.items():
            for path, stat in tree.items():
                old = self.age_ms(stat, wall_ms) > self.limit_ms
                if old and parent(path) in self.directories and stat.owner != 0:
                    entry = found.setdefault((path, stat.czxid), (stat, set()))
                    entry[1].add(number)
        return found

    def look(self, trees, clients, wall_ms, know, ending=lambda owner, session: False):
        """Returns the orphans that are certain now. know(client) returns its Knowledge, or None.
        ending(client, session) tells whether the servers may still need time to end a session that
        its client has left."""
        old = self.old(trees, wall_ms)
        self.suspects = {key: suspect for key, suspect in self.suspects.items() if key in old}
        sure, asked = [], {}
        for (path, czxid), (stat, shown_by) in old.items():
            owner = next((c for c in clients if c.maker == OURS
                          and c.owns(stat.owner & MASK)), None)
            if owner is None or ending(owner, stat.owner & MASK):
                continue
            if owner.name not in asked:
                asked[owner.name] = know(owner)
            knowledge = asked[owner.name]
            if knowledge is None:  # the client does not answer
                self.suspects.pop((path, czxid), None)
                continue
            if self.is_known(knowledge, path, stat):
                self.suspects.pop((path, czxid), None)
                continue
            suspect = self.suspects.setdefault((path, czxid), Suspect(path, stat, owner))
            self.note(suspect, shown_by, set(trees) - shown_by, sure)
        return sure

    def is_known(self, knowledge, path, stat):
        ahead_ms = clock.ahead_of_real() // clock.MS
        return knowledge.knows(path, stat.ctime + ahead_ms + 100, self.names[parent(path)])

    def note(self, suspect, shown_by, not_by, sure):
        """While a server lags, the set of servers that show a znode may change from look to
        look."""
        if shown_by != suspect.shown_by or not_by != suspect.not_by:
            suspect.looks = 0
            suspect.shown_by, suspect.not_by = shown_by, not_by
        suspect.looks += 1
        if suspect.looks >= LOOKS and not suspect.told:
            suspect.told = True
            self.found.append(suspect)
            sure.append(suspect)
