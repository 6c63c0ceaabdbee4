"""What the tests of docs/tls.md share: its blocks, its certificates, its server. Import it with
sys.dont_write_bytecode set."""

import contextlib
import ctypes
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import time

PATIENCE_S = 60
SERVER_DID_NOT_COME_UP = 125
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
# What the page calls them.
SERVER_PORT, LOCAL_PORT = "2281", "2181"
SERVER_PLACE, CLIENT_PLACE = "/etc/zookeeper/tls/", "/etc/stunnel/"


def block(page, language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)
    if len(found) != 1:
        sys.exit(f"{len(found)} blocks of {language}")
    return found[0]


def replaced(text, **by):
    """Each must be there: a page that says something else is not what is tried."""
    for old, new in by.values():
        if old not in text:
            sys.exit(f"the page has no {old}")
        text = text.replace(old, new)
    return text


def free_port():
    """Below the range of outgoing connections, as the kit's."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return str(port)


def make_certificates(page, directory):
    subprocess.run(["sh", "-e", "-c", block(page, "sh")], cwd=directory, check=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip


def die_with_parent():
    """For a server's process, before it is executed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def with_page_server(page, directory, start):
    """What start(file, port) returns. It begins a server with the lines of this file, in which
    the page's port is this one; the port may be taken."""
    for _ in range(5):
        port = free_port()
        config = replaced(block(page, "properties"), port=(f"={SERVER_PORT}", f"={port}"),
                          place=(SERVER_PLACE, f"{directory}/"))  # fmt: skip
        path = directory / "more.cfg"
        path.write_text(config + "secureClientPortAddress=127.0.0.1\n")
        code = start(path, port)
        if code != SERVER_DID_NOT_COME_UP:
            break
    return code


def serve(with_zookeeper, page, directory, arguments):
    """The server of the page, and this program again beside it."""
    return with_page_server(
        page, directory, lambda path, port: subprocess.run(
            [with_zookeeper, "--config", str(path), "--", sys.executable, *arguments, "inside",
             str(directory), "{hosts}", port], check=False).returncode)  # fmt: skip


def wait_until(what, holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"never: {what}")
        time.sleep(0.01)


def check(right, what):
    if not right:
        sys.exit(f"wrong: {what}")


def run(uvzk, verb, hosts, *arguments):
    return subprocess.run([uvzk, verb, "--hosts", hosts, "--tick", "0.2", *arguments],
                          text=True, capture_output=True, timeout=PATIENCE_S,
                          check=False)  # fmt: skip
