# SPDX-License-Identifier: Apache-2.0
"""The controls of the demonstration: it serves the live page with buttons that stop and start the
instances, ZooKeeper and the locks. The shop server itself has no controls.

Whoever can send these requests stops processes. So they are for one machine's user only: the
socket is bound to 127.0.0.1; a request must name this host, so that no other name leads here
(DNS rebinding); and a POST must have the header X-Stock-Controls, which a page of another site
cannot send, because a browser asks first and is refused."""
import contextlib
import http.server
import json
import subprocess
import tempfile
import threading
import urllib.parse

import shop

NAMES, CONNECTIONS = "AB", 8
OPTIONS = {"products": 3, "stock": 100000, "step_ms": 400, "wait_ms": 10000, "session_ms": 4000}
PATIENCE_S = 15
HEADER = "X-Stock-Controls"


class Demonstration:
    """Two instances under load on a store. Its methods may be called by any thread."""

    def __init__(self, program, zookeeper, directory):
        self.program, self.zookeeper, self.directory = program, zookeeper, directory
        self.lock = threading.Lock()
        self.zookeeper_runs = self.locking = True
        self.instances, self.load, self.stopped = {}, [], set()
        self.store, self.origin = None, None

    def start(self, origin):
        """The instances let a page of this origin read their events."""
        self.origin = origin
        self.start_instances(dict.fromkeys(NAMES, 0))

    def start_instances(self, ports):
        """On a new store: one that has seen fencing tokens refuses orders without locks."""
        self.store = tempfile.mkdtemp(dir=self.directory)
        for name, port in ports.items():
            options = dict(OPTIONS, hosts=self.zookeeper.hosts, db=self.database(), port=port,
                           page_origin=self.origin)  # fmt: skip
            if not self.locking:
                options["no_lock"] = True
            self.instances[name] = shop.Instance(self.program, name, **options)
        self.load = [shop.Orders(instance, OPTIONS["products"], CONNECTIONS)
                     for instance in self.instances.values()]  # fmt: skip

    def database(self):
        return f"{self.store}/stock.db"

    def state(self):
        with self.lock:
            return {"instances": [{"name": name, "url": instance.url,
                                   "running": name not in self.stopped}
                                  for name, instance in self.instances.items()],
                    "zookeeper": self.zookeeper_runs, "locking": self.locking}  # fmt: skip

    def control(self, what, run):
        """Stops or starts a part; nothing happens if that is so already. False: no such part."""
        with self.lock:
            if what in self.instances:
                self.control_instance(what, run)
            elif what == "zookeeper":
                self.control_zookeeper(run)
            elif what == "locking":
                self.control_locking(run)
            else:
                return False
            return True

    def control_instance(self, name, run):
        if run and name in self.stopped:
            self.instances[name].go_on()
            self.stopped.remove(name)
        elif not run and name not in self.stopped:
            shop.stop(self.instances[name].process, self.database())
            self.stopped.add(name)

    def control_zookeeper(self, run):
        if run != self.zookeeper_runs:
            self.zookeeper.start() if run else self.zookeeper.kill()
            self.zookeeper_runs = run

    def control_locking(self, run):
        """The page finds the new instances at the ports of the old ones."""
        if run != self.locking:
            ports = {name: instance.port for name, instance in self.instances.items()}
            self.end_instances()
            self.locking = run
            self.start_instances(ports)

    def end_instances(self):
        """Their sessions too, so that no lock is left; but for an instance that does not end."""
        for load in self.load:
            load.kill()
        for instance in self.instances.values():
            instance.go_on()
            instance.process.terminate()
        for instance in self.instances.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                instance.process.wait(PATIENCE_S)
            instance.kill()
        self.stopped.clear()

    def close(self):
        with self.lock:
            self.end_instances()


class Handler(http.server.BaseHTTPRequestHandler):
    """GET / is the page, GET /controls is the state, POST /controls/A/stop and so on change it."""

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        self.wfile.write(data)

    def is_for_this_host(self):
        if self.headers.get("Host") == urllib.parse.urlsplit(self.server.origin).netloc:
            return True
        self.answer(403, {"reason": "this is not the host's name"})
        return False

    def do_GET(self):
        if not self.is_for_this_host():
            return
        if self.path == "/":
            self.answer(200, self.server.page, "text/html; charset=utf-8")
        elif self.path == "/controls":
            self.answer(200, self.server.demonstration.state())
        else:
            self.answer(404, {"reason": "there is nothing here"})

    def do_POST(self):
        if not self.is_for_this_host():
            return
        if HEADER not in self.headers:
            self.answer(403, {"reason": f"only with the header {HEADER}"})
            return
        place, _, verb = self.path.removeprefix("/controls/").partition("/")
        try:
            known = verb in ("stop", "start") and self.server.demonstration.control(
                place, verb == "start")  # fmt: skip
        except (shop.Failed, OSError) as failed:
            self.answer(500, {"reason": str(failed)})
            return
        if known:
            self.answer(200, self.server.demonstration.state())
        else:
            self.answer(404, {"reason": "there is nothing here"})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, demonstration):
        super().__init__(("127.0.0.1", 0), Handler)
        off, on = '<body data-controls="off">', '<body data-controls="on">'
        page = (shop.HERE / "page.html").read_text()
        if off not in page:
            raise shop.Failed("the page has no place for controls")
        self.page = page.replace(off, on)
        self.demonstration = demonstration
        self.origin = f"http://127.0.0.1:{self.server_port}"


def serve(demonstration):
    """A server whose page shows the instances, which it starts."""
    server = Server(demonstration)
    demonstration.start(server.origin)
    return server
