# SPDX-License-Identifier: Apache-2.0
"""The znodes of the world, as each server by itself shows them."""

import threading

from zookeeper import NOAUTH, Connection, Error, walk

ROOT = "/chaos"
COMMIT_S = 2.0  # a commit takes much less


class Eyes:
    """The chaos program's sessions, one at each server. A session that breaks is made again."""

    def __init__(self, ensemble):
        self.ensemble = ensemble
        self.connections = {}
        self.mutex = threading.RLock()  # the watch and the recovery use it in two threads

    def at(self, server):
        connection = self.connections.get(server.number)
        if connection is None:
            connection = Connection(server.address, patience=1.0)
            self.connections[server.number] = connection
        return connection

    def lose(self, server):
        connection = self.connections.pop(server.number, None)
        if connection is not None:
            connection.hang_up()

    def tree(self, server):
        """Returns {path: Stat}, or None if the server does not answer, or if READ is not
        allowed."""
        with self.mutex:
            if not server.may_answer():
                self.lose(server)
                return None
            try:
                return walk(self.at(server), ROOT)
            except Error as error:
                if error.code != NOAUTH:
                    raise
                return None
            except OSError:
                self.lose(server)
                return None

    def leader_commits(self):
        """Whether the leader commits transactions. Creating a session is one."""
        leader = self.ensemble.leader()
        try:
            if leader is not None:
                Connection(leader.address, patience=COMMIT_S).end_session()
            return leader is not None
        except OSError:
            return False

    def look(self):
        """Returns the trees of the servers that answer, by server number."""
        trees = {server.number: self.tree(server) for server in self.ensemble.servers}
        return {number: tree for number, tree in trees.items() if tree is not None}

    def close(self):
        for server in self.ensemble.servers:
            self.lose(server)
