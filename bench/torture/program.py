# SPDX-License-Identifier: Apache-2.0
"""One process of a lock program, with all that it has started."""

import asyncio
import os
import pathlib
import signal
import subprocess


def children(pid):
    try:
        return [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                for child in (task / "children").read_text().split()]  # fmt: skip
    except (FileNotFoundError, ProcessLookupError):
        return []


def family(pid):
    """The process, and all that it, or one of these, has started; itself first."""
    found = [pid]
    for one in found:
        found.extend(children(one))
    return found


class Program:
    def __init__(self, command, on_line, log):
        self.command, self.on_line, self.log = command, on_line, log
        self.process, self.reading, self.stopped = None, None, []

    async def begin(self):
        self.process = await asyncio.create_subprocess_exec(
            *map(str, self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            start_new_session=True)  # fmt: skip
        self.reading = asyncio.create_task(self.read(self.process))

    async def read(self, process):
        async for line in process.stdout:
            words = line.decode(errors="replace").split()
            if len(words) >= 2 and words[1].isdigit() and process is self.process:
                self.on_line(words[0], int(words[1]), words[2:])
        await process.wait()

    def tell(self, *words):
        try:
            self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was killed

    def ended(self):
        return self.process.returncode is not None

    def signal_all(self, number, pids):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def stop(self):
        """SIGSTOP of all its processes, as of a machine that stands still. Who is stopped starts nothing."""
        self.stopped = []
        if self.ended():
            return  # another process may have its number by now
        while new := [pid for pid in family(self.process.pid) if pid not in self.stopped]:
            self.signal_all(signal.SIGSTOP, new)
            self.stopped += new

    def resume(self):
        self.signal_all(signal.SIGCONT, self.stopped)
        self.stopped = []

    def kill(self):
        """SIGKILL of all its processes."""
        self.stop()
        self.signal_all(signal.SIGKILL, self.stopped)
        self.stopped = []

    async def killed(self):
        self.kill()
        await self.reading

    async def close(self, patience_s):
        """It has so long to end by itself."""
        self.process.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self.reading), patience_s)
        except asyncio.TimeoutError:
            await self.killed()
