"""The world's znodes as each server by itself shows them."""

import threading

from zookeeper import NOAUTH, Connection, Error, walk

ROOT = "/chaos"
COMMIT_S = 2.0  # many times what it takes


class Eyes:
    """A session at each server, of the chaos program's own, made again when it breaks."""

    def __init__(self, ensemble):
        self.ensemble = ensemble
        self.connections = {}
        self.mutex = threading.RLock()  # who watches and who waits for a recovery both look

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
        """Path to Stat; None: it does not answer, or nobody may list what is there."""
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
        """Whether anything is committed: a session must be."""
        leader = self.ensemble.leader()
        try:
            if leader is not None:
                Connection(leader.address, patience=COMMIT_S).end_session()
            return leader is not None
        except OSError:
            return False

    def look(self):
        """Of each server that answers, by its number."""
        trees = {server.number: self.tree(server) for server in self.ensemble.servers}
        return {number: tree for number, tree in trees.items() if tree is not None}

    def close(self):
        for server in self.ensemble.servers:
            self.lose(server)
