#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""etcd3_lock.py SERVERS NAME TIMEOUT_MS: python-etcd3's Lock.

https://python-etcd3.readthedocs.io/en/latest/usage.html#lock: `with etcd.lock('name', ttl=20) as lock`. "The lock will be released
after this time elapses, unless refreshed": the program refreshes it three times as often, as the class's example does with
lock.refresh(). If that fails, or its answer says that the lease has ended (TTL 0), the lock is lost. The TTL is given (its own:
60 s), the client's time-out too, for without one a refresh would wait for ever; all else is as it comes. There is no token.

In Debian 12 it cannot wait for a lock: with tenacity 8, acquire() of a lock that is taken raises a TypeError. So it tries again
after BUSY_S."""

import sys
import time

import etcd3
import etcd3.exceptions
import grpc

import body

BUSY_S = 0.1
FAILURES = (etcd3.exceptions.Etcd3Exception, grpc.RpcError)


class Mutex(body.Lock):
    def __init__(self, servers, name, timeout_ms):
        host, port = servers.split(":")
        self.ttl_s = int(timeout_ms) // 1000
        self.client = etcd3.client(host, int(port), timeout=self.ttl_s)
        self.name, self.lock = name, None
        self.held, self.refreshed = False, 0

    def acquire(self):
        self.lock = self.client.lock(self.name, ttl=self.ttl_s)
        while not self.tries():
            time.sleep(BUSY_S)
        self.held, self.refreshed = True, body.now()
        return None

    def tries(self):
        try:
            return self.lock.acquire()
        except TypeError:
            return False

    def holds(self):
        return self.held

    def renew(self):
        if body.now() - self.refreshed < self.ttl_s * 1e9 / 3:
            return
        try:
            self.held = all(answer.TTL > 0 for answer in self.lock.refresh())
        except FAILURES:
            self.held = False
        self.refreshed = body.now()
        if not self.held:
            body.say("lost", "refresh")

    def release(self):
        self.held = False
        self.lock.release()


body.serve(Mutex(*sys.argv[1:]), *FAILURES)
