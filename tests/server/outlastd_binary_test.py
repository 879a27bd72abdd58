"""Drives outlastd by memcached's binary protocol, beside the text protocol and RESP on the same port.

usage: outlastd_binary_test.py PROGRAM [name of a test]
"""
import pathlib
import socket
import struct
import sys
import threading
import time

import served

PROGRAM = sys.argv[1]
HEAD = struct.Struct(">BBHBBHIIQ")
GET, SET, ADD, DELETE, INCREMENT, QUIT, FLUSH, NOOP, VERSION, STAT = 0, 1, 2, 4, 5, 7, 8, 10, 11, 16
SETQ, GETKQ, LIST, AUTHENTICATE = 0x11, 0x0d, 0x20, 0x21


def request(opcode, key=b"", extras=b"", value=b"", unique=0, opaque=0, body=None):
    size = len(extras) + len(key) + len(value) if body is None else body
    return HEAD.pack(0x80, opcode, len(key), len(extras), 0, 0, size, opaque, unique) + extras + key + value


def storing(opcode, key, value, seconds=0, opaque=0):
    return request(opcode, key, struct.pack(">II", 0, seconds), value, opaque=opaque)


class Binary:
    """A connection of memcached's binary protocol."""

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

    def take(self, size):
        while len(self.buffer) < size:
            part = self.socket.recv(65536)
            if not part:
                return None
            self.buffer += part
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def reply(self):
        """(opcode, status, opaque, key, value) of the next reply, or None at the end of the connection."""
        head = self.take(HEAD.size)
        if head is None:
            return None
        magic, opcode, key, extras, _, status, body, opaque, _ = HEAD.unpack(head)
        assert magic == 0x81, head
        rest = self.take(body)
        return opcode, status, opaque, rest[extras:extras + key], rest[extras + key:]

    def ask(self, data):
        self.send(data)
        return self.reply()

    def get(self, key):
        _, status, _, _, value = self.ask(request(GET, key))
        return value if status == 0 else None


def started(directory, *options, **more):
    return served.Server(PROGRAM, directory, *options).start(**more)


def received(client, end):
    got = b""
    while not got.endswith(end):
        part = client.recv(65536)
        assert part, got
        got += part
    return got


def test_text_binary_and_resp_share_a_port_and_the_items(directory):
    server = started(directory, "-s", f"{directory}/socket")
    with served.Lines(server.port) as text, Binary(server.port) as binary, \
            socket.create_connection(("127.0.0.1", server.port), 10) as resp:
        assert text.set(b"text", b"1") == b"STORED"
        assert binary.ask(storing(SET, b"binary", b"22"))[1] == 0
        resp.sendall(b"*3\r\n$3\r\nSET\r\n$4\r\nresp\r\n$3\r\n333\r\n")
        assert received(resp, b"\r\n") == b"+OK\r\n"
        for key, value in ((b"text", b"1"), (b"binary", b"22"), (b"resp", b"333")):
            assert text.get(key) == value
            assert binary.get(key) == value
            resp.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key))
            assert received(resp, b"\r\n").endswith(b"\r\n%s\r\n" % value)
        assert binary.ask(request(INCREMENT, b"text", struct.pack(">QQI", 1 << 40, 0, 0)))[4] == \
            struct.pack(">Q", (1 << 40) + 1)
        assert text.get(b"text") == b"%d" % ((1 << 40) + 1)
        assert binary.ask(request(FLUSH))[1] == 0
        assert text.get(b"resp") is None
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{directory}/socket")
        client.sendall(request(VERSION))
        assert client.recv(100)[:2] == b"\x81\x0b"
    assert server.end() == 0


def test_the_port_of_memcached_speaks_text_and_binary_and_not_resp(directory):
    port = served.free_port()
    server = started(directory, "--memcached-port", str(port))
    with Binary(port) as client:
        assert client.ask(request(NOOP, opaque=77)) == (NOOP, 0, 77, b"", b"")
    with served.Lines(port) as client:
        client.send(b"*1\r\nmn\r\n")
        assert client.line() == b"ERROR"
        assert client.line() == b"MN"
    server.end()


def test_requests_that_are_cut_at_each_byte_have_the_same_answers(directory):
    server = started(directory)
    whole = (storing(SETQ, b"k", b"hello") + request(GETKQ, b"absent") + request(GETKQ, b"k") + request(0x50, b"", b"", b"x")
             + request(DELETE, b"k") + request(QUIT))
    answers = set()
    for cut in range(len(whole) + 1):
        with Binary(server.port) as client:
            client.send(whole[:cut])
            if 0 < cut < len(whole):
                time.sleep(0.001)
            client.send(whole[cut:])
            found = []
            while reply := client.reply():
                found.append(reply)
            answers.add(tuple(found))
    assert answers == {((GETKQ, 0, 0, b"k", b"hello"), (0x50, 0x81, 0, b"", b"Unknown command"), (DELETE, 0, 0, b"", b""),
                        (QUIT, 0, 0, b"", b""))}, answers
    server.end()


def test_large_values_arrive_and_announced_ones_need_no_memory(directory):
    server = started(directory, "-I", "1m")
    value = bytes(range(256)) * 4000
    with Binary(server.port) as client:
        assert client.ask(storing(SET, b"large", value))[1] == 0
        for i in range(30):
            client.send(request(GET, b"large", opaque=i))
        for i in range(30):
            _, status, opaque, _, found = client.reply()
            assert (status, opaque, found == value) == (0, i, True)
        assert client.ask(storing(SET, b"large", b"x" * (1 << 20)))[1] == 3
        assert client.get(b"large") is None
    before = server.resident_kb()
    clients = [Binary(server.port) for _ in range(20)]
    for client in clients:
        assert client.ask(request(SET, b"k", bytes(8), b"x" * 1000, body=0xffffffff))[1] == 3
        client.send(b"x" * 200_000)
    with Binary(server.port) as client:
        assert client.ask(request(NOOP))[1] == 0
    grown = server.resident_kb() - before
    assert grown < 20_000, grown
    for client in clients:
        client.socket.close()
    server.end()


def test_wrong_requests_end_connections_and_not_the_server(directory):
    server = started(directory)
    for wrong, status in ((request(GET), 4), (request(GET, b"k" * 251), 4), (request(SET, b"k"), 4),
                          (request(GET, b"k", body=0), 0x81)):
        with Binary(server.port) as client:
            assert client.ask(wrong)[1] == status, wrong
            assert client.reply() is None
    with Binary(server.port) as client:
        client.send(request(NOOP) + b"get a\r\n" * 10)
        assert client.reply()[0] == NOOP
        assert client.reply() is None
    with Binary(server.port) as client:
        assert client.ask(request(NOOP))[0] == NOOP
    server.end()


def test_a_durable_port_keeps_what_it_has_acknowledged_over_kills(directory):
    server = started(directory)
    done = [0]

    def write():
        try:
            with Binary(server.durable_port) as client:
                while client.ask(storing(SET, b"count", b"%d" % (done[0] + 1))) is not None:
                    done[0] += 1
        except (OSError, TypeError):
            pass

    for _ in range(3):
        before = done[0]
        crew = threading.Thread(target=write)
        crew.start()
        end = time.monotonic() + 20
        while done[0] < before + 20:
            assert time.monotonic() < end, done
            time.sleep(0.005)
        server.kill()
        crew.join()
        server.start()
        with Binary(server.port) as client:
            assert int(client.get(b"count")) in (done[0], done[0] + 1), done
    server.end()


def test_a_read_of_a_durable_port_waits_for_the_item_it_shows(directory):
    server = started(directory, "--epoch-ms", "500")
    with Binary(server.port) as writer, Binary(server.durable_port) as binary, \
            served.Lines(server.durable_port) as text, served.Lines(server.durable_port) as resp:
        def by_resp():
            resp.send(b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
            return resp.line() == b"$1" and resp.line() == b"v"

        for reader in (lambda: binary.get(b"k") == b"v", lambda: text.get(b"k") == b"v", by_resp):
            before = server.metrics()["outlast_held_replies_total"]
            assert writer.ask(storing(SET, b"k", b"v"))[1] == 0
            assert reader()
            assert server.metrics()["outlast_held_replies_total"] > before
    server.end()


def test_a_password_is_required_by_sasl(directory):
    secret = pathlib.Path(directory, "password")
    secret.write_text("open sesame\n")
    port = served.free_port()
    server = started(directory, "--password-file", str(secret), "--memcached-port", str(port))
    for each in (server.port, port):
        with Binary(each) as client:
            assert client.ask(request(LIST)) == (LIST, 0, 0, b"", b"PLAIN")
            assert client.ask(request(AUTHENTICATE, b"PLAIN", b"", b"\0user\0wrong"))[1] == 0x20
            assert client.ask(request(AUTHENTICATE, b"PLAIN", b"", b"\0user\0open sesame"))[1] == 0
            assert client.ask(storing(SET, b"a", b"b"))[1] == 0
            assert client.get(b"a") == b"b"
        with Binary(each) as client:
            assert client.ask(request(GET, b"a"))[1] == 0x20
            assert client.reply() is None
        # The text protocol has the password in its first request.
        with served.Lines(each) as client:
            client.send(b"get a\r\n")
            assert client.line() == b"CLIENT_ERROR unauthenticated"
            assert client.line() is None
        with served.Lines(each) as client:
            assert client.set(b"login", b"user open sesame") == b"STORED"
            assert client.get(b"a") == b"b" and client.get(b"login") is None
    server.end()


def test_a_store_serves_the_binary_protocol(directory):
    server = served.Server(PROGRAM, directory, "--mode", "store", name="store").start()
    with Binary(server.port) as client:
        assert client.ask(storing(SET, b"k", b"v"))[1] == 0
        assert client.ask(storing(ADD, b"k", b"w"))[1] == 2
        names = []
        client.send(request(STAT))
        while (reply := client.reply())[3]:
            names.append(reply[3])
        assert b"curr_items" in names and b"outlast_guarantee" in names, names
    server.kill()
    server.start()
    with Binary(server.port) as client:
        assert client.get(b"k") == b"v"
    assert server.end() == 0


def main():
    tests = {name: each for name, each in globals().items() if name.startswith("test_")}
    wanted = sys.argv[2:] or list(tests)
    for name in wanted:
        began = time.monotonic()
        with served.temporary() as directory:
            tests[name](directory)
        print(f"{name}: {time.monotonic() - began:.2f} s", flush=True)


main()
