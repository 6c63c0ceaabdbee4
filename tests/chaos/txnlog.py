# SPDX-License-Identifier: Apache-2.0
"""The servers' transaction logs, which tell when each znode existed. They are the evidence, and
are only read when something is to be explained."""

import struct
from dataclasses import dataclass

CREATE, DELETE, SET_DATA, MULTI = 1, 2, 5, 14
CREATES = (1, 15, 19, 21)  # create, create2, createContainer, createTTL
DELETES = (2, 20)
CREATE_SESSION, CLOSE_SESSION, ERROR = -10, -11, -1
HEADER_BYTES = 16  # at the beginning of the file
TXN_HEADER = struct.Struct(">qiqqi")


@dataclass
class Event:
    zxid: int
    wall_ms: int
    kind: str  # "create", "set", "delete", "close"
    path: str = ""
    session: int = 0
    data: bytes = b""  # of a create or a set
    version: int = 0  # the version after a set


def read_text(data, at):
    size, = struct.unpack_from(">i", data, at)
    at += 4
    return data[at:at + max(size, 0)].decode(errors="replace"), at + max(size, 0)


def read_buffer(data, at):
    size, = struct.unpack_from(">i", data, at)
    at += 4
    return data[at:at + max(size, 0)], at + max(size, 0)


def read_create(data, at):
    """Returns the path, whether the znode is ephemeral, and its data. The record has the path, the
    data, the ACL and the flag."""
    path, at = read_text(data, at)
    content, at = read_buffer(data, at)
    count, = struct.unpack_from(">i", data, at)
    at += 4
    for _ in range(max(count, 0)):
        at += 4
        _, at = read_text(data, at)
        _, at = read_text(data, at)
    ephemeral = len(data) > at and data[at] == 1
    return path, ephemeral, content


def events_of(kind, body, header):
    session, _, zxid, wall, _ = header
    if kind in CREATES:
        path, ephemeral, data = read_create(body, 0)
        owner = session if ephemeral and kind in (1, 15) else 0
        yield Event(zxid, wall, "create", path, owner, data)
    elif kind == SET_DATA:
        path, at = read_text(body, 0)
        data, at = read_buffer(body, at)
        yield Event(zxid, wall, "set", path, 0, data, struct.unpack_from(">i", body, at)[0])
    elif kind in DELETES:
        yield Event(zxid, wall, "delete", read_text(body, 0)[0])
    elif kind == CLOSE_SESSION:
        yield Event(zxid, wall, "close", "", session)
    elif kind == MULTI:
        count, = struct.unpack_from(">i", body, 0)
        at = 4
        for _ in range(count):
            part, size = struct.unpack_from(">ii", body, at)
            at += 8
            yield from events_of(part, body[at:at + size], header)
            at += size


def read_log(path):
    """Yields (zxid, events) of each transaction in a file, up to a record that is not complete. A
    follower that synchronizes may write a transaction again."""
    data = path.read_bytes()
    at = HEADER_BYTES
    while at + 12 <= len(data):
        size, = struct.unpack_from(">i", data, at + 8)
        if size <= 0 or at + 12 + size > len(data):
            return
        header = TXN_HEADER.unpack_from(data, at + 12)
        body = data[at + 12 + TXN_HEADER.size:at + 12 + size]
        try:
            yield header[2], list(events_of(header[4], body, header))
        except struct.error:
            pass
        at += 12 + size + 1  # plus the byte that ends a record


def history(directories):
    """Returns what all servers' logs say together: {zxid: events} and {zxid: numbers of the
    servers that have it}."""
    found, seen_by = {}, {}
    for number, directory in enumerate(directories):
        for log in sorted((directory / "version-2").glob("log.*")):
            for zxid, events in read_log(log):
                found.setdefault(zxid, events)
                seen_by.setdefault(zxid, set()).add(number)
    return found, seen_by


@dataclass
class Node:
    path: str
    owner: int
    zxid: int
    born: int
    died: int = 0  # ns of CLOCK_BOOTTIME; 0: it exists
    how: str = ""
    by: int = 0  # zxid of the transaction that ended it


class Lives:
    """When each znode existed, by path and by owner."""

    def __init__(self, directories, ahead_of_real):
        found, self.seen_by = history(directories)
        self.servers = len(directories)
        self.ahead = ahead_of_real
        self.all, standing = [], {}
        self.written = {}  # by path: creates and sets, in order
        for zxid in sorted(found):
            for event in found[zxid]:
                self.take(event, standing)

    def take(self, event, standing):
        at = event.wall_ms * 1_000_000 + self.ahead
        if event.kind in ("create", "set") and not event.session:
            self.written.setdefault(event.path, []).append(event)
        if event.kind == "create":
            self.end(standing.pop(event.path, None), at, "created again", event.zxid)
            node = Node(event.path, event.session & (2**64 - 1), event.zxid, at)
            standing[event.path] = node
            self.all.append(node)
        elif event.kind == "delete":
            self.end(standing.pop(event.path, None), at, "deleted", event.zxid)
        elif event.kind == "close":
            session = event.session & (2**64 - 1)
            for path in [path for path, node in standing.items() if node.owner == session]:
                self.end(standing.pop(path), at, "session closed", event.zxid)

    def end(self, node, at, how, zxid):
        if node is not None:
            node.by = zxid
            node.died, node.how = at, "%s by 0x%x on servers %s" % (
                how, zxid, sorted(self.seen_by[zxid]))

    def ended(self, path, czxid):
        """Returns how this znode was ended, if most servers have written the transaction that
        ended it, so that it cannot be undone; otherwise ""."""
        return next((node.how for node in self.all
                     if (node.path, node.zxid) == (path, czxid) and node.died
                     and self.by_most(node.by)), "")

    def by_most(self, zxid):
        """Whether most servers have written this transaction."""
        return 2 * len(self.seen_by[zxid]) > self.servers

    def is_cut_out(self, zxid):
        """Whether a transaction that a server has shown is in no log any more, though later ones
        are: each server that had written it has cut it off to follow a leader that had not."""
        return 0 < zxid < max(self.seen_by, default=0) and zxid not in self.seen_by

    def of(self, hold, directories):
        """Yields the znodes of a hold: those of its own paths or, if it has none, those of its
        session in these directories."""
        for node in self.all:
            if node.path in hold.paths or (
                    not hold.paths and node.owner == hold.session
                    and node.path.rsplit("/", 1)[0] in directories):
                yield node

    def stood(self, hold, at, directories):
        """Returns how many znodes of a hold existed at that moment, and a text. For a semaphore
        only leases count, because a ticket is not a hold."""
        last, standing = None, []
        for node in self.of(hold, directories):
            if node.born <= at and (node.died == 0 or node.died > at):
                standing.append(node.path)
            elif node.died and node.died <= at and (last is None or node.died > last.died):
                last = node
        if any(directory.endswith("/leases") for directory in directories):
            standing = [path for path in standing if "/leases/" in path]
        if standing:
            return len(standing), " and ".join(standing) + " stood"
        if last is None:
            return 0, "no znode of it is known"
        return 0, "%s was gone %.1f ms before: %s" % (
            last.path, (at - last.died) / 1e6, last.how)
