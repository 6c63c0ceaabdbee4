#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo_peer HOSTS: what the tests of clients/node ask of kazoo: znodes, and locks with Curator's names. A request
is a line of JSON, a list of the function's name and its arguments; the answer is a line, too."""

import json
import sys

import kazoo.client
import kazoo.exceptions
from kazoo.recipe.lock import Lock

PATIENCE_S = 60


class NamedLock(Lock):
    """With Curator's names."""

    _NODE_NAME = "-lock-"

    def __init__(self, client, path):
        super().__init__(client, path, extra_lock_patterns=("-lock-",))
        self.prefix = "_c_" + self.prefix
        self.create_path = f"{path}/{self.prefix}"


class Peer:
    def __init__(self, hosts):
        self.client = kazoo.client.KazooClient(hosts)
        self.client.start(PATIENCE_S)
        self.locks = {}

    def children(self, path):
        try:
            return self.client.get_children(path)
        except kazoo.exceptions.NoNodeError:
            return []  # the server reaps what is empty

    def deleteContenders(self, path):  # noqa: N802
        for name in self.client.get_children(path):
            self.client.delete(f"{path}/{name}")

    def data(self, path):
        return self.client.get(path)[0].decode() if self.client.exists(path) else None

    def remove(self, path):
        self.client.delete(path)

    def acquire(self, path, timeout_s):
        lock = self.locks.setdefault(path, NamedLock(self.client, path))
        while True:
            try:
                return lock.acquire(blocking=timeout_s > 0, timeout=timeout_s or None)
            except kazoo.exceptions.LockTimeout:
                return False
            except kazoo.exceptions.NoNodeError:  # the server has reaped the path, which was empty
                lock.assured_path = False

    def release(self, path):
        self.locks[path].release()


def main():
    peer = Peer(sys.argv[1])
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(peer, name)(*arguments)), flush=True)
    peer.client.stop()


if __name__ == "__main__":
    main()
