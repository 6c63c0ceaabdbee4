# SPDX-License-Identifier: Apache-2.0
"""The answers of the name server."""

import socket
import struct
import unittest

from names import ANSWER, HEADER, NO_SUCH_NAME, TYPE_A, NameServer, answer

TYPE_AAAA = 28


def question(name, kind=TYPE_A, number=7):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return HEADER.pack(number, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, kind, 1)


def addresses_in(packet, asked):
    count = HEADER.unpack_from(packet)[3]
    records = packet[len(asked):]
    return [socket.inet_ntoa(records[i * 16 + ANSWER.size:][:4]) for i in range(count)]


class Answers(unittest.TestCase):
    def ask(self, asked):
        packet = answer(asked, {"one.test": "127.0.0.3"})
        number, flags = struct.unpack_from(">HH", packet)
        self.assertEqual((number, flags & 0x8000), (7, 0x8000))
        return addresses_in(packet, asked), flags & 15

    def test_a_name(self):
        self.assertEqual(self.ask(question("ONE.test")), (["127.0.0.3"], 0))

    def test_its_other_family(self):
        self.assertEqual(self.ask(question("one.test", TYPE_AAAA)), ([], 0))

    def test_a_name_that_is_none(self):
        self.assertEqual(self.ask(question("two.test")), ([], NO_SUCH_NAME))


class Server(unittest.TestCase):
    def setUp(self):
        self.names = NameServer()
        self.names.addresses["one.test"] = "127.0.0.3"
        self.asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        host, port = self.names.address.split(":")
        self.asker.connect((host, int(port)))
        self.addCleanup(self.asker.close)
        self.addCleanup(self.names.close)

    def ask(self, patience):
        self.asker.settimeout(patience)
        self.asker.send(question("one.test"))
        return addresses_in(self.asker.recv(512), question("one.test"))

    def test_it_answers_and_outlives_garbage(self):
        self.asker.send(b"x")
        self.assertEqual(self.ask(10), ["127.0.0.3"])

    def test_it_is_silent(self):
        self.names.silent = True
        with self.assertRaises(socket.timeout):
            self.ask(0.05)


if __name__ == "__main__":
    unittest.main()
