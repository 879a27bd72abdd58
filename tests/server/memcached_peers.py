"""A real memcached, memcached_pipe and outlastd, for tests/server/memcached_differential."""

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time

REPLY_TIMEOUT = 0.6  # seconds, if both servers do not answer
PATIENCE = 30  # seconds for a server that must answer


class Server:
    """A connection to a server that listens on a socket in a temporary folder."""

    def __init__(self, command):
        self.folder = tempfile.mkdtemp(prefix="memcached-")
        self.path = os.path.join(self.folder, "socket")
        self.process = subprocess.Popen(command(self.folder, self.path), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            if os.path.exists(self.path):
                break
            time.sleep(0.02)
        self.connection = None
        self.reconnect()

    def reconnect(self):
        """Begins a new connection to an empty server."""
        if self.connection:
            self.connection.close()
        with self.connected() as text:
            text.sendall(b"flush_all\r\n")
            reply = b""
            while not reply.endswith(b"OK\r\n"):
                reply += text.recv(4096)
        self.connection = self.connected()

    def connected(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.path)
        return connection

    def write(self, data):
        return self.connection.send(data, socket.MSG_DONTWAIT)

    def read(self):
        try:
            return self.connection.recv(1 << 20)
        except OSError:
            return b""

    def files(self):
        """The descriptors for reading and writing."""
        return self.connection.fileno(), self.connection.fileno()

    def close(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)


class Memcached(Server):
    def __init__(self, program):
        user = ["-u", "root"] if os.getuid() == 0 else []
        super().__init__(lambda _, path: [program, "-s", path, "-t", "1", "-m", "64", "-U", "0",
                                          "-o", "no_lru_maintainer,no_lru_crawler", *user])


class Outlastd(Server):
    def __init__(self, program, mode):
        super().__init__(lambda folder, path: [program, "-p", "0", "-s", path, "--mode", mode, f"{folder}/{mode}"])


class Pipe:
    """A process of memcached_pipe; a new one for each connection."""

    def __init__(self, program, cuts):
        self.program, self.cuts, self.process = program, cuts, None
        self.reconnect()

    def reconnect(self):
        self.close()
        self.process = subprocess.Popen([self.program, str(self.cuts())], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        os.set_blocking(self.process.stdin.fileno(), False)

    def write(self, data):
        return self.process.stdin.write(data)

    def read(self):
        return self.process.stdout.read(1 << 20)

    def files(self):
        return self.process.stdout.fileno(), self.process.stdin.fileno()

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.close()
            if self.process.wait() != 0:
                sys.exit(f"memcached_pipe ended with status {self.process.returncode}")


class Exchange:
    """Bytes that are sent to a server, and its replies."""

    def __init__(self, server, data, end):
        self.server, self.data, self.end = server, memoryview(data), end
        self.replies, self.is_closed = bytearray(), False

    def run(self, timeout=REPLY_TIMEOUT):
        """Continues until the end mark, the end of the connection, or a pause of `timeout` seconds."""
        source, sink = self.server.files()
        while not self.is_closed and not self.is_ended():
            readable, writable, _ = select.select([source], [sink] if self.data else [], [], timeout)
            if not readable and not writable:
                return
            if writable:
                try:
                    self.data = self.data[self.server.write(self.data) or 0:]
                except BlockingIOError:
                    pass
                except OSError:
                    self.data = b""
            if readable:
                more = self.server.read()
                self.is_closed = not more
                self.replies += more

    def is_ended(self):
        return self.replies.endswith(self.end)

    def result(self):
        """(the replies without the end mark, whether the end mark came, whether the connection is closed)"""
        is_ended = self.is_ended()
        return bytes(self.replies[:-len(self.end)] if is_ended else self.replies), is_ended, self.is_closed


def replies_of(server, data, end):
    exchange = Exchange(server, data, end)
    exchange.run(PATIENCE)
    return exchange.result()


class Numbers:
    """The numbers of a server's items, by the order in which they appeared."""

    def __init__(self):
        self.index = {}

    def __call__(self, number):
        if number == b"0":
            return b"0"
        return b"#%d" % self.index.setdefault(number, len(self.index))
