# SPDX-License-Identifier: Apache-2.0
"""TCP relays between servers, and between clients and servers. They are a process of their own, so
that they are not delayed when the chaos program is late. Commands on stdin and answers:

    open NAME FROM_HOST HOST PORT   port NAME PORT    listens on a free port of FROM_HOST
    hold NAME TO FROM               done NAME         with 1, keeps bytes to or from the target
    delay NAME MS                   done NAME         delays each piece by MS
    dribble NAME BYTES              done NAME         passes BYTES every 20 ms; 0: all at once
    cut NAME                        done NAME         resets all connections
    refuse NAME 0|1                 done NAME         with 1, resets new connections too
    move NAME HOST                  done NAME         listens on HOST, on the same port, and
                                                      resets all connections; or taken NAME
                                                      if another program has that port

Held bytes are kept in order and passed on later. Neither end is informed of a hold. When a relay
sees ZooKeeper's first reply on a connection, it prints: session NAME ID PASSWORD (hexadecimal)."""

import heapq
import random
import selectors
import socket
import struct
import sys
import time

DRIBBLE_S = 0.02
ATTEMPTS, ATTEMPT_S = 100, 0.01
PIECE = 65536
PORT_FIRST, PORT_COUNT = 20000, 12000  # below the kernel's ephemeral ports


def free_port(host):
    """Returns a port that is free at the moment."""
    while True:
        port = PORT_FIRST + random.SystemRandom().randrange(PORT_COUNT)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
                return port
            except OSError:
                continue


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Lane:
    """One direction of a connection."""

    def __init__(self, link, source, target, outwards):
        self.link, self.source, self.target, self.outwards = link, source, target, outwards
        self.pieces = []  # [when due, bytes], in order; without bytes: the source has closed
        self.asleep = False
        self.first = b"" if not outwards else None

    def held(self):
        relay = self.link.relay
        return relay.hold_to if self.outwards else relay.hold_from

    def read(self):
        try:
            data = self.source.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.look_for_session(data)
        else:
            self.link.forget(self.source)
        self.pieces.append([time.monotonic() + self.link.relay.delay, data])
        self.write()

    def look_for_session(self, data):
        if self.first is None or not self.link.relay.tells:
            return
        self.first += data
        if len(self.first) >= 40:
            session, = struct.unpack_from(">q", self.first, 12)
            password = self.first[24:40]
            self.first = None
            say("session %s %016x %s" % (self.link.relay.name, session & (2**64 - 1),
                                         password.hex()))

    def write(self):
        relay = self.link.relay
        while self.pieces and not self.held() and not self.asleep:
            due, data = self.pieces[0]
            if due > time.monotonic():
                return self.sleep_until(due)
            if not data:
                return self.link.close()
            part = data[:relay.dribble] if relay.dribble else data
            try:
                sent = self.target.send(part)
            except BlockingIOError:
                return self.sleep_until(time.monotonic() + 0.001)
            except OSError:
                return self.link.close()
            if sent == len(data):
                self.pieces.pop(0)
            else:
                self.pieces[0][1] = data[sent:]
            if relay.dribble:
                return self.sleep_until(time.monotonic() + DRIBBLE_S)

    def sleep_until(self, due):
        self.asleep = True
        self.link.relay.relays.wake_at(due, self)

    def woken(self):
        self.asleep = False
        if not self.link.closed:
            self.write()


class Link:
    """A connection from a client, and the connection to the target that was made for it."""

    def __init__(self, relay, near):
        self.relay, self.near, self.closed = relay, near, False
        self.far = socket.create_connection(relay.target, timeout=2)
        for end in (self.near, self.far):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lanes = (Lane(self, self.near, self.far, True), Lane(self, self.far, self.near, False))
        relay.links.append(self)
        for lane in self.lanes:
            relay.relays.selector.register(lane.source, selectors.EVENT_READ, lane.read)

    def close(self):
        """Called when one end has closed. While something is held, the other end is not informed
        yet."""
        if self.closed or self in self.relay.waiting_close:
            return
        if not self.relay.hold_to and not self.relay.hold_from:
            return self.end()
        for end in (self.near, self.far):
            self.forget(end)
        self.relay.waiting_close.append(self)

    def end(self):
        if self.closed:  # cut, while its close waited for what is held
            return
        self.closed = True
        for end in (self.near, self.far):
            self.forget(end)
            reset(end)
        if self in self.relay.links:
            self.relay.links.remove(self)

    def forget(self, end):
        try:
            self.relay.relays.selector.unregister(end)
        except (KeyError, ValueError):
            pass


class Attempt:
    """An attempt to connect to the target, which is repeated for connections between servers. A
    leader does not listen yet when its followers connect, and a follower would take a connection
    that is accepted and then closed for a failed leader."""

    def __init__(self, relay, near):
        self.relay, self.near = relay, near
        self.left = 1 if relay.tells else ATTEMPTS

    def woken(self):
        try:
            Link(self.relay, self.near)
        except OSError:
            self.left -= 1
            if self.left > 0:
                self.relay.relays.wake_at(time.monotonic() + ATTEMPT_S, self)
            else:
                reset(self.near)


def reset(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


class Relay:
    def __init__(self, relays, name, host, target, tells):
        self.relays, self.name, self.target, self.tells = relays, name, target, tells
        self.hold_to = self.hold_from = self.refuses = False
        self.delay, self.dribble = 0.0, 0
        self.links, self.waiting_close, self.waiting = [], [], []
        self.listener = None
        self.listen(host, free_port(host))

    def listen(self, host, port):
        """Listens on this address instead of the current one. Returns False if it is taken."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(64)
        except OSError:
            listener.close()
            return False
        listener.setblocking(False)
        if self.listener is not None:
            self.relays.selector.unregister(self.listener)
            self.listener.close()
        self.listener = listener
        self.relays.selector.register(listener, selectors.EVENT_READ, self.accept)
        return True

    def move(self, host):
        moved = self.listen(host, self.listener.getsockname()[1])
        if moved:
            self.cut()
        return moved

    def accept(self):
        try:
            near, _ = self.listener.accept()
        except OSError:
            return
        if self.refuses:
            reset(near)
        elif self.hold_to:
            self.waiting.append(near)
        else:
            self.connect(near)

    def connect(self, near):
        Attempt(self, near).woken()

    def hold(self, to, back):
        self.hold_to, self.hold_from = to, back
        if to or back:
            return
        for near in self.waiting:
            self.connect(near)
        self.waiting = []
        for link in list(self.links):
            for lane in link.lanes:
                lane.write()
        for link in self.waiting_close:
            link.end()
        self.waiting_close = []

    def cut(self):
        for link in list(self.links):
            link.end()


class Relays:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.relays, self.alarms, self.count = {}, [], 0
        self.typed = b""

    def wake_at(self, due, lane):
        self.count += 1
        heapq.heappush(self.alarms, (due, self.count, lane))

    def open(self, name, host, target_host, target_port):
        relay = Relay(self, name, host, (target_host, int(target_port)), name.startswith("c"))
        self.relays[name] = relay
        say("port %s %d" % (name, relay.listener.getsockname()[1]))

    def obey(self, words):
        if words[0] == "open":
            return self.open(*words[1:])
        relay = self.relays[words[1]]
        if words[0] == "move":
            return say("%s %s" % ("done" if relay.move(words[2]) else "taken", words[1]))
        if words[0] == "hold":
            relay.hold(words[2] == "1", words[3] == "1")
        elif words[0] == "delay":
            relay.delay = int(words[2]) / 1000
        elif words[0] == "dribble":
            relay.dribble = int(words[2])
        elif words[0] == "refuse":
            relay.refuses = words[2] == "1"
        elif words[0] == "cut":
            relay.cut()
        say("done " + words[1])
        return None

    def read_commands(self):
        data = sys.stdin.buffer.raw.read(PIECE)
        if not data:
            sys.exit(0)
        *lines, self.typed = (self.typed + data).split(b"\n")
        for line in lines:
            self.obey(line.decode().split())

    def run(self):
        self.selector.register(sys.stdin, selectors.EVENT_READ, self.read_commands)
        while True:
            patience = max(0, self.alarms[0][0] - time.monotonic()) if self.alarms else None
            for key, _ in self.selector.select(patience):
                if key.fileobj is sys.stdin or key.fileobj.fileno() >= 0:
                    key.data()
            while self.alarms and self.alarms[0][0] <= time.monotonic():
                heapq.heappop(self.alarms)[2].woken()


if __name__ == "__main__":
    Relays().run()
