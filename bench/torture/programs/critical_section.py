#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the commands run while they hold their lock. The token is where each of them puts it: uvzk lock in $UVZK_TOKEN,
etcdctl lock in $ETCD_LOCK_REV. Its input is that of the program that has run them, because etcdctl gives it none. They end it with SIGTERM when the lock is lost, if they do."""

import os
import signal
import sys

import body


def on_term(_, __):
    body.say("lost", "SIGTERM")
    sys.exit(1)


os.dup2(os.open(os.environ["TORTURE_INPUT"], os.O_RDONLY), 0)
signal.signal(signal.SIGTERM, on_term)
try:
    body.critical_section(body.Lock(), os.environ.get("UVZK_TOKEN") or os.environ.get("ETCD_LOCK_REV"))
except EOFError:
    pass
