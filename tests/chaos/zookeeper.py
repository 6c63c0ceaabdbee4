# SPDX-License-Identifier: Apache-2.0
"""As much of ZooKeeper's protocol as is needed to look at a server from outside, and to do what an
operator does by hand. Each call blocks, but not forever; OSError means that there was no
answer."""

import socket
import struct
from collections import namedtuple

CREATE, DELETE, EXISTS, GET, SET, SET_ACL = 1, 2, 3, 4, 5, 7
SYNC, CHILDREN, CHECK, MULTI, CLOSE, AUTH = 9, 8, 13, 14, -11, 100
NONODE, NOAUTH, NODEEXISTS = -101, -102, -110
PERSISTENT = 0
ALL, READ, WRITE, CREATE_PERM, DELETE_PERM, ADMIN = 31, 1, 2, 4, 8, 16

Stat = namedtuple("Stat", "czxid mzxid ctime mtime version cversion aversion owner length "
                          "children pzxid")
STAT = struct.Struct(">qqqqiiiqiiq")


class Error(Exception):
    """A reply with another code than 0."""

    def __init__(self, code):
        super().__init__("ZooKeeper's code %d" % code)
        self.code = code


def text(string):
    data = string.encode()
    return struct.pack(">i", len(data)) + data


class Connection:
    """A session at one server: a new one, or an existing one whose id and password are known."""

    def __init__(self, address, session=0, password=bytes(16), timeout_ms=30000, patience=3.0):
        host, port = address.split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.count = 0
        unsigned = session if session < 2**63 else session - 2**64
        self.send(struct.pack(">iqiqi", 0, 0, timeout_ms, unsigned, 16) + password + b"\0")
        answer = self.receive()
        _, self.timeout_ms, self.session = struct.unpack_from(">iiq", answer)
        if self.timeout_ms == 0:
            raise OSError("the server knows no such session")

    def send(self, body):
        self.socket.sendall(struct.pack(">i", len(body)) + body)

    def receive(self):
        length, = struct.unpack(">i", self.read(4))
        return self.read(length)

    def read(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            if not more:
                raise OSError("the server hung up")
            data += more
        return data

    def ask(self, kind, body):
        self.count += 1
        self.send(struct.pack(">ii", self.count, kind) + body)
        while True:
            answer = self.receive()
            xid, _, code = struct.unpack_from(">iqi", answer)
            if xid == self.count:
                break
        if code != 0:
            raise Error(code)
        return answer[16:]

    def children(self, path):
        answer = self.ask(CHILDREN, text(path) + b"\0")
        count, = struct.unpack_from(">i", answer)
        names, at = [], 4
        for _ in range(count):
            size, = struct.unpack_from(">i", answer, at)
            names.append(answer[at + 4:at + 4 + size].decode())
            at += 4 + size
        return names

    def stat(self, path):
        return Stat(*STAT.unpack_from(self.ask(EXISTS, text(path) + b"\0")))

    def get(self, path):
        answer = self.ask(GET, text(path) + b"\0")
        size, = struct.unpack_from(">i", answer)
        return answer[4:4 + max(size, 0)]

    def create(self, path, data=b"", perms=ALL):
        body = text(path) + struct.pack(">i", len(data)) + data
        self.ask(CREATE, body + acl(perms) + struct.pack(">i", PERSISTENT))

    def delete(self, path):
        self.ask(DELETE, text(path) + struct.pack(">i", -1))

    def delete_behind(self, predecessor, path):
        """Deletes a znode if another one exists, in one transaction. Returns whether it did."""
        body = b"".join(struct.pack(">i?i", kind, False, -1) + text(name) + struct.pack(">i", -1)
                        for kind, name in ((CHECK, predecessor), (DELETE, path)))
        answer = self.ask(MULTI, body + struct.pack(">i?i", -1, True, -1))
        return struct.unpack_from(">i", answer)[0] == CHECK

    def set(self, path, data, version):
        """Only if the znode has this version."""
        self.ask(SET, text(path) + struct.pack(">i", len(data)) + data + struct.pack(">i", version))

    def set_perms(self, path, perms):
        self.ask(SET_ACL, text(path) + acl(perms) + struct.pack(">i", -1))

    def sync(self, path):
        self.ask(SYNC, text(path))

    def end_session(self):
        """The server may close the connection instead of replying."""
        try:
            self.ask(CLOSE, b"")
        except OSError:
            pass
        self.socket.close()

    def hang_up(self):
        self.socket.close()


def acl(perms):
    return struct.pack(">ii", 1, perms) + text("world") + text("anyone")


def four_letters(address, word, patience=0.5):
    """Returns the answer to a four-letter word, or "" if there is none."""
    host, port = address.split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=patience) as asked:
            asked.sendall(word.encode())
            answer = b""
            while more := asked.recv(65536):
                answer += more
            return answer.decode(errors="replace")
    except OSError:
        return ""


def walk(connection, path):
    """Returns the path and all znodes below it: {path: Stat}."""
    found = {}
    try:
        found[path] = connection.stat(path)
        for name in connection.children(path):
            found.update(walk(connection, path.rstrip("/") + "/" + name))
    except Error as error:
        if error.code != NONODE:
            raise
    return found
