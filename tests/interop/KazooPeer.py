# SPDX-License-Identifier: Apache-2.0
"""kazoo's Lock, spoken to in lines. Arguments: hosts, session timeout in ms.

NAME is a lock of this peer, ID one of its threads.

    mutex NAME PATH                made NAME   as it comes, told of Curator's nodes
    named_mutex NAME PATH          made NAME   the same, with nodes that Curator
                                               and uvzk take for contenders

    acquire ID NAME                granted ID
    try ID NAME MS                 granted ID | timeout ID
    release ID NAME                released ID
    participants NAME              participants COUNT DATA...
    cycle ID NAME JOURNAL TIMES PERMITS ROUND_TRIPS    cycled ID
        acquire, write down that it takes so many permits, ask the server for
        something, write down that it leaves, release.

At first it says "ready"; whatever fails is "error ID-or-NAME TEXT". It ends with
its input.
"""

import os
import queue
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock

CURATOR_PATTERNS = ("lock-",)


def say(line):
    # One write, whole lines: the threads share it.
    os.write(1, (line + "\n").encode())


class NamedLock(Lock):
    """Its nodes are _c_<32 hex digits>-lock-<number>, as go-zookeeper's are."""

    def __init__(self, client, path, **options):
        super().__init__(client, path, **options)
        self.prefix = "_c_" + self.prefix[:32] + "-lock-"
        self.create_path = path + "/" + self.prefix


class Thread:
    """A contender: kazoo wants a Lock object for each."""

    def __init__(self, peer, id):
        self.peer, self.id = peer, id
        self.locks = {}
        self.work = queue.SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            words = self.work.get()
            try:
                getattr(self, words[0])(*words[2:])
            except Exception as failure:
                say("error %s %r" % (self.id, failure))

    def lock(self, name):
        if name not in self.locks:
            kind, path = self.peer.kinds[name]
            self.locks[name] = kind(
                self.peer.client, path, identifier=self.id,
                extra_lock_patterns=CURATOR_PATTERNS)
        return self.locks[name]

    def acquire(self, name):
        self.lock(name).acquire()
        say("granted " + self.id)

    def attempt(self, name, ms):
        try:
            granted = self.lock(name).acquire(timeout=int(ms) / 1000)
        except LockTimeout:
            granted = False
        say(("granted " if granted else "timeout ") + self.id)

    def release(self, name):
        self.lock(name).release()
        say("released " + self.id)

    def participants(self, name):
        contenders = self.lock(name).contenders()
        say("participants %d %s" % (len(contenders), " ".join(contenders)))

    def cycle(self, name, path, times, permits, round_trips):
        lock = self.lock(name)
        with open(path, "ab", buffering=0) as journal:
            for _ in range(int(times)):
                lock.acquire()
                journal.write(("E %s 0 %s\n" % (self.id, permits)).encode())
                for _ in range(int(round_trips)):
                    self.peer.client.exists("/")
                journal.write(("L %s 0 %s\n" % (self.id, permits)).encode())
                lock.release()
        say("cycled " + self.id)


class Peer:
    KINDS = {"mutex": Lock, "named_mutex": NamedLock}
    COMMANDS = {"acquire": "acquire", "try": "attempt", "release": "release",
                "cycle": "cycle"}

    def __init__(self, client):
        self.client = client
        self.kinds = {}
        self.threads = {}

    def thread(self, id):
        if id not in self.threads:
            self.threads[id] = Thread(self, id)
        return self.threads[id]

    def obey(self, words):
        if words[0] in self.KINDS:
            self.kinds[words[1]] = (self.KINDS[words[0]], words[2])
            say("made " + words[1])
        elif words[0] == "participants":
            self.thread("participants").work.put(["participants", "", words[1]])
        elif words[0] in self.COMMANDS:
            self.thread(words[1]).work.put([self.COMMANDS[words[0]]] + words[1:])
        else:
            say("error %s unknown command %s" % (words[1], words[0]))


def main(hosts, session_ms):
    client = KazooClient(hosts=hosts, timeout=int(session_ms) / 1000)
    client.start(timeout=30)
    say("ready")
    peer = Peer(client)
    for line in sys.stdin:
        peer.obey(line.split())
    client.stop()
    client.close()


main(*sys.argv[1:])
