#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo_lock.py SERVERS NAME TIMEOUT_MS: kazoo's Lock.

https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html: "with lock:". The program listens to the connection's states, as
https://kazoo.readthedocs.io/en/latest/basic_usage.html#listening-for-connection-events asks: with SUSPENDED the client "should
be considered disconnected", and after LOST its ephemeral nodes are gone. Here both end the hold. The time-out of the session is
given (kazoo's own: 10 s); all else is as it comes. There is no token."""

import sys

import kazoo.client
import kazoo.exceptions
import kazoo.protocol.states

import body

CONNECTED = kazoo.protocol.states.KazooState.CONNECTED


class Mutex(body.Lock):
    def __init__(self, servers, name, timeout_ms):
        self.held = False
        self.client = kazoo.client.KazooClient(servers, timeout=int(timeout_ms) / 1000)
        self.client.add_listener(self.on_state)
        self.client.start(timeout=60)
        self.path = "/" + name
        self.lock = None

    def on_state(self, state):
        if state != CONNECTED and self.held:
            self.held = False
            body.say("lost", state)

    def acquire(self):
        # A Lock whose session was lost while it held believes that it holds still, so each acquire has its own.
        self.lock = self.client.Lock(self.path)
        self.lock.acquire()
        self.held = self.client.state == CONNECTED
        return None

    def holds(self):
        return self.held

    def release(self):
        self.held = False
        self.lock.release()

    def close(self):
        self.client.stop()
        self.client.close()


if __name__ == "__main__":
    body.serve(Mutex(*sys.argv[1:]), kazoo.exceptions.KazooException)
