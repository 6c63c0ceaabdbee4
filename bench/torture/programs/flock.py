#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flock.py FILE: the control on one machine, whose kernel releases the lock of whoever dies.

flock(1), https://man7.org/linux/man-pages/man1/flock.1.html: `flock FILE COMMAND`. It has no time-out and no session: who
is stopped keeps the lock."""

import sys

import body

body.command(["flock", sys.argv[1]])
