#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo_semaphore.py SERVERS NAME TIMEOUT_MS: kazoo's Semaphore of two leases.

https://kazoo.readthedocs.io/en/latest/api/recipe/lock.html#kazoo.recipe.lock.Semaphore: "with semaphore:". That a lease is lost, only
the connection's states tell: as in kazoo_lock.py."""

import sys

import kazoo.exceptions

import body
import kazoo_lock

LEASES = 2


class Semaphore(kazoo_lock.Mutex):
    def acquire(self):
        self.lock = self.client.Semaphore(self.path, max_leases=LEASES)
        self.lock.acquire()
        self.held = self.client.state == kazoo_lock.CONNECTED


body.serve(Semaphore(*sys.argv[1:]), kazoo.exceptions.KazooException)
