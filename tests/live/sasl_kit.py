# SPDX-License-Identifier: Apache-2.0
"""What the tests of docs/guide/sasl.md share: a KDC, and servers of ZooKeeper that want SASL. Import it
with sys.dont_write_bytecode set."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

from tls_kit import check, die_with_parent, free_port, listens, wait_until

CLASS_PATH = os.environ.get("UVZK_ZOOKEEPER_JARS") or ":".join(
    f"/usr/share/java/{name}.jar"
    for name in ("zookeeper", "zookeeper-jute", "slf4j-simple", "netty-common", "netty-buffer", "netty-handler",
                 "netty-transport", "netty-codec", "netty-resolver"))  # fmt: skip
REALM, HOST = "UVZK.TEST", "localhost"
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def has_kdc():
    return shutil.which("krb5kdc", path=PATH) is not None and shutil.which("kadmin.local", path=PATH) is not None


class Process:
    """One that is started and killed as often as a test wants."""

    def __init__(self, words, log, ready, **more):
        self.words, self.log, self.ready, self.more, self.process = words, log, ready, more, None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=die_with_parent, **self.more)  # fmt: skip
        wait_until(f"{self.words[0]} is up: {self.log}", self.is_up)

    def is_up(self):
        if self.process.poll() is not None:
            sys.exit(f"{self.words[0]} has ended:\n{pathlib.Path(self.log).read_text()}")
        return self.ready()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()


class Kdc(Process):
    """MIT's, for the realm, on a port of its own; its files are in a directory."""

    def __init__(self, directory):
        self.directory, self.port = directory, free_port()
        self.conf = directory / "krb5.conf"
        self.conf.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " rdns = false\n dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self.port}\n }}\n"
            f" ELSEWHERE.TEST = {{\n  kdc = 127.0.0.1:1\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n")  # fmt: skip
        kdc_conf = directory / "kdc.conf"
        kdc_conf.write_text(
            f"[kdcdefaults]\n kdc_listen = \"\"\n kdc_tcp_listen = 127.0.0.1:{self.port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {directory}/principal\n  key_stash_file = {directory}/stash\n"
            "  max_life = 10h\n  supported_enctypes = aes256-cts-hmac-sha1-96:normal\n }\n"
            "[logging]\n kdc = STDERR\n")  # fmt: skip
        self.environment = {**os.environ, "KRB5_CONFIG": str(self.conf), "KRB5_KDC_PROFILE": str(kdc_conf),
                            "PATH": PATH, "KRB5RCACHETYPE": "none"}  # fmt: skip
        subprocess.run(["kdb5_util", "create", "-s", "-r", REALM, "-P", "master", "-W"], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        self.logged = 0
        super().__init__(["krb5kdc", "-n"], directory / "kdc.log", lambda: listens(self.port), env=self.environment)

    def admin(self, *queries):
        """Of kadmin.local, one program for all."""
        done = subprocess.run(["kadmin.local"], input="\n".join(queries) + "\n", env=self.environment, text=True,
                              capture_output=True, check=False)  # fmt: skip
        check(done.returncode == 0 and "while" not in done.stderr, f"kadmin.local: {queries}: {done.stderr}")

    def principals(self, *names):
        """With a random key each, which is in NAME.keytab."""
        queries = []
        for name in names:
            queries += [f"addprinc -randkey {name}", f"ktadd -q -k {self.keytab(name)} {name}"]
        self.admin(*queries)

    def text(self):
        """What it has logged since restart_log."""
        return pathlib.Path(self.log).read_text()[self.logged:]

    def restart_log(self):
        self.logged = len(pathlib.Path(self.log).read_text())

    def keytab(self, name):
        return self.directory / (name.replace("/", "-") + ".keytab")


def faked_clock(offset):
    """What a program's environment has, so that its wall clock is wrong and its steady clock is right."""
    places = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    check(len(places) == 1, "no libfaketime (tools/install-packages test)")
    return {"LD_PRELOAD": str(places[0]), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


DIGEST_JAAS = """Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required %s;
};
"""
KERBEROS_JAAS = """Server {
  com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true useTicketCache=false
  keyTab="%s" principal="%s";
};
"""


class Server(Process):
    """One ZooKeeper server. jaas: the text of its file; None: it has no SASL."""

    def __init__(self, directory, name, jaas, *lines, krb5_conf=None, secure=None, java=()):
        place = directory / name
        place.mkdir()
        self.port = free_port()
        self.hosts = f"127.0.0.1:{self.port}"
        words = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *java]
        config = [f"dataDir={place}/data", f"clientPort={self.port}", "clientPortAddress=127.0.0.1", "tickTime=200",
                  "minSessionTimeout=400", "maxSessionTimeout=600000", "admin.enableServer=false",
                  "4lw.commands.whitelist=*", *lines]  # fmt: skip
        if jaas is not None:
            (place / "jaas.conf").write_text(jaas)
            words.append(f"-Djava.security.auth.login.config={place}/jaas.conf")
            config.append("authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider")
        if krb5_conf is not None:
            words += [f"-Djava.security.krb5.conf={krb5_conf}", "-Dsun.security.krb5.rcache=none"]
        (place / "zoo.cfg").write_text("\n".join(config) + "\n")
        words += ["-cp", CLASS_PATH, "org.apache.zookeeper.server.ZooKeeperServerMain", str(place / "zoo.cfg")]
        super().__init__(words, place / "log", lambda: listens(self.port))

    def text(self):
        return pathlib.Path(self.log).read_text()


class Relay:
    """To a server: its connections can be cut."""

    def __init__(self, server):
        self.server, self.ends = server, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near = self.listener.accept()[0]
            try:
                far = socket.create_connection(("127.0.0.1", int(self.server.port)))
            except OSError:
                near.close()
                continue
            self.ends += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(source, target), daemon=True).start()

    @staticmethod
    def carry(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def started(*processes):
    """All of them: each starts while the others do."""
    with contextlib.ExitStack() as stack:
        for process in processes:
            stack.enter_context(process)
        yield
