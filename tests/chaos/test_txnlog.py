# SPDX-License-Identifier: Apache-2.0
"""Reads transaction logs that these tests have written."""

import struct
import tempfile
import unittest
from pathlib import Path

from journal import CURATOR, OURS, Hold
from txnlog import TXN_HEADER, Lives
from zookeeper import acl, text


def create(path, ephemeral=True):
    return text(path) + struct.pack(">i", 0) + acl(31) + bytes([ephemeral]) + struct.pack(">i", 1)


def record(zxid, wall_ms, kind, body, session):
    txn = TXN_HEADER.pack(session, 1, zxid, wall_ms, kind) + body
    return struct.pack(">qi", 0, len(txn)) + txn + b"B"


def multi(*parts):
    return struct.pack(">i", len(parts)) + b"".join(
        struct.pack(">ii", kind, len(body)) + body for kind, body in parts)


LOG = (record(1, 100, 1, create("/m/a"), 7) + record(2, 110, 15, create("/m/b"), 8)
       + record(3, 120, 2, text("/m/a"), 7) + record(4, 130, -11, b"", 8)
       + record(5, 140, 14, multi((1, create("/m/c")), (13, b"xxxx")), 7)
       + record(6, 145, 1, create("/v", False), 7)
       + record(7, 146, 5, text("/v") + struct.pack(">i", 2) + b"xy" + struct.pack(">i", 3), 7)
       + record(8, 150, 1, create("/m/d"), 7)[:20])  # not complete


def lives(log=LOG):
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "version-2"
        directory.mkdir()
        (directory / "log.1").write_bytes(bytes(16) + log)
        return Lives([Path(scratch)], 0)


def stood(maker, session, paths, at_ms):
    hold = Hold(maker, "x", "x-m", "m", 0, 0, session=session, paths=paths)
    return lives().stood(hold, at_ms * 1_000_000, {"/m"})[0]


class Ended(unittest.TestCase):
    def test_by_what_most_have_written(self):
        self.assertIn("0x3", lives().ended("/m/a", 1))

    def test_another_one_of_that_name(self):
        self.assertEqual(lives().ended("/m/a", 2), "")

    def test_one_that_stands(self):
        self.assertEqual(lives().ended("/m/c", 5), "")

    def test_by_what_few_have_written(self):
        few = lives()
        few.servers = 3
        self.assertEqual(few.ended("/m/a", 1), "")


class Stood(unittest.TestCase):
    def test_until_it_was_deleted(self):
        self.assertTrue(stood(OURS, 7, ("/m/a",), 119))
        self.assertFalse(stood(OURS, 7, ("/m/a",), 121))

    def test_not_before_it_was_made(self):
        self.assertFalse(stood(OURS, 7, ("/m/a",), 99))

    def test_until_its_session_was_closed(self):
        self.assertTrue(stood(CURATOR, 8, (), 129))
        self.assertFalse(stood(CURATOR, 8, (), 131))

    def test_another_session(self):
        self.assertFalse(stood(CURATOR, 9, (), 115))

    def test_made_in_a_multi(self):
        self.assertTrue(stood(OURS, 7, ("/m/c",), 141))

    def test_a_record_that_was_cut_is_none(self):
        self.assertEqual([node.path for node in lives().all], ["/m/a", "/m/b", "/m/c", "/v"])


class WrittenAgain(unittest.TestCase):
    """A follower that synchronized has written a transaction again."""

    def test_is_one_transaction(self):
        twice = lives(LOG[:-20] + LOG)
        self.assertEqual([node.path for node in twice.all], [node.path for node in lives().all])
        self.assertEqual(len(twice.written["/v"]), 2)

    def test_one_made_again_stood_no_longer(self):
        """The logs that are left do not have its end."""
        again = lives(record(1, 100, 1, create("/m/a"), 7) + record(9, 190, 1, create("/m/a"), 7)
                      + record(10, 195, 2, text("/m/a"), 7))
        self.assertEqual([node.died for node in again.all], [190_000_000, 195_000_000])


class Written(unittest.TestCase):
    def test_what_a_znode_was_made_and_set_to(self):
        events = [(event.zxid, event.kind, event.data, event.version)
                  for event in lives().written["/v"]]
        self.assertEqual(events, [(6, "create", b"", 0), (7, "set", b"xy", 3)])


if __name__ == "__main__":
    unittest.main()
