# SPDX-License-Identifier: Apache-2.0
"""The world of a run: the ensemble, the clients, and the locks that they take."""

import random
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

import clock
import locks as all_locks
from records import Records
from journal import CURATOR, KAZOO, OURS
from names import NameServer
from peers import Client
from servers import Ensemble, remove
from trees import Eyes
from wires import Wires

TICK_MS = 200
PAUSE_MS = 20
HOLD_MS = 8
MOVED_TO = "127.0.1.%d"


@dataclass
class Fault:
    kind: str
    what: str
    since: int
    undone: int = 0  # when the fault was undone; 0: not yet
    until: int = 0  # when all servers serve again
    recovery_ms: dict = field(default_factory=dict)  # by lock
    slow: dict = field(default_factory=dict)  # by lock, a Delay: what it waited for
    stalled: dict = field(default_factory=dict)  # by lock: who is to blame (watch.py)


def scratch():
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="uvzk-chaos-", dir=memory if memory.is_dir() else None))


class World:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.directory = scratch()
        self.timeout_ms, self.tick_ms = options.session_ms, TICK_MS
        self.patience_ms = int(1.5 * options.session_ms)
        self.locks = all_locks.of_recipes(options.recipe)
        self.directories = all_locks.directories(self.locks)
        self.wires, self.names = Wires(), NameServer()
        self.by_names = set()  # names of clients that look up their servers' names
        self.ensemble = Ensemble(self.directory, self.wires, options.servers, options.observers,
                                 {"tickTime": TICK_MS})
        self.eyes = Eyes(self.ensemble)
        # for the faults, which run in another thread than the watch
        self.eyes_of_operator = Eyes(self.ensemble)
        self.clients, self.faults = [], []
        self.records = Records(self.locks, [server.data for server in self.ensemble.servers])
        self.stopping, self.resting = threading.Event(), False
        self.ports = {}  # (client name, server number): the relay's port
        self.moved = {}  # the same key: the relay's address, if not the server's own

    def begin(self):
        if not self.ensemble.await_all():
            raise RuntimeError("the ensemble does not serve")
        (self.directory / "fences").mkdir()
        for i in range(self.options.clients):
            if i % 2 == 1:
                self.by_names.add("u%d" % i)
            self.start(OURS, "u%d" % i, self.options.sessions if i == 0 else 1)
        for i in range(self.options.curators):
            self.start(CURATOR, "c%d" % i)
        for i in range(self.options.kazoos):
            self.start(KAZOO, "k%d" % i)
        for client in self.clients:
            self.employ(client)

    # ---------------------------------------------------------------------- clients

    def wire(self, client, server):
        return "c%s-%d" % (client, server.number)

    def hosts(self, name):
        for server in self.ensemble.servers:
            if (name, server.number) not in self.ports:
                self.ports[name, server.number] = self.wires.open(
                    self.wire(name, server), server.host, server.host, server.port)
        self.tell_names(name)
        return ",".join("%s:%d" % (
            self.name_of(name, server) if name in self.by_names else server.host,
            self.ports[name, server.number]) for server in self.ensemble.servers)

    def name_of(self, name, server):
        return "server%d.%s.test" % (server.number, name)

    def tell_names(self, name):
        """Lets the name server answer with the current addresses of this client's servers."""
        for server in self.ensemble.servers:
            self.names.addresses[self.name_of(name, server)] = self.moved.get(
                (name, server.number), server.host)

    def move(self, client, server):
        """Moves this client's relay to a server to another address, or back; the name stays the
        same. If the port is taken at the new address, the relay stays where it is."""
        key = (client.name, server.number)
        host = server.host if key in self.moved else MOVED_TO % (server.number + 1)
        if self.wires.ask("move", self.wire(client.name, server), host)[0] == "done":
            self.moved[key] = host
            if host == server.host:
                del self.moved[key]

    def command(self, maker, name, sessions):
        hosts, session = self.hosts(name), str(self.options.session_ms)
        if maker == OURS:
            return [self.options.programs["uvzk"], hosts, session, str(TICK_MS), str(sessions),
                    str(self.directory / "fences"), self.names.address]
        if maker == CURATOR:
            return ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp",
                    self.options.programs["curator"], "CuratorClient", hosts, session]
        return [*self.options.programs["kazoo"].split(), hosts, session]

    def start(self, maker, name, sessions=1):
        log = open(self.directory / (name + ".stderr"), "ab")
        client = Client(maker, name, self.command(maker, name, sessions), log)
        self.clients.append(client)
        if not client.expect("ready"):
            raise RuntimeError("%s does not get ready: %s" % (name, client.errors))
        return client

    def takes(self, client, lock):
        return client.maker == OURS or (lock.others and client.maker == CURATOR) or (
            lock.kazoo and client.maker == KAZOO)

    def revive(self, client):
        """Starts the process of a killed client again."""
        client.begin()
        if not client.expect("ready"):
            raise RuntimeError("%s does not get ready again: %s" % (client.name, client.errors))
        self.employ(client)

    def employ(self, client):
        """Makes the client's locks and then its workers: two for a read-write lock, one for any
        other."""
        mine = [lock for lock in self.locks if self.takes(client, lock)]
        for lock in mine:
            if lock.members:
                client.say("multi %s %d %s" % (lock.name, lock.flags, " ".join(lock.members)))
            else:
                client.say("lock %s %s %s %d" % (lock.name, lock.kind, lock.path, lock.permits))
            if not client.expect("made " + lock.name):
                raise RuntimeError("%s made no %s: %s" % (client.name, lock.name, client.errors))
        for lock in (lock for lock in mine if lock.taken_alone):
            halves = (".read", ".write") if lock.kind == "rwlock" else ("",)
            for half in halves:
                client.say("work %s-%s%s %s%s %d %d %d %d %d" % (
                    client.name, lock.name, half, lock.name, half, HOLD_MS, PAUSE_MS,
                    self.patience_ms, lock.leases, int(1.2 * self.timeout_ms)))

    def ours(self):
        return [client for client in self.clients if client.maker == OURS]

    def hold_client(self, client, to, back):
        for server in self.ensemble.servers:
            self.wires.hold(self.wire(client.name, server), to, back)

    def each_wire(self, client):
        return [self.wire(client.name, server) for server in self.ensemble.servers]

    # --------------------------------------------------------------------- the end

    def end(self):
        ended = [client.end() for client in self.clients]
        self.eyes.close()
        self.eyes_of_operator.close()
        self.ensemble.stop()
        self.wires.close()
        self.names.close()
        if not self.options.keep:
            remove(self.directory)
        return all(well or client.maker != OURS
                   for well, client in zip(ended, self.clients))

    def longest_timeout_ms(self):
        return max(client.longest_timeout_ms(self.timeout_ms) for client in self.clients)

    def note_intervention(self, intervention):
        self.records.journal.interventions.append(intervention)


def names_by_directory(locks):
    """Returns, for each directory, the names of the locks that have znodes there. A multi lock has
    its znodes in its members' directories, and a read-write lock has two names."""
    names = {}
    for path, lock in all_locks.directories(locks).items():
        mine = {lock.name}
        if lock.kind == "rwlock":
            mine |= {lock.name + ".read", lock.name + ".write"}
        mine |= {multi.name for multi in locks if lock.name in multi.members}
        names[path] = mine
    return names


def fault(kind, what=""):
    return Fault(kind, what, clock.now())
