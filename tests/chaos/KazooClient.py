# SPDX-License-Identifier: Apache-2.0
"""A kazoo client of the chaos program. It understands those lines of uvzk_client.c that it needs,
and only mutexes. Arguments: hosts, session timeout in ms. Its znodes have names like
go-zookeeper's, _c_<32 hex digits>-lock-<number>, because only kazoo itself takes znodes with
kazoo's own names for contenders.

A hold lasts from the return of acquire to the call of release, or until kazoo reports that the
connection is suspended or lost."""

import os
import random
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState
from kazoo.recipe.lock import Lock


def say(line):
    os.write(1, (line + "\n").encode())  # one write for a whole line, because threads share stdout


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class NamedLock(Lock):
    """A kazoo lock whose znodes Curator and uvzk take for contenders."""

    def __init__(self, client, path):
        super().__init__(client, path, extra_lock_patterns=("lock-",))
        self.prefix = "_c_" + self.prefix[:32] + "-lock-"
        self.create_path = path + "/" + self.prefix


class Peer:
    def __init__(self, client):
        self.client, self.paths = client, {}
        self.resting, self.busy = False, 0
        self.gate = threading.Condition()
        self.disturbed = now()
        client.add_listener(self.on_state)

    def on_state(self, state):
        if state != KazooState.CONNECTED:
            self.disturbed = now()
        self.tell_session(state)

    def tell_session(self, state):
        session = self.client.client_id[0] if self.client.client_id else 0
        say("session 0 %x 0 %d 0" % (session & (2**64 - 1), state == KazooState.CONNECTED))

    def work(self, id, name, hold_ms, pause_ms, patience_ms):
        while True:
            time.sleep((1 + random.randrange(pause_ms + 1)) / 1000)
            with self.gate:
                self.gate.wait_for(lambda: not self.resting)
                self.busy += 1
            try:
                self.cycle(id, name, hold_ms, patience_ms)
            except Exception as failure:
                say("refused %s %s %s %d" % (id, name, type(failure).__name__, now()))
                time.sleep(0.1)
            with self.gate:
                self.busy -= 1
                if self.resting and self.busy == 0:
                    say("resting")

    def cycle(self, id, name, hold_ms, patience_ms):
        lock = NamedLock(self.client, self.paths[name])
        lock.acquire(timeout=patience_ms / 1000)
        since, session = now(), self.client.client_id[0] & (2**64 - 1)
        connected = self.client.connected
        time.sleep(hold_ms / 1000)
        until = now() if connected else since
        if since <= self.disturbed < until:
            until = self.disturbed
        try:
            lock.release()
        finally:
            say("held %s %s %d %d 0 0 %x 1 released" % (id, name, since, until, session))

    def obey(self, words):
        if words[0] == "lock":
            self.paths[words[1]] = words[3]
            say("made " + words[1])
        elif words[0] == "work":
            numbers = tuple(int(word) for word in words[3:6])
            threading.Thread(target=self.work, args=(words[1], words[2], *numbers),
                             daemon=True).start()
        elif words[0] in ("rest", "go"):
            with self.gate:
                self.resting = words[0] == "rest"
                self.gate.notify_all()
                if self.resting and self.busy == 0:
                    say("resting")


def main(hosts, session_ms):
    client = KazooClient(hosts=hosts, timeout=int(session_ms) / 1000)
    client.start(timeout=30)
    peer = Peer(client)
    peer.tell_session(KazooState.CONNECTED)
    say("ready")
    for line in sys.stdin:
        peer.obey(line.split())
    os._exit(0)


main(*sys.argv[1:3])
