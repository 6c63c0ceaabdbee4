#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""uvzk_command.py UVZK SERVERS NAME TIMEOUT_MS: `uvzk lock`, docs/guide/command.md.

The session's time-out and the servers' tickTime are given; all else is as it comes: SIGTERM before the validity of the
hold ends, SIGKILL 5 s later or at that end, whichever comes first."""

import sys

import body

uvzk, servers, name, timeout_ms = sys.argv[1:]
body.command([uvzk, "lock", "--quiet", "--no-config", "--hosts", servers, "--session-timeout", str(int(timeout_ms) / 1000),
              "--tick", "0.5", "/" + name, "--"])  # fmt: skip
