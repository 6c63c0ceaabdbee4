# SPDX-License-Identifier: Apache-2.0
"""A relay before a server that changes what the server answers. It knows the frames of ZooKeeper's
protocol, and which request each reply is for.

    with Relay(hosts, tamper) as relay:   # relay.hosts is where clients connect to
        ...

`tamper(reply)` is called for each frame of the server but its answers to pings. It returns the
bytes that the client is sent instead; None: the frame as it is. It may be called by several
threads, one for each connection."""

import contextlib
import random
import socket
import struct
import threading

CREATE, DELETE, EXISTS, GET, SET, CHILDREN, SYNC, PING, CHECK, MULTI, CREATE2 = (
    1, 2, 3, 4, 5, 8, 9, 11, 13, 14, 15)  # fmt: skip
ERROR, AUTH_XID, PING_XID, EVENT_XID = -1, -4, -2, -1
HEADER = struct.Struct(">iqi")  # xid, zxid, err
CONNECT, EVENT = "connect", "event"
PROBES = 0xFF  # the highest byte of the session of a probe (loop/discovery/targets.c)
ASKS = b"/uvzk-asks/"  # what the questions of a first connection are about


def framed(content):
    return struct.pack(">i", len(content)) + content


def text(string):
    return struct.pack(">i", -1) if string is None else struct.pack(">i", len(string)) + string


def result(opcode, body=b"", done=False):
    """A result of a multi, or what ends the results."""
    return struct.pack(">i?i", opcode, done, -1 if done else 0) + body


class Reply:
    """A frame of the server. kind: the request's opcode, CONNECT or EVENT."""

    def __init__(self, kind, request, content, asks):
        self.kind, self.request, self.content = kind, request, content
        self.is_of_a_question = asks
        self.xid, self.zxid, self.err = HEADER.unpack(content[:16]) if kind != CONNECT else (0, 0, 0)
        self.body = content[16:]

    def framed(self, body=None, **header):
        """The frame with another body, or with other fields of its header."""
        fields = {"xid": self.xid, "zxid": self.zxid, "err": self.err, **header}
        head = HEADER.pack(fields["xid"], fields["zxid"], fields["err"])
        return framed(head + (self.body if body is None else body))


class Connection:
    def __init__(self, relay, client):
        self.relay, self.client = relay, client
        self.server = socket.create_connection(relay.server)
        self.asked = {}  # (opcode, content of the request) by xid
        self.connects = None  # the connect request
        self.lock = threading.Lock()

    def run(self):
        threads = [threading.Thread(target=self.passes, args=way, daemon=True)
                   for way in ((self.client, self.server, self.up), (self.server, self.client, self.down))]  # fmt: skip
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.client.close()
        self.server.close()

    def passes(self, source, target, change):
        with contextlib.suppress(OSError, EOFError):
            while True:
                target.sendall(change(read_frame(source)))
        # The other direction ends as well: a server that has hung up is not to be waited for.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def up(self, content):
        with self.lock:
            if self.connects is None:
                self.connects = content
            else:
                xid, opcode = struct.unpack(">ii", content[:8])
                self.asked[xid] = (opcode, content)
        return framed(content)

    def reply(self, content):
        with self.lock:
            if self.connects is not None and CONNECT not in self.asked:
                self.asked[CONNECT] = True
                return Reply(CONNECT, self.connects, content, False)
            xid = struct.unpack(">i", content[:4])[0]
            kind, request = self.asked.pop(xid, (EVENT, b"")) if xid > 0 else (EVENT, b"")
        return Reply(kind, request, content, ASKS in request)

    def down(self, content):
        if len(content) >= 4 and struct.unpack(">i", content[:4])[0] == PING_XID:
            return framed(content)
        reply = self.reply(content)
        # The session of a probe is no one's.
        if self.connects[16] == PROBES:
            return framed(content)
        changed = self.relay.tamper(reply)
        return framed(content) if changed is None else changed


def read_frame(source):
    def exactly(count):
        got = b""
        while len(got) < count:
            more = source.recv(count - len(got))
            if not more:
                raise EOFError
            got += more
        return got

    return exactly(struct.unpack(">i", exactly(4))[0])


class Relay:
    def __init__(self, hosts, tamper):
        host, port = hosts.split(",")[0].rsplit(":", 1)
        self.server, self.tamper = (host, int(port)), tamper
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.hosts = f"127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accepts, daemon=True).start()
        return self

    def __exit__(self, *_):
        # A thread that waits in accept() notices no close().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accepts(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with contextlib.suppress(OSError):
                    threading.Thread(target=Connection(self, client).run, daemon=True).start()


# ------------------------------------------------------------- what may be done to a reply


def cut(reply, length=None):
    content = reply.content
    return framed(content[: len(content) // 2 if length is None else length])


def another_path(path):
    """Of a created znode."""

    def change(reply):
        length = struct.unpack(">i", reply.body[:4])[0]
        return reply.framed(text(path) + reply.body[4 + length :])

    return change


def another_body(body):
    return lambda reply: reply.framed(body)


def another_xid(reply):
    return reply.framed(xid=reply.xid + 7)


def twice(reply):
    return framed(reply.content) * 2


def unasked(reply):
    return framed(reply.content) + reply.framed(bytes(68), xid=reply.xid + 1000)


def another_length(length):
    return lambda reply: struct.pack(">I", length) + reply.content


def never(_):
    return b""


DONE = result(ERROR, done=True)

# For each kind of request: what a client can tell from a reply.
FOR_ALL = {"cut": cut, "without its header": lambda reply: cut(reply, 9), "of another xid": another_xid,
           "twice": twice, "with an unasked one": unasked, "of a negative length": another_length(0xFFFFFFFE),
           "of a huge length": another_length(0x7FFFFFFF)}  # fmt: skip
FOR_CREATES = {"without a path": another_path(None), "with an empty path": another_path(b""),
               "with a relative path": another_path(b"abc"),
               "with another path": another_path(b"/b/other-0000000000"),
               "with a path with a nul": another_path(b"/a\0b")}  # fmt: skip
FOR_CHILDREN = {"with a count of -1": another_body(struct.pack(">i", -1)),
                "with a count of -2": another_body(struct.pack(">i", -2)),
                "with a large count": another_body(struct.pack(">i", 0x7FFFFFFF) + text(b"a") * 100),
                "with odd names": another_body(struct.pack(">i", 3) + text(b"") + text(None) + text(b"a/b"))}  # fmt: skip
FOR_MULTIS = {"without results": another_body(b""),
              "with too many results": another_body(result(DELETE) * 9 + DONE),
              "with an unknown result": another_body(result(77) + DONE)}  # fmt: skip


def own_ways(kind):
    return {CREATE: FOR_CREATES, CREATE2: FOR_CREATES, CHILDREN: FOR_CHILDREN, MULTI: FOR_MULTIS}.get(kind, {})


def ways(kind):
    return {**FOR_ALL, **own_ways(kind)}


def once(kind, change):
    """Changes the first successful reply of this kind, but for questions."""
    done = threading.Event()

    def tamper(reply):
        if reply.kind != kind or reply.err != 0 or reply.is_of_a_question or done.is_set():
            return None
        done.set()
        return change(reply)

    tamper.done = done
    return tamper


def always(kinds, change):
    def tamper(reply):
        mine = reply.kind in kinds and reply.err == 0 and not reply.is_of_a_question
        return change(reply) if mine else None

    return tamper


def some(share, seed):
    """Changes so many of all replies, each in one of its ways."""
    dice = random.Random(seed)
    lock = threading.Lock()

    def tamper(reply):
        with lock:
            if reply.kind in (CONNECT, EVENT) or dice.random() >= share:
                return None
            # A reply with an error has no body.
            kinds = FOR_ALL if reply.err != 0 else ways(reply.kind)
            tamper.count += 1
            return dice.choice(list(kinds.values()))(reply)

    tamper.count = 0
    return tamper
