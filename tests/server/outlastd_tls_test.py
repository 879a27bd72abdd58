"""Goal: clients of TLS get what clients of TCP get, and input, files and clients that are wrong harm only themselves.
Method: openssl makes authorities and certificates; Python's ssl module and raw sockets are the clients.

usage: outlastd_tls_test.py PROGRAM [name of a test]
"""
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings

import served

PROGRAM = sys.argv[1]
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """A certificate authority in a directory."""

    def __init__(self, directory, name="authority"):
        self.directory = pathlib.Path(directory)
        self.name = name
        self.certificate = self.directory / f"{name}.crt"
        openssl("req", "-x509", *CURVE, "-keyout", self.path("key"), "-out", self.certificate, "-days", 30,
                "-subj", f"/CN={name}")

    def path(self, ending):
        return self.directory / f"{self.name}.{ending}"

    def issue(self, name, days=30):
        """Returns the files of a certificate for localhost, and of its key."""
        request, key, made = (self.directory / f"{name}.{ending}" for ending in ("csr", "key", "crt"))
        extension = self.directory / f"{name}.ext"
        extension.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("req", *CURVE, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.path("key"), "-days", days,
                "-extfile", extension, "-out", made)
        key.chmod(0o600)
        return made, key


class TlsServer(served.Server):
    def __init__(self, directory, *options, clients="no", **more):
        super().__init__(PROGRAM, directory, "-t", "2", *options, **more)
        self.authority = Authority(directory)
        self.certificate, self.key = self.authority.issue("server")
        self.tls_port = served.free_port()
        self.options += ["--tls-port", str(self.tls_port), "--tls-cert-file", str(self.certificate), "--tls-key-file",
                         str(self.key), "--tls-auth-clients", clients]
        if clients != "no":
            self.options += ["--tls-ca-cert-file", str(self.authority.certificate)]

    def start(self, timeout=20, **popen):
        super().start(timeout, **popen)
        self.await_log("(TLS)")  # all sockets are open
        return self

    def context(self, certificate=None):
        made = ssl.create_default_context(cafile=self.authority.certificate)
        if certificate:
            made.load_cert_chain(*certificate)
        return made

    def connect(self, context=None, timeout=20):
        raw = socket.create_connection(("127.0.0.1", self.tls_port), timeout)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            # An end without close_notify is an error, not the end.
            return (context or self.context()).wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False)
        except OSError:
            raw.close()
            raise

    def lines(self, **more):
        made = served.Lines.__new__(served.Lines)
        made.socket = self.connect(**more)
        made.buffer = b""
        return made

    def await_number(self, name, wanted, timeout=10):
        end = time.monotonic() + timeout
        while (now := self.metrics()[name]) != wanted:
            assert time.monotonic() < end, (name, now, wanted)
            time.sleep(0.02)

    def await_log(self, text, timeout=10):
        end = time.monotonic() + timeout
        while text not in self.text():
            assert time.monotonic() < end, self.text()
            time.sleep(0.02)

    def await_failures(self, wanted):
        self.await_number("outlast_tls_failed_handshakes_total", wanted)


def refused(*command):
    done = subprocess.run([PROGRAM, "-p", "0", *map(str, command)], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1, done
    return done.stderr


def recv_until(client, end):
    got = b""
    while not got.endswith(end):
        part = client.recv(65536)
        assert part, got
        got += part
    return got


def ends_without_reply(client):
    """Returns whether the server ends a connection that has sent a request, without a reply to it."""
    try:
        client.sendall(b"version\r\n")
        return client.recv(100) == b""
    except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
        return True


def test_both_protocols_work_over_tls(directory):
    server = TlsServer(directory).start()
    assert f"127.0.0.1:{server.tls_port} (TLS)" in server.text(), server.text()
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = server.context()
        context.minimum_version = context.maximum_version = version
        with server.lines(context=context) as client:
            assert client.socket.version() == version.name.replace("_", ".")
            assert client.set(b"key", b"value") == b"STORED"
            assert client.get(b"key") == b"value"
        with server.connect(context) as client:
            client.sendall(b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")
            assert recv_until(client, b"\r\n") == b"$5\r\n" + b"value\r\n"
    with served.Lines(server.port) as client:  # the items are those of the other ports
        assert client.get(b"key") == b"value"
    numbers = server.metrics()
    in_thirty_days = time.time() + 30 * 86400
    assert abs(numbers["outlast_tls_certificate_expires_seconds"] - in_thirty_days) < 3600, numbers
    assert numbers["outlast_tls_failed_handshakes_total"] == 0, numbers
    assert server.end() == 0


def test_redis_cli_speaks_tls_with_a_client_certificate(directory):
    tool = shutil.which("redis-cli")
    if tool is None or "--tls" not in subprocess.run([tool, "--help"], capture_output=True, text=True, check=False).stdout:
        print("redis-cli with TLS is not installed: not tested")
        return
    server = TlsServer(directory, clients="yes").start()
    certificate, key = server.authority.issue("client")
    usual = [tool, "-h", "localhost", "-p", str(server.tls_port), "--tls", "--cacert", str(server.authority.certificate)]
    for more, answer in ((["--cert", str(certificate), "--key", str(key)], "PONG\n"), ([], "")):
        done = subprocess.run([*usual, *more, "PING"], capture_output=True, text=True, timeout=20, check=False)
        assert done.stdout == answer, done
    server.end()


def test_older_versions_of_tls_are_refused(directory):
    server = TlsServer(directory).start()
    context = server.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    try:
        server.connect(context)
        raise AssertionError("TLS 1.1 was accepted")
    except ssl.SSLError as refusal:
        assert "PROTOCOL_VERSION" in str(refusal).upper().replace(" ", "_"), refusal
    server.await_failures(1)
    server.end()


def test_a_session_can_be_resumed_until_the_certificate_is_replaced(directory):
    server = TlsServer(directory, clients="yes").start()
    context = server.context(server.authority.issue("client"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # there, Python has the session when the handshake ends

    def connect(session):
        raw = socket.create_connection(("127.0.0.1", server.tls_port), 10)
        with context.wrap_socket(raw, server_hostname="localhost", session=session) as client:
            client.sendall(b"version\r\n")
            recv_until(client, b"\r\n")
            return client.session_reused, client.session

    reused, session = connect(None)
    assert not reused
    assert connect(session)[0]
    server.process.send_signal(signal.SIGHUP)
    server.await_log("new connections use the certificate")
    assert not connect(session)[0]
    server.end()


def test_client_certificates_are_required_if_that_is_wanted(directory):
    server = TlsServer(directory, clients="yes").start()
    with server.lines(context=server.context(server.authority.issue("client"))) as client:
        assert client.set(b"key", b"value") == b"STORED"
    assert all_are_refused(server, [None, Authority(directory, "stranger").issue("foreign")])
    server.await_failures(2)
    server.await_log("a handshake of TLS with 127.0.0.1:")
    server.end()


def all_are_refused(server, certificates):
    for each in certificates:
        try:
            with server.connect(server.context(each)) as client:
                if not ends_without_reply(client):
                    return False
        except (ssl.SSLError, ConnectionResetError):
            pass
    return True


def test_client_certificates_are_optional_if_that_is_wanted(directory):
    server = TlsServer(directory, clients="optional").start()
    for each in (None, server.authority.issue("client")):
        with server.lines(context=server.context(each)) as client:
            assert client.set(b"key", b"value") == b"STORED"
    assert all_are_refused(server, [Authority(directory, "stranger").issue("foreign")])
    server.end()
    # An expired certificate is none.
    server.start()
    assert all_are_refused(server, [server.authority.issue("late", days=-1)])
    server.end()


def test_client_certificates_are_not_examined_if_that_is_wanted(directory):
    server = TlsServer(directory, clients="no").start()
    with server.lines(context=server.context(Authority(directory, "stranger").issue("foreign"))) as client:
        assert client.set(b"key", b"value") == b"STORED"
    server.end()


def test_sighup_loads_certificates_and_ends_no_connection(directory):
    log = pathlib.Path(directory, "server.log")
    server = TlsServer(directory, "--log", str(log))
    server.text = log.read_text
    server.start()
    first = server.lines()
    old = first.socket.getpeercert(binary_form=True)
    server.authority.issue("server")  # the same files
    server.process.send_signal(signal.SIGHUP)
    server.await_log("new connections use the certificate in " + str(server.certificate))
    with server.lines() as second:
        new = second.socket.getpeercert(binary_form=True)
        assert new != old
        assert second.set(b"key", b"value") == b"STORED"
    assert first.get(b"key") == b"value"
    # A certificate without its key, and a broken one, leave the present one in use.
    good = server.certificate.read_bytes()
    key = server.key.read_bytes()
    for broken, cause in ((b"-----BEGIN CERTIFICATE-----\nbroken\n", str(server.certificate)),
                          (b"", str(server.certificate)), (None, str(server.key))):
        if broken is None:
            server.authority.issue("server")
            server.key.write_bytes(key)
        else:
            server.certificate.write_bytes(broken)
        log.rename(str(log) + ".old")
        server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 10
        while not log.exists() or "stays in use" not in log.read_text():
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.01)
        assert cause in log.read_text(), log.read_text()
        with server.lines() as third:
            assert third.socket.getpeercert(binary_form=True) == new
    server.certificate.write_bytes(good)
    assert first.get(b"key") == b"value"
    first.socket.close()
    assert server.end() == 0


def test_handshakes_are_limited_in_number_and_time(directory):
    server = TlsServer(directory, "--tls-max-handshakes", "3", "--tls-handshake-timeout", "2").start()
    began = time.monotonic()
    silent = [socket.create_connection(("127.0.0.1", server.tls_port), 10) for _ in range(3)]
    outgoing = ssl.MemoryBIO()
    engine = server.context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    try:
        engine.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()
    silent[0].sendall(hello[:100])
    server.await_number("outlast_tls_handshakes", 3)
    with socket.create_connection(("127.0.0.1", server.tls_port), 10) as fourth:
        assert fourth.recv(10) == b""
    assert time.monotonic() - began < 1.9
    with served.Lines(server.port) as client:  # plain clients do not notice
        assert client.set(b"key", b"value") == b"STORED"
    # One byte from time to time gives no more time.
    for at in range(100, len(hello)):
        try:
            silent[0].sendall(hello[at:at + 1])
            time.sleep(0.05)
        except OSError:
            break
    for each in silent:
        try:
            assert each.recv(10) == b""
        except ConnectionResetError:
            pass
    assert 1.5 < time.monotonic() - began < 6, time.monotonic() - began
    assert server.metrics()["outlast_tls_handshakes"] == 0
    assert server.metrics()["outlast_tls_failed_handshakes_total"] == 3
    # Connections whose handshake is complete do not count.
    several = [server.lines() for _ in range(10)]
    for each in several:
        assert each.get(b"key") == b"value"
        each.socket.close()
    server.end()


def test_plain_text_on_the_port_of_tls_ends_with_an_alert(directory):
    server = TlsServer(directory).start()
    for text in (b"version\r\n", b"*1\r\n$4\r\nPING\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x80" + bytes(23)):
        with socket.create_connection(("127.0.0.1", server.tls_port), 10) as client:
            client.sendall(text * 100)
            answer = b""
            while part := client.recv(1000):
                answer += part
            assert answer == b"" or answer[0] == 0x15, answer  # an alert
    server.await_failures(4)
    assert server.text().count("a handshake of TLS with") == 1, server.text()
    with server.lines() as client:
        assert client.set(b"key", b"value") == b"STORED"
    server.end()


def test_held_and_long_replies_arrive_whole_and_in_order(directory):
    server = TlsServer(directory).start()
    count, value = 1000, b"%05d" * 200
    with server.lines() as client:
        client.send(b"durable on\r\n")
        client.line()
        client.send(b"".join(b"set k%d 0 0 1000\r\n%s\r\n" % (i, value % ((i,) * 200)) for i in range(count)))
        for _ in range(count):
            assert client.line() == b"STORED"
        sender = threading.Thread(target=lambda: [client.send(b"get k%d\r\n" % (i % count)) for i in range(10_000)])
        sender.start()
        for i in range(10_000):
            if i % 4000 == 0:
                time.sleep(0.2)
            assert client.line() == b"VALUE k%d 0 1000" % (i % count)
            assert client.line() == value % ((i % count,) * 200)
            assert client.line() == b"END"
        sender.join()
    assert server.metrics()["outlast_held_replies_total"] > 0
    server.end()


def test_a_client_that_does_not_read_is_not_read_from(directory):
    server = TlsServer(directory).start()
    with server.lines() as client:
        assert client.set(b"large", b"x" * 1_000_000) == b"STORED"
        before = server.resident_kb()
        client.socket.settimeout(3)
        try:
            for _ in range(20_000):
                client.send(b"get large\r\n" * 10)
        except TimeoutError:
            pass
        assert server.metrics()["outlast_stalls_total"] >= 1, server.metrics()
        is_watched = "TSAN_OPTIONS" in os.environ or "ASAN_OPTIONS" in os.environ
        grown = server.resident_kb() - before
        assert grown < 20 * 1024 * (4 if is_watched else 1), grown
    server.await_number("outlast_pending_reply_bytes", 0)
    server.end()


def test_a_server_that_ends_sends_its_replies_and_the_end_of_tls(directory):
    server = TlsServer(directory).start()
    idle, half, busy = server.connect(), server.connect(), server.lines()
    shaking = socket.create_connection(("127.0.0.1", server.tls_port), 10)
    half.sendall(b"set a 0 0 10\r\nabc")
    busy.send(b"durable on\r\n")
    busy.line()
    stored = [0]

    def write():
        try:
            while True:
                busy.send(b"set k%d 0 0 1\r\nx\r\n" % stored[0])
                if busy.line() is None:  # close_notify
                    return
                stored[0] += 1
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError) as wrong:
            failures.append(wrong)

    failures = []
    crew = threading.Thread(target=write)
    crew.start()
    while stored[0] < 20:
        time.sleep(0.01)
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert idle.recv(10) == b"" and half.recv(10) == b""  # close_notify; a mere end of TCP would raise SSLEOFError
    assert shaking.recv(10) == b""
    crew.join()
    assert not failures or not isinstance(failures[0], ssl.SSLEOFError), failures
    for each in (idle, half, busy.socket, shaking):
        each.close()
    assert server.process.wait(10) == 0
    assert time.monotonic() - began < 1.5  # no connection waits for a timeout
    server.start()
    with server.lines() as client:
        for i in range(stored[0]):
            assert client.get(b"k%d" % i) == b"x", i
    server.end()


def test_a_connection_that_the_server_ends_gets_all_replies_first(directory):
    server = TlsServer(directory, "--idle-timeout", "1").start()
    with server.lines() as client:
        assert client.set(b"large", b"x" * 500_000) == b"STORED"
        # The bytes after `quit` are discarded and must not destroy the replies before it.
        client.send(b"get large\r\n" * 10 + b"quit\r\n" + b"get large\r\n" * 1000)
        time.sleep(0.3)
        for _ in range(10):
            assert client.line() == b"VALUE large 0 500000"
            assert client.line() == b"x" * 500_000
            assert client.line() == b"END"
        try:
            assert client.line() is None
        except ssl.SSLError as late:  # an alert because of the bytes after the end
            assert not isinstance(late, ssl.SSLEOFError), late
    with server.connect() as idle:
        idle.settimeout(8)
        assert idle.recv(10) == b""
    # A client that ends its side first gets its replies.
    with server.connect() as client:
        client.sendall(b"get large\r\n" * 4)
        closes = threading.Thread(target=client.unwrap, daemon=True)
        time.sleep(0.2)
        got = b""
        while len(got) < 4 * 500_000:
            got += client.recv(65536)
        closes.start()
        closes.join(10)
        assert not closes.is_alive()
    server.await_number("outlast_connections", 1)  # that of the question itself
    server.end()


def test_cuts_and_noise_at_every_place_end_one_connection_only(directory):
    server = TlsServer(directory, "--tls-handshake-timeout", "2").start()
    source = random.Random(7)
    context = server.context()
    with server.lines() as witness:
        assert witness.set(b"key", b"value") == b"STORED"
        for turn in range(150):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            engine = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
            raw = socket.create_connection(("127.0.0.1", server.tls_port), 5)
            budget = source.randrange(3000)
            with raw:
                try:
                    spoil_at = source.randrange(3000) if turn % 2 else None
                    exchange(engine, incoming, outgoing, raw, budget, spoil_at)
                    if turn % 3 == 0:
                        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                except (OSError, ssl.SSLError):
                    pass
            if turn % 50 == 0:
                assert witness.get(b"key") == b"value"
        assert witness.get(b"key") == b"value"
        assert server.metrics()["outlast_hits_total"] > 50, server.metrics()
        server.await_number("outlast_connections", 2)
        server.await_number("outlast_pending_reply_bytes", 0)
    assert server.end() == 0


def exchange(engine, incoming, outgoing, raw, budget, spoil_at):
    """Shakes hands and sends requests until `budget` bytes are sent. Changes the byte at `spoil_at`."""
    sent = 0
    is_shaken = False
    raw.settimeout(0.2)
    while sent < budget:
        try:
            if not is_shaken:
                engine.do_handshake()
                is_shaken = True
            engine.write(b"get key\r\n" * 5)
            engine.read(65536)
        except ssl.SSLWantReadError:
            pass
        part = outgoing.read()
        if part:
            if spoil_at is not None and sent <= spoil_at < sent + len(part):
                at = spoil_at - sent
                part = part[:at] + bytes([part[at] ^ 0x41]) + part[at + 1:]
            part = part[:budget - sent]
            raw.sendall(part)
            sent += len(part)
            if sent == budget:
                return
        answer = raw.recv(65536)
        if not answer:
            return
        incoming.write(answer)


def test_more_connections_than_permitted_are_closed(directory):
    server = TlsServer(directory, "-c", "3").start()
    several = [server.lines() for _ in range(3)]
    try:
        server.connect()
        raise AssertionError("a fourth connection was accepted")
    except OSError:
        pass
    assert several[0].set(b"key", b"value") == b"STORED"
    for each in several:
        each.socket.close()
    server.end()


def test_files_that_are_wrong_end_the_start_and_are_named(directory):
    server = TlsServer(directory)
    other = Authority(directory, "other").issue("foreign")
    late = server.authority.issue("late", days=-1)
    secret = pathlib.Path(directory, "secret.key")
    openssl("ec", "-in", server.key, "-out", secret, "-aes256", "-passout", "pass:secret")
    secret.chmod(0o600)
    empty = pathlib.Path(directory, "empty")
    empty.touch(0o600)
    pool = server.pool

    def start(certificate, key, *more):
        return refused("--tls-port", "0", "--tls-cert-file", certificate, "--tls-key-file", key,
                       *(more or ("--tls-auth-clients", "no")), pool)

    for certificate, key, named, cause in (
            (f"{directory}/absent", server.key, f"{directory}/absent", "No such file"),
            (server.certificate, f"{directory}/absent", f"{directory}/absent", "No such file"),
            (empty, server.key, empty, "no certificate"),
            (server.key, server.key, server.key, "no certificate"),
            (server.certificate, empty, empty, "no key"),
            (server.certificate, secret, secret, "passphrase"),
            (server.certificate, other[1], other[1], f"not the key of the certificate {server.certificate}"),
            (late[0], late[1], late[0], "has expired at")):
        text = start(certificate, key)
        assert str(named) in text and cause in text, text
    for mode in (0o604, 0o606, 0o620, 0o601):
        server.key.chmod(mode)
        text = start(server.certificate, server.key)
        assert str(server.key) in text and "0600" in text, text
    server.key.chmod(0o640)  # the group may read it
    text = start(server.certificate, server.key, "--tls-ca-cert-file", empty)
    assert str(empty) in text and "authority" in text, text
    text = start(server.certificate, server.key, "--tls-auth-clients", "yes")
    assert "--tls-ca-cert-file" in text, text
    text = refused("--tls-port", "0", "--tls-auth-clients", "no", pool)
    assert "--tls-cert-file" in text, text


def main():
    if "TLS" not in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout:
        with served.temporary() as directory:
            text = refused("--tls-port", "0", "--tls-cert-file", "a", "--tls-key-file", "b", "--tls-auth-clients", "no",
                           f"{directory}/pool")
            assert "built without TLS" in text, text
        print("built without TLS: the options are refused")
        return
    tests = {name: each for name, each in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        began = time.monotonic()
        with served.temporary() as directory:
            tests[name](directory)
        print(f"{name}: {time.monotonic() - began:.2f} s", flush=True)


main()
