"""A running outlastd, and clients of it with sockets only, for tests."""
import atexit
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time


class Server:
    """outlastd with a pool of its own. Only loopback is used."""

    def __init__(self, program, directory, *options, name="items.pool"):
        self.program = str(program)
        self.directory = pathlib.Path(directory)
        self.pool = self.directory / name
        self.options = list(options)
        self.port = free_port()
        self.durable_port = free_port()
        self.metrics_port = free_port()
        self.process = None

    def command(self):
        return [self.program, "-p", str(self.port), "--durable-port", str(self.durable_port),
                "--metrics-port", str(self.metrics_port), *self.options, str(self.pool)]

    def launch(self, **popen):
        """Starts the server, and does not wait until it listens."""
        with open(self.directory / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=log, **popen)
        atexit.register(self.process.kill)  # a test that fails leaves no server

    def start(self, timeout=20, **popen):
        self.launch(**popen)
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.text()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.002)
        raise AssertionError("the server does not listen: " + self.text())

    def text(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def end(self, timeout=30):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def resident_kb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        raise AssertionError("no RssAnon")

    def metrics(self):
        with socket.create_connection(("127.0.0.1", self.metrics_port), 10) as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while part := client.recv(65536):
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        lines = [line.split() for line in body.decode().splitlines() if not line.startswith("#")]
        return {name: int(value) for name, value in lines}


class Lines:
    """A connection of memcached's text protocol."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        """Returns the next line, or None at the end of the connection."""
        while b"\r\n" not in self.buffer:
            part = self.socket.recv(65536)
            if not part:
                return None
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def set(self, key, value):
        self.send(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value))
        return self.line()

    def get(self, key):
        self.send(b"get %s\r\n" % key)
        value = None
        while (line := self.line()) != b"END":
            assert line is not None and line.startswith(b"VALUE "), line
            value = self.line()
        return value


class Resp:
    """A connection of RESP2."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        words = [each if isinstance(each, bytes) else str(each).encode() for each in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(each), each) for each in words))

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError
        kind, rest = line[:1], line[1:-2]
        if kind in b"+-":
            return line[:-2].decode()
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        assert kind == b"*", line
        return [self.reply() for _ in range(int(rest))]

    def ask(self, *words):
        self.send(*words)
        return self.reply()


def free_port():
    """Returns a port below those that the system gives to clients: one of these could take it while the server is down."""
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.randrange(12000, 32000)))
                return probe.getsockname()[1]
            except OSError:
                continue


def temporary():
    """Returns a directory that is removed, in memory if there is some."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="outlast-test-", dir=where)


class Missing(Exception):
    """What a test needs is not there."""


def run_tests(names):
    """Runs the functions of a program whose names begin with test_, or those that its command line names after the server."""
    tests = {name: each for name, each in names.items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        began = time.monotonic()
        with temporary() as directory:
            try:
                tests[name](directory)
            except Missing as cause:
                print(f"{name}: not tested: {cause}", flush=True)
                continue
        print(f"{name}: {time.monotonic() - began:.2f} s", flush=True)
