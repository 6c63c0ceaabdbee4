# SPDX-License-Identifier: Apache-2.0
"""What bench/tasks does, by kazoo: the same options, the same JSON. A task is a thread with
lock objects of its own. With --pending the tasks acquire once: all of them queue, then the
queue drains.

No read-write lock: with a hundred threads at kazoo 2.8's one of them never ends."""

import argparse
import json
import os
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient

FIRST_CYCLES_S = 30


class Exclusion:
    """What must not be seen at one path; the numbers of its znodes are its tokens."""

    def __init__(self, together):
        self.together, self.holders, self.alone, self.last = together, 0, False, -1
        self.overlaps = self.out_of_order = 0
        self.guard = threading.Lock()

    def enter(self, alone, number=-1):
        with self.guard:
            if self.alone or self.holders > (0 if alone else self.together - 1):
                self.overlaps += 1
            if 0 <= number <= self.last:
                self.out_of_order += 1
            self.last = max(self.last, number)
            self.holders += 1
            self.alone = alone

    def leave(self):
        with self.guard:
            self.holders -= 1
            self.alone = self.alone and self.holders > 0


class Task(threading.Thread):
    def __init__(self, run, number, client, path, seen):
        super().__init__(daemon=True)
        self.run_of, self.number, self.seen = run, number, seen
        self.acquires, self.cycles = [], []
        self.failed = False
        self.first = threading.Event()  # cycle: directories may be missing
        options = run.options
        self.alone = options.recipe == "mutex"
        self.lock = (client.Lock(path) if self.alone
                     else client.Semaphore(path, max_leases=options.leases))  # fmt: skip

    def run(self):
        try:
            while not self.run_of.ending:
                self.once()
        except Exception:
            self.failed = True
            traceback.print_exc()

    def once(self):
        asked = time.perf_counter()
        self.lock.acquire()
        granted = time.monotonic_ns()
        if self.run_of.measuring:
            self.acquires.append(time.perf_counter() - asked)
        token = int(self.lock.node[-10:]) if self.alone else -1
        self.seen.enter(self.alone, token)
        if self.run_of.options.hold > 0:
            time.sleep(self.run_of.options.hold / 1000)
        self.seen.leave()
        released = time.monotonic_ns()
        self.lock.release()
        self.run_of.add_hold(self.number, token + 1, granted, released)
        self.first.set()
        if self.run_of.measuring:
            self.cycles.append(time.perf_counter() - asked)


def percentiles(what, samples):
    samples = sorted(samples)
    at = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
    return {f"{what}_{name}_us": round(samples[min(len(samples) - 1, int(part * len(samples)))]
                                       * 1e6, 1) if samples else 0
            for name, part in at.items()}  # fmt: skip


class Run:
    def __init__(self, options):
        self.options = options
        self.measuring = self.ending = False
        self.base = options.path or f"/kazoo-tasks/{os.getpid()}"
        self.journal = open(options.journal, "w") if options.journal else None
        self.clients = [KazooClient(hosts=options.hosts, timeout=60)
                        for _ in range(options.sessions)]  # fmt: skip
        for client in self.clients:
            client.start(timeout=30)
        together = options.leases if options.recipe == "semaphore" else sys.maxsize
        self.paths = [Exclusion(together) for _ in range(options.paths)]
        self.tasks = [self.task(i) for i in range(options.tasks)]

    def task(self, number):
        place = number % self.options.paths
        client = self.clients[(place + number // self.options.paths) % len(self.clients)]
        return Task(self, number, client, f"{self.base}/{place}", self.paths[place])

    def add_hold(self, number, token, granted, released):
        """As in bench/journal.h; a line is written at once."""
        if self.journal is not None:
            self.journal.write(f"{number} {token} {granted} {released}\n")

    def say(self, what):
        print(json.dumps(what), flush=True)

    def checks(self, cycles):
        overlaps = sum(path.overlaps for path in self.paths)
        out_of_order = sum(path.out_of_order for path in self.paths)
        failures = sum(task.failed for task in self.tasks)
        return {"overlaps": overlaps, "out_of_order": out_of_order, "failures": failures,
                "right": cycles > 0 and overlaps + out_of_order + failures == 0}  # fmt: skip

    def measure(self):
        for task in self.tasks:
            task.start()
        time.sleep(self.options.warm / 1000)
        until = time.monotonic() + FIRST_CYCLES_S
        for task in self.tasks:
            task.first.wait(max(0, until - time.monotonic()))
        self.say({"window": "begins"})
        began = time.perf_counter()
        self.measuring = True
        while True:  # until there is a cycle at least
            time.sleep(self.options.window / 1000)
            if any(task.cycles or task.failed for task in self.tasks):
                break
        self.measuring = False
        length = time.perf_counter() - began
        self.say({"window": "ends"})
        self.ending = True
        for task in self.tasks:
            task.join()
        cycles = [sample for task in self.tasks for sample in task.cycles]
        acquires = [sample for task in self.tasks for sample in task.acquires]
        result = {"program": "kazoo", "seconds": round(length, 3), "cycles": len(cycles),
                  "cycles_per_s": round(len(cycles) / length, 1),
                  **percentiles("acquire", acquires), **percentiles("cycle", cycles),
                  **self.checks(len(cycles))}  # fmt: skip
        self.say(result)
        return result["right"]

    def pending(self):
        """Everybody queues behind one who holds, then the queue drains."""
        client, path = self.clients[0], f"{self.base}/0"
        first = client.Lock(path)
        first.acquire()
        self.ending = True  # once() by hand
        self.say({"window": "begins"})
        began = time.perf_counter()
        threads = [threading.Thread(target=task.once) for task in self.tasks]
        for thread in threads:
            thread.start()
        while client.exists(path).numChildren < len(threads) + 1:
            time.sleep(0.01)
        queued = time.perf_counter()
        first.release()
        for thread in threads:
            thread.join()
        drained = time.perf_counter()
        self.say({"window": "ends"})
        result = {"program": "kazoo", "cycles": len(threads),
                  "queue_ms": round((queued - began) * 1e3, 1),
                  "drain_ms": round((drained - queued) * 1e3, 1),
                  "drained_per_s": round(len(threads) / (drained - queued), 1),
                  **self.checks(len(threads))}  # fmt: skip
        self.say(result)
        return result["right"]

    def close(self):
        for client in self.clients:
            client.stop()
            client.close()
        if self.journal is not None:
            self.journal.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", required=True)
    parser.add_argument("--recipe", default="mutex", choices=["mutex", "semaphore"])
    for name, default in [("tasks", 16), ("paths", 1), ("sessions", 1), ("leases", 3),
                          ("hold", 0), ("warm", 1000), ("window", 2000)]:  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--pending", default="no", choices=["no", "yes"])
    parser.add_argument("--path", help="of the locks")
    parser.add_argument("--journal", help="a file for the holds")
    run = Run(parser.parse_args())
    right = run.pending() if run.options.pending == "yes" else run.measure()
    run.close()
    raise SystemExit(not right)


if __name__ == "__main__":
    main()
