# SPDX-License-Identifier: Apache-2.0
"""What is seen of a server, and when nothing is seen."""

import threading
import unittest
from types import SimpleNamespace

import zookeeper
from trees import Eyes


class Connection:
    """A connection to a server with one znode. Listing it fails with `code`, or the connection
    breaks."""

    def __init__(self, code=0, broken=False):
        self.code, self.broken = code, broken

    def stat(self, path):
        return path

    def children(self, path):
        if self.broken:
            raise OSError
        if self.code:
            raise zookeeper.Error(self.code)
        return []

    def hang_up(self):
        pass


def look(connection, runs=True, paused=False):
    server = SimpleNamespace(number=0, may_answer=lambda: runs and not paused)
    eyes = Eyes(SimpleNamespace(servers=[server]))
    eyes.connections, eyes.mutex = {0: connection}, threading.RLock()
    return eyes.look(), eyes


class Looks(unittest.TestCase):
    def test_a_tree(self):
        self.assertEqual(look(Connection())[0], {0: {"/chaos": "/chaos"}})

    def test_a_server_that_stands_still(self):
        self.assertEqual(look(Connection(), paused=True)[0], {})
        self.assertEqual(look(Connection(), runs=False)[0], {})

    def test_a_connection_that_breaks_is_made_anew(self):
        seen, eyes = look(Connection(broken=True))
        self.assertEqual((seen, eyes.connections), ({}, {}))

    def test_what_nobody_may_list_is_not_seen(self):
        self.assertEqual(look(Connection(zookeeper.NOAUTH))[0], {})

    def test_what_went_meanwhile(self):
        self.assertEqual(look(Connection(zookeeper.NONODE))[0], {0: {"/chaos": "/chaos"}})

    def test_another_answer_is_a_fault_of_the_program(self):
        with self.assertRaises(zookeeper.Error):
            look(Connection(-4))


if __name__ == "__main__":
    unittest.main()
