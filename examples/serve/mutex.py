#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutex.py SOCKET PATH STEPS: works while it holds a mutex through `uvzk serve`."""
import json
import socket
import sys
import time


def now():  # ms, by the clock of valid_until_ms
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) / 1e6


def ask(until=None, **request):
    program.settimeout(until and max(0.001, (until - now()) / 1000))
    program.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
    answer = json.loads(lines.readline() or "{}")
    return answer if answer.get("ok") else sys.exit("lost")


def work():
    time.sleep(0.1)


program = socket.socket(socket.AF_UNIX)
program.connect(sys.argv[1])
lines = program.makefile()
try:
    held = ask(op="acquire", path=sys.argv[2])
    print("acquired, token", held["token"], flush=True)
    for step in range(int(sys.argv[3])):
        held = ask(until=held["valid_until_ms"], op="valid", hold=held["hold"])
        work()  # takes less time than the hold is valid
        print("step", step + 1, flush=True)
    ask(op="release", hold=held["hold"])
    print("released")
except OSError:  # no answer in time
    sys.exit("lost")
