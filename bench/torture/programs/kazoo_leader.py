#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo_leader.py SERVERS NAME TIMEOUT_MS: kazoo's Election; who leads holds.

https://kazoo.readthedocs.io/en/latest/api/recipe/election.html: "election.run(my_leader_function)", which is called when the election
is won. That a leadership is lost, only the connection's states tell: as in kazoo_lock.py."""

import sys

import kazoo.exceptions

import body
import kazoo_lock


class Election(kazoo_lock.Mutex):
    def cycle(self):
        self.client.Election(self.path).run(self.lead)

    def lead(self):
        self.held = self.client.state == kazoo_lock.CONNECTED
        body.critical_section(self, None)
        self.held = False


body.serve(Election(*sys.argv[1:]), kazoo.exceptions.KazooException)
