# SPDX-License-Identifier: Apache-2.0
"""A name server of the chaos program, which decides the address of each name."""

import socket
import struct
import threading

TYPE_A = 1
NO_SUCH_NAME = 3
HEADER = struct.Struct(">HHHHHH")
ANSWER = struct.Struct(">HHHIH")
POINTER_TO_QUESTION = 0xC00C
ANSWERS, AUTHORITY = 0x8000, 0x0400


def question_of(packet):
    """Returns the name, the type, and the position after the only question."""
    labels, at = [], HEADER.size
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    kind, = struct.unpack_from(">H", packet, at + 1)
    return ".".join(labels).lower(), kind, at + 5


def answer(packet, addresses):
    """Returns the answer to a query. `addresses` maps names to IPv4 addresses. The TTL is 0, so
    that no resolver keeps the answer."""
    name, kind, end = question_of(packet)
    address = addresses.get(name)
    number, flags = struct.unpack_from(">HH", packet)
    code = 0 if address else NO_SUCH_NAME
    record = b""
    if address and kind == TYPE_A:
        record = ANSWER.pack(POINTER_TO_QUESTION, TYPE_A, 1, 0, 4) + socket.inet_aton(address)
    return HEADER.pack(number, flags | ANSWERS | AUTHORITY | code, 1, bool(record), 0, 0) \
        + packet[HEADER.size:end] + record


class NameServer:
    def __init__(self):
        self.addresses, self.silent, self.asked = {}, False, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                packet, asker = self.socket.recvfrom(512)
                self.asked += 1
                if not self.silent:
                    self.socket.sendto(answer(packet, self.addresses), asker)
            except (IndexError, struct.error, UnicodeDecodeError):
                pass  # not a query
            except OSError:
                return  # the socket is closed

    def close(self):
        self.socket.close()
