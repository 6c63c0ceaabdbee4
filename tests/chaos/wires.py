# SPDX-License-Identifier: Apache-2.0
"""The relays' process, and the passwords of the sessions that it has seen."""

import subprocess
import sys
import threading
from pathlib import Path


class Wires:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("relays.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.answers, self.arrived = {}, threading.Condition()
        self.passwords = {}  # by session id
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "session":
                self.passwords[int(words[2], 16)] = bytes.fromhex(words[3])
                continue
            with self.arrived:
                self.answers[words[1]] = words
                self.arrived.notify_all()

    def ask(self, command, name, *words):
        """Sends a command and waits for the relay's answer, which means that the command has taken
        effect."""
        with self.lock:
            with self.arrived:
                self.answers.pop(name, None)
            self.process.stdin.write(" ".join([command, name, *map(str, words)]) + "\n")
            with self.arrived:
                if not self.arrived.wait_for(lambda: name in self.answers, 10):
                    raise RuntimeError("the relays do not answer")
                return self.answers[name]

    def open(self, name, host, target_host, target_port):
        return int(self.ask("open", name, host, target_host, target_port)[2])

    def hold(self, name, to, back):
        self.ask("hold", name, int(to), int(back))

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
