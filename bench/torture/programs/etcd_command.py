#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""etcd_command.py SERVERS NAME TIMEOUT_MS: `etcdctl lock` of the interface 3.

https://github.com/etcd-io/etcd/tree/release-3.4/etcdctl#lock-options-lockname-command-arg1-arg2-: `etcdctl lock NAME COMMAND`. The
TTL is given (etcdctl's own: 10 s); all else is as it comes. The command gets $ETCD_LOCK_REV, the revision of the store when
the lock was granted, which the page calls the "lock revision": it serves as the token. Holders whose leases have ended together while they waited
may all be granted the lock, with the same revision (https://github.com/etcd-io/etcd/issues/11456), so a store that refuses smaller
tokens accepts all of them."""

import sys

import body

servers, name, timeout_ms = sys.argv[1:]
body.command(["etcdctl", "--endpoints", servers, "lock", "--ttl", str(int(timeout_ms) // 1000), name], {"ETCDCTL_API": "3"})
