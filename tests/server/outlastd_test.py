"""Drives outlastd through sockets: protocols, limits, ends, and input that is wrong.

usage: outlastd_test.py PROGRAM [name of a test]
"""
import ctypes
import errno
import os
import pathlib
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import served

PROGRAM = sys.argv[1]


def started(directory, *options, **more):
    return served.Server(PROGRAM, directory, *options).start(**more)


def recv_until(client, end):
    got = b""
    while not got.endswith(end):
        part = client.recv(65536)
        assert part, got
        got += part
    return got


def refused(*command, timeout=20):
    done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=timeout)
    assert done.returncode != 0, done
    return done.stderr


def test_both_protocols_share_a_port_and_the_items(directory):
    server = started(directory, "-s", f"{directory}/socket")
    with served.Lines(server.port) as client:
        assert client.set(b"key", b"from memcached") == b"STORED"
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")
        assert recv_until(client, b"\r\n") == b"$14\r\n"+b"from memcached\r\n"
        client.sendall(b"PING\r\n")
        assert recv_until(client, b"\r\n") == b"+PONG\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(b"HELLO 3\r\n")
        assert client.recv(65536).startswith(b"%")
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{directory}/socket")
        client.sendall(b"get key\r\n")
        assert recv_until(client, b"END\r\n") == b"VALUE key 0 14\r\nfrom memcached\r\nEND\r\n"
    assert server.end() == 0
    assert not os.path.exists(f"{directory}/socket")


def test_a_restart_keeps_the_items_and_a_sigterm_all_of_them(directory):
    server = started(directory)
    with served.Lines(server.port) as client:
        for i in range(2000):
            client.send(b"set k%d 0 0 3 noreply\r\nabc\r\n" % i)
        assert client.get(b"k1999") == b"abc"
    assert server.end() == 0
    server.start()
    with served.Lines(server.port) as client:
        for i in range(0, 2000, 97):
            assert client.get(b"k%d" % i) == b"abc"
    assert server.metrics()["outlast_items"] == 2000
    assert server.end() == 0


def test_a_sigterm_under_load_answers_what_it_has_taken(directory):
    server = started(directory)
    acknowledged = [0] * 8

    def write(number):
        try:
            with served.Lines(server.durable_port) as client:
                while client.set(b"t%d" % number, b"%d" % (acknowledged[number] + 1)) == b"STORED":
                    acknowledged[number] += 1
        except OSError:
            pass

    crew = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for each in crew:
        each.start()
    end = time.monotonic() + 20
    while min(acknowledged) < 10:
        assert time.monotonic() < end, acknowledged
        time.sleep(0.01)
    assert server.end() == 0
    for each in crew:
        each.join()
    server.start()
    with served.Lines(server.port) as client:
        for number, done in enumerate(acknowledged):
            assert int(client.get(b"t%d" % number)) in (done, done + 1)
    server.end()


def test_idle_clients_do_not_delay_the_end_and_read_their_replies_afterwards(directory):
    server = started(directory, "-s", f"{directory}/socket")
    idle = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(20)]
    for each in idle[:10]:
        each.sendall(b"PING\r\n")
    with socket.socket(socket.AF_UNIX) as local:
        local.connect(f"{directory}/socket")
        local.sendall(b"PING\r\n")
        assert recv_until(local, b"\r\n") == b"+PONG\r\n"
        time.sleep(0.1)
        began = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - began < 1.8
        assert local.recv(10) == b""
    for number, each in enumerate(idle):
        with each:
            if number < 5:
                each.sendall(b"PING\r\n")  # resets the connection, and the reply that was received can be read
            assert each.recv(100) == (b"+PONG\r\n" if number < 10 else b"")
            try:
                assert number >= 10 or each.recv(100) == b""
            except ConnectionResetError:
                assert number < 5


def test_requests_that_are_cut_at_each_byte_have_the_same_answers(directory):
    server = started(directory)
    text = b"set k 0 0 5\r\nhello\r\nget k\r\nincr n 1\r\ndelete k\r\nquit\r\n"
    resp = b"*3\r\n$3\r\nSET\r\n$1\r\nr\r\n$2\r\nhi\r\n*2\r\n$3\r\nGET\r\n$1\r\nr\r\n*1\r\n$4\r\nQUIT\r\n"
    for request in (text, resp):
        answers = set()
        for cut in range(len(request) + 1):
            with socket.create_connection(("127.0.0.1", server.port), 10) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.sendall(request[:cut])
                if 0 < cut < len(request):
                    time.sleep(0.001)
                client.sendall(request[cut:])
                got = b""
                while part := client.recv(65536):
                    got += part
                answers.add(got)
        assert len(answers) == 1, answers
    server.end()


def test_garbage_ends_connections_and_not_the_server(directory):
    server = started(directory, "-I", "64k")
    source = random.Random(5)
    starts = [b"", b"*", b"\x80\x01", b"set a 0 0 ", b"*3\r\n$3\r\nSET\r\n", b"get ", b"mg "]
    for i in range(300):
        with socket.create_connection(("127.0.0.1", server.port), 10) as client:
            client.settimeout(10)
            data = starts[i % len(starts)] + source.randbytes(source.randrange(5000))
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
    for request in (b"set a 0 0 1073741824\r\n", b"set a 0 0 -1\r\n", b"get " + b"k" * 251 + b"\r\n"):
        with served.Lines(server.port) as client:
            client.send(request)
            assert b"ERROR" in client.line(), request
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(b"*2\r\n$3\r\nGET\r\n$1073741824\r\n")
        assert client.recv(65536).startswith(b"-ERR Protocol error")
    with served.Lines(server.port) as client:
        assert client.set(b"alive", b"yes") == b"STORED"
    server.end()


def test_a_line_that_is_too_long_is_refused_with_its_cause(directory):
    server = started(directory)
    for line in (b"A" * 70_000, b"A" * 65_536 + b"\r\n", b"A" * 65_537):
        with socket.create_connection(("127.0.0.1", server.port), 10) as client:
            client.sendall(b"PING\r\n" + line)
            assert recv_until(client, b"request\r\n") == b"+PONG\r\n-ERR Protocol error: too big inline request\r\n"
            assert client.recv(10) == b""
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(b"PING " + b"x" * 65_000 + b"\r\n")
        assert recv_until(client, b"x\r\n") == b"$65000\r\n" + b"x" * 65_000 + b"\r\n"
    server.end()


def test_a_client_that_never_reads_does_not_make_the_server_grow(directory):
    server = started(directory, "-I", "1m")
    with served.Lines(server.port) as client:
        assert client.set(b"large", b"x" * 1_000_000) == b"STORED"
    before = server.resident_kb()
    greedy = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(4)]
    for each in greedy:
        each.settimeout(2)
        try:
            for _ in range(20_000):  # 20 GB of replies each, if they were made
                each.sendall(b"get large\r\n")
        except TimeoutError:
            pass  # the server has stopped reading
    time.sleep(0.5)
    grown = server.resident_kb() - before
    # A sanitizer needs memory of its own.
    is_watched = "TSAN_OPTIONS" in os.environ or "ASAN_OPTIONS" in os.environ
    assert grown < 4 * 20 * 1024 * (4 if is_watched else 1), grown
    numbers = server.metrics()
    assert numbers["outlast_stalls_total"] >= 4, numbers
    with served.Lines(server.port) as client:  # others are served
        assert client.get(b"large") is not None
    for each in greedy:
        each.close()
    end = time.monotonic() + 10
    while server.metrics()["outlast_pending_reply_bytes"] > 1_000_000:
        assert time.monotonic() < end, server.metrics()
        time.sleep(0.05)
    server.end()


def test_a_slow_client_gets_all_replies_in_order(directory):
    server = started(directory)
    with served.Lines(server.durable_port) as client:
        client.send(b"".join(b"set s%d 0 0 1000\r\n%s\r\n" % (i, b"%04d" % i * 250) for i in range(2000)))
        for _ in range(2000):
            assert client.line() == b"STORED"
        sender = threading.Thread(
            target=lambda: client.send(b"".join(b"get s%d\r\n" % (i % 2000) for i in range(20_000))))
        sender.start()
        for i in range(20_000):
            if i % 4000 == 0:
                time.sleep(0.2)
            assert client.line() == b"VALUE s%d 0 1000" % (i % 2000)
            assert client.line() == b"%04d" % (i % 2000) * 250
            assert client.line() == b"END"
        sender.join()
    server.end()


def test_many_idle_connections_and_one_more_than_permitted(directory):
    wanted = 1500
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 4096), limit[1]))
    server = started(directory, "-c", str(wanted))
    idle = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(wanted - 5)]
    with served.Lines(server.port) as client:
        assert client.set(b"a", b"b") == b"STORED"
    more = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(20)]
    refusals = 0
    for each in more:
        each.settimeout(0.2)
        try:
            refusals += each.recv(100).startswith(b"-ERR max number of clients")
        except TimeoutError:
            pass
    assert refusals >= 14, refusals
    for each in idle + more:
        each.close()
    end = time.monotonic() + 10
    while server.metrics()["outlast_connections"] > 5:
        assert time.monotonic() < end
        time.sleep(0.05)
    server.end()
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_idle_connections_are_closed_if_that_is_wanted(directory):
    server = started(directory, "--idle-timeout", "1")
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.settimeout(8)
        assert client.recv(10) == b""
    server.end()


def test_a_second_server_a_taken_port_and_foreign_files_are_refused(directory):
    server = started(directory)
    text = refused("-p", "0", "-s", f"{directory}/other", str(server.pool))
    assert str(server.pool) in text and "open" in text, text
    other = str(pathlib.Path(directory) / "other.pool")
    text = refused("-p", str(server.port), other)
    assert f"127.0.0.1:{server.port}" in text and "in use" in text, text
    pathlib.Path(directory, "notes.txt").write_text("no socket, no pool\n" * 1000)
    text = refused("-p", "0", "-s", f"{directory}/notes.txt", other)
    assert "no socket" in text, text
    text = refused("-p", "0", "-s", f"{directory}/third", f"{directory}/notes.txt")
    assert "notes.txt" in text, text
    assert pathlib.Path(directory, "notes.txt").read_text().startswith("no socket, no pool")
    text = refused("-p", "0", f"{directory}/fourth")
    assert "no socket to listen on" in text, text
    text = refused("-p", "0", "--resp-port", "70000", other)
    assert "70000" in text, text
    text = refused("-p", "0", "-s", f"{directory}/fifth", "-a", "abc", other)
    assert "octal" in text, text
    text = refused("-p", "0", "-s", "x" * 200, other)
    assert "too long" in text, text
    server.end()


def test_a_left_unix_socket_is_replaced_and_a_live_one_is_not(directory):
    path = f"{directory}/socket"
    server = started(directory, "-s", path)
    text = refused("-p", "0", "-s", path, f"{directory}/other.pool")
    assert "another program listens" in text, text
    server.kill()
    assert os.path.exists(path)
    server.start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(b"version\r\n")
        assert client.recv(100).startswith(b"VERSION")
    server.end()


def test_a_full_cache_evicts_or_refuses(directory):
    server = started(directory, "-m", "8")
    with served.Lines(server.port) as client:
        for i in range(3000):
            assert client.set(b"k%d" % i, b"v" * (100 + i * 7 % 9000)) == b"STORED", i
    numbers = server.metrics()
    assert numbers["outlast_evictions_total"] > 100, numbers
    assert numbers["outlast_item_bytes"] <= numbers["outlast_item_bytes_limit"] + 100_000, numbers
    server.end()
    strict = served.Server(PROGRAM, directory, "-m", "8", "-M", name="strict.pool").start()
    with served.Lines(strict.port) as client:
        answers = [client.set(b"k%d" % i, b"v" * 9000) for i in range(3000)]
        assert b"STORED" in answers and answers[-1].startswith(b"SERVER_ERROR out of memory"), answers[-1]
        stored = answers.index(answers[-1])
        assert stored > 500
        assert client.get(b"k0") == b"v" * 9000
        client.send(b"delete k0\r\n")
        assert client.line() == b"DELETED"
    strict.end()


def test_an_inherited_socket_is_served(directory):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(16)
        port = listener.getsockname()[1]
        # Clients connect before the server exists.
        early = socket.create_connection(("127.0.0.1", port), 10)
        early.sendall(b"version\r\n")
        script = ("import os, sys\n"
                  f"os.dup2({listener.fileno()}, 3)\n"
                  "os.set_inheritable(3, True)\n"
                  "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
                  "os.execv(sys.argv[1], sys.argv[1:])\n")
        child = subprocess.Popen([sys.executable, "-c", script, PROGRAM, f"{directory}/items.pool"],
                                 pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL)
    assert early.recv(100).startswith(b"VERSION")
    early.close()
    child.send_signal(signal.SIGTERM)
    assert child.wait(20) == 0


def test_a_password_is_required_and_the_log_is_opened_again(directory):
    secret = pathlib.Path(directory, "password")
    secret.write_text("open sesame\n")
    log = pathlib.Path(directory, "server.log")
    server = started(directory, "--password-file", str(secret), "--log", str(log))
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n")
        assert client.recv(1000).startswith(b"-NOAUTH")
        client.sendall(b"*2\r\n$4\r\nAUTH\r\n$11\r\nopen sesame\r\n*1\r\n$4\r\nPING\r\n")
        assert recv_until(client, b"+PONG\r\n") == b"+OK\r\n+PONG\r\n"
    log.rename(directory + "/old.log")
    hang_up(server, log, "opened again")
    # A log that cannot be opened leaves the old one in use, which states the cause.
    log.rename(directory + "/older.log")
    log.mkdir()
    hang_up(server, pathlib.Path(directory, "older.log"), f"stays in use: the log {log} cannot be opened: Is a directory")
    assert pathlib.Path(directory, "older.log").read_text().count("opened again") == 1
    log.rmdir()
    hang_up(server, log, "opened again")
    server.end()
    assert "all items are durable" in log.read_text()


def hang_up(server, log, text):
    """Lets a server read its files again, and waits for a text in the log."""
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + 10
    while not log.exists() or text not in log.read_text():
        assert time.monotonic() < end, (text, log.exists() and log.read_text())
        time.sleep(0.01)


def answer_of(server, request):
    with socket.create_connection(("127.0.0.1", server.port), 10) as client:
        client.sendall(request)
        return client.recv(1000)


def test_a_hangup_reads_the_password_again(directory):
    secret = pathlib.Path(directory, "password")
    secret.write_text("first\n")
    log = pathlib.Path(directory, "server.log")
    server = started(directory, "--password-file", str(secret), "--log", str(log))

    def check(right, wrong):
        assert answer_of(server, b"AUTH %s\r\n" % right) == b"+OK\r\n"
        assert answer_of(server, b"AUTH %s\r\n" % wrong).startswith(b"-WRONGPASS")
        for password, status in ((right, 0), (wrong, 0x20)):
            text = b"n " + password
            assert (answer_of(server, b"set login 0 0 %d\r\n%s\r\n" % (len(text), text)) == b"STORED\r\n") == (status == 0)
            token = b"\0n\0" + password
            head = struct.pack(">BBHBBHIIQ", 0x80, 0x21, 5, 0, 0, 0, 5 + len(token), 0, 0)
            assert answer_of(server, head + b"PLAIN" + token)[6:8] == bytes([0, status])

    with socket.create_connection(("127.0.0.1", server.port), 10) as early:
        early.sendall(b"AUTH first\r\n")
        assert recv_until(early, b"\r\n") == b"+OK\r\n"
        check(b"first", b"second")
        secret.write_text("second\n")
        hang_up(server, log, f"new connections use the password in {secret}")
        check(b"second", b"first")
        for change in (lambda: secret.write_text("\nthird\n"), secret.unlink):
            change()
            log.write_text("")
            hang_up(server, log, f"the previous password stays in use: the password file {secret} cannot be read")
            check(b"second", b"third")
        early.sendall(b"SET a 1\r\nPING\r\n")  # it has authenticated itself
        assert recv_until(early, b"+PONG\r\n") == b"+OK\r\n+PONG\r\n"
    server.end()


def deny_limits():
    """Lets the kernel refuse that this process changes its limits, as a sandbox may."""
    number = {"x86_64": 302, "aarch64": 261}[os.uname().machine]  # prlimit64
    load, jump, give = 0x20, 0x15, 0x06
    refuse = 0x00050000 | errno.EPERM
    # The third argument is the new limit, or 0.
    rules = [(load, 0, 0, 0), (jump, 0, 4, number), (load, 0, 0, 32), (jump, 0, 1, 0), (give, 0, 0, 0x7fff0000),
             (give, 0, 0, refuse), (give, 0, 0, 0x7fff0000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in rules))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(head), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def test_a_limit_of_files_that_cannot_be_raised_is_in_the_log(directory):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def lower(hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))

    server = served.Server(PROGRAM, directory, "-c", "1000").start(preexec_fn=lambda: (lower(before[1]), deny_limits()))
    assert "the limit of open files is 200, less than 1000 connections need and cannot be raised: Operation not permitted; " \
        "raise it before the start" in server.text(), server.text()
    with served.Lines(server.port) as client:  # it serves with fewer connections
        assert client.set(b"a", b"b") == b"STORED"
    server.end()
    few = served.Server(PROGRAM, directory, "-c", "1000", name="few.pool").start(preexec_fn=lambda: lower(300))
    assert "the limit of open files is 300, less than 1000 connections need; raise it" in few.text(), few.text()
    few.end()
    many = served.Server(PROGRAM, directory, "-c", "300", name="many.pool").start(preexec_fn=lambda: lower(before[1]))
    assert many.text().count("the limit of open files") == 2, many.text()  # of the others, in the same log
    many.end()


def test_flush_all_and_expiry_outlive_a_kill(directory):
    server = started(directory)
    with served.Lines(server.durable_port) as client:
        for i in range(500):
            assert client.set(b"old%d" % i, b"x") == b"STORED"
            if i % 50 == 0:
                client.send(b"flush_all\r\n")
                assert client.line() == b"OK"
        client.send(b"set short 0 1 1\r\nx\r\n")
        assert client.line() == b"STORED"
    server.kill()
    time.sleep(1.1)
    server.start()
    with served.Lines(server.port) as client:
        present = [i for i in range(500) if client.get(b"old%d" % i) is not None]
        assert present == list(range(451, 500)), present
        assert client.get(b"short") is None
    server.end()


def test_a_store_keeps_all_items_and_transactions_whole_over_kills(directory):
    server = served.Server(PROGRAM, directory, "--mode", "store", name="store").start()
    with served.Lines(server.port) as client:
        for i in range(1000):
            assert client.set(b"k%d" % i, b"v%d" % i) == b"STORED"
    done = [0]

    def write():
        request = b"".join([b"MULTI\r\n"] + [b"INCR n%d\r\n" % i for i in range(5)] + [b"EXEC\r\n"])
        try:
            with socket.create_connection(("127.0.0.1", server.port), 10) as client:
                while True:
                    client.sendall(request)
                    recv_until(client, b":%d\r\n" % (done[0] + 1))
                    done[0] += 1
        except (OSError, AssertionError):
            pass

    for _ in range(5):
        before = done[0]
        crew = threading.Thread(target=write)
        crew.start()
        end = time.monotonic() + 20
        while done[0] < before + 20:
            assert time.monotonic() < end
            time.sleep(0.005)
        server.kill()
        crew.join()
        server.start()
        with served.Lines(server.port) as client:
            values = {int(client.get(b"n%d" % i)) for i in range(5)}
            assert len(values) == 1 and values <= {done[0], done[0] + 1}, (values, done)
            done[0] = values.pop()
    with served.Lines(server.durable_port) as client:
        assert client.get(b"k999") == b"v999"
        client.send(b"delete k999\r\n")
        assert client.line() == b"DELETED"
    text = refused("--mode", "store", "-p", "0", "-s", f"{directory}/other", str(server.pool))
    assert str(server.pool) in text and "LOCK" in text, text
    assert server.metrics()["outlast_items"] == 1004
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
