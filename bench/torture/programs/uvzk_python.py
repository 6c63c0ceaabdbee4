#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""uvzk_python.py UVZK SERVERS NAME TIMEOUT_MS: `uvzk serve` as the child of a program, docs/guide/python.md.

The page says to ask valid_for_ms() before each step that must not be done twice, and to pass the token to the store."""

import pathlib
import sys
import threading

import body

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients" / "python"))
import uvzk  # noqa: E402
import uvzk.blocking  # noqa: E402


class Mutex(body.Lock):
    def __init__(self, command, servers, name, timeout_ms):
        seconds = str(int(timeout_ms) / 1000)
        self.client = uvzk.blocking.Client(
            servers, command=command, options=["--session-timeout", seconds, "--tick", "0.5", "--no-config", "--quiet"])
        self.mutex = self.client.mutex("/" + name)
        self.hold = None

    def acquire(self):
        self.hold = self.mutex.acquire()
        threading.Thread(target=self.tell_loss, args=(self.hold,), daemon=True).start()
        return self.hold.token

    def tell_loss(self, hold):
        reason = hold.lost.wait()
        if reason is not None:
            body.say("lost", reason.code)

    def holds(self):
        return self.hold.valid_for_ms() > 0

    def release(self):
        self.hold.release()

    def close(self):
        self.client.close()


body.serve(Mutex(*sys.argv[1:]), uvzk.UvzkError)
