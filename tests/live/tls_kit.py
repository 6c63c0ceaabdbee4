# SPDX-License-Identifier: Apache-2.0
"""What the tests of docs/tls.md share: its blocks, its certificates, its server. Import it with
sys.dont_write_bytecode set."""

import contextlib
import ctypes
import os
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


def openssl(directory, *words):
    subprocess.run(["openssl", *map(str, words)], cwd=directory, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip


def sign(directory, name, extension, begins="20200101000000Z", ends="20400101000000Z"):
    """A certificate of the page's CA, in NAME.pem, with its key."""
    database = directory / f"{name}.db"
    database.mkdir()
    (database / "index.txt").touch()
    config = database / "ca.cnf"
    config.write_text("[ca]\ndefault_ca = it\n[it]\nnew_certs_dir = .\ndatabase = index.txt\n"
                      "default_md = sha256\npolicy = any\nrand_serial = yes\ncopy_extensions = copy\n"
                      "[any]\ncommonName = supplied\n")  # fmt: skip
    openssl(database, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
            "-subj", f"/CN={name}", "-addext", f"subjectAltName={extension}",
            "-keyout", "key", "-out", "csr")  # fmt: skip
    openssl(database, "ca", "-batch", "-config", "ca.cnf", "-in", "csr", "-out", "crt", "-notext",
            "-cert", "../ca.pem", "-keyfile", "../ca.key", "-startdate", begins, "-enddate", ends)
    path = directory / f"{name}.pem"
    path.write_text((database / "crt").read_text() + (database / "key").read_text())
    return path


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", int(port))) == 0


@contextlib.contextmanager
def impostor(certificate, *more):
    """openssl's own server, which is none of ZooKeeper."""
    port = free_port()
    with subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert",
                           str(certificate), "-key", str(certificate), "-quiet", *more],
                          stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:  # fmt: skip
        wait_until("openssl listens", lambda: listens(port))
        yield f"127.0.0.1:{port}"
        process.kill()


@contextlib.contextmanager
def leaks_of_look_ups():
    """c-ares 1.18 loses a name of which /etc/hosts has several lines with one address."""
    before = os.environ.get("ASAN_OPTIONS")
    os.environ["ASAN_OPTIONS"] = f"{before or ''}:detect_leaks=0"
    yield
    del os.environ["ASAN_OPTIONS"]
    if before is not None:
        os.environ["ASAN_OPTIONS"] = before
