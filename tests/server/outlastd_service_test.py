"""Goal: the units of systemd are valid and restrict what the server does not need; a restart by systemd loses no client.
Method: systemd-analyze reads the units; the tests hold the sockets as systemd does, through systemd-socket-activate where it
can; strace lists the system calls of a server under load, which are compared with the filter of the unit.
Tests whose tool is not installed are reported and omitted.

usage: outlastd_service_test.py PROGRAM [name of a test]
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import served

PROGRAM = sys.argv[1]
UNITS = pathlib.Path(__file__).resolve().parents[2] / "share" / "systemd"
MAX_EXPOSURE = 15  # tenths, of 100; see systemd-analyze(1)


def tool(name):
    found = shutil.which(name)
    if found is None:
        raise served.Missing(f"{name} is not installed")
    return found


def units(directory):
    """Returns copies of the units that start the program that is tested."""
    text = (UNITS / "outlastd.service.in").read_text(encoding="utf-8")
    service = pathlib.Path(directory, "outlastd.service")
    service.write_text(text.replace("@CMAKE_INSTALL_FULL_BINDIR@/outlastd", PROGRAM), encoding="utf-8")
    return service, pathlib.Path(shutil.copy(UNITS / "outlastd.socket", directory))


class Manager:
    """Holds a socket and receives notifications, as systemd does, and starts the server with both."""

    def __init__(self, directory, *options, names="", listeners=1, pool="items.pool"):
        self.directory = pathlib.Path(directory)
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(listeners)]
        self.ports = [each.getsockname()[1] for each in self.listeners]
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(f"{directory}/notify")
        self.notified.settimeout(20)
        self.command = [*options, f"{directory}/{pool}"]
        self.names = names
        self.program = PROGRAM
        self.process = None

    def start(self, *before):
        """Starts the server, with the arguments `before` before its own command."""
        if self.process is not None:
            assert self.process.poll() is not None
        numbers = [str(each.fileno()) for each in self.listeners]
        script = ("import os, sys\n"
                  f"numbers = {numbers}\n"
                  # The numbers are moved out of the way first, since they can be 3 and above themselves.
                  "moved = [os.dup(int(each)) for each in numbers]\n"
                  "for place, each in enumerate(moved): os.dup2(each, 100 + place)\n"
                  "for place in range(len(moved)): os.dup2(100 + place, 3 + place, True)\n"
                  "os.environ.update(LISTEN_FDS=str(len(moved)), LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES=sys.argv[1])\n"
                  "os.execv(sys.argv[2], sys.argv[2:])\n")
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", script, self.names, *before, self.program, *self.command],
                pass_fds=[each.fileno() for each in self.listeners], stdout=subprocess.DEVNULL, stderr=log,
                env={**os.environ, "NOTIFY_SOCKET": f"{self.directory}/notify"})
        served.atexit.register(self.process.kill)
        return self

    def text(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def await_state(self, *wanted):
        for each in wanted:
            state = self.notified.recv(4096)
            assert state == each, (state, each, self.text())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0, self.text()


def test_the_units_are_valid(directory):
    done = subprocess.run([tool("systemd-analyze"), "verify", "--man=no", *map(str, units(directory))], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stderr == "", done


def test_the_service_is_confined(directory):
    done = subprocess.run([tool("systemd-analyze"), "security", "--offline=yes", f"--threshold={MAX_EXPOSURE}", "--no-pager",
                           str(units(directory)[0])], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done
    assert "Overall exposure level" in done.stdout, done


def filtered_calls(directory):
    """Returns the system calls that the filter of the unit permits."""
    def calls_of(group, seen):
        done = subprocess.run([tool("systemd-analyze"), "syscall-filter", "--no-pager", group], capture_output=True, text=True,
                              timeout=60, check=True)
        for line in done.stdout.splitlines()[1:]:
            word = line.split("#")[0].strip()
            if word.startswith("@") and word not in seen:
                seen.add(word)
                yield from calls_of(word, seen)
            elif re.fullmatch(r"\w+", word):
                yield word

    permitted = set()
    for line in units(directory)[0].read_text(encoding="utf-8").splitlines():
        if line.startswith("SystemCallFilter="):
            value = line.partition("=")[2]
            named = {call for group in value.lstrip("~").split() for call in calls_of(group, set())}
            permitted = permitted - named if value.startswith("~") else permitted | named
    return permitted | {"execve", "exit", "exit_group", "rt_sigreturn"}  # always permitted


def test_the_filter_permits_the_system_calls_that_the_server_makes(directory):
    if {"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ):
        raise served.Missing("a program with a sanitizer makes calls of its own, and strace prevents its search for leaks")
    permitted = filtered_calls(directory)
    assert "read" in permitted and "reboot" not in permitted, len(permitted)
    for mode in ("cache", "store"):
        trace = pathlib.Path(directory, f"trace-{mode}")
        home = pathlib.Path(directory, mode)
        home.mkdir()
        (home / "backups").mkdir()
        manager = Manager(home, "--mode", mode, "-s", f"{home}/socket", "--backup-dir", f"{home}/backups")
        # -D: strace is not the parent, so that LISTEN_PID is right.
        manager.start(tool("strace"), "-D", "-f", "-qq", "-o", str(trace))
        with served.Lines(manager.ports[0]) as client:
            for i in range(300):
                assert client.set(b"key%d" % i, b"x" * 5000) == b"STORED"
            client.send(b"durable wait\r\n")
            client.line()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{home}/socket")
            client.sendall(b"version\r\n")
            assert client.recv(100)
        manager.process.send_signal(signal.SIGHUP)
        manager.await_state(b"READY=1", b"RELOADING=1", b"READY=1")
        manager.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 60
        while " made in " not in manager.text():
            assert time.monotonic() < end and "the backup failed" not in manager.text(), manager.text()
            time.sleep(0.01)
        manager.stop()
        time.sleep(0.3)  # strace writes the rest
        lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
        # The interpreter that starts the server makes calls before the second execve.
        begin = max(i for i, line in enumerate(lines) if "execve(" in line)
        made = {found[1] for line in lines[begin + 1:] if (found := re.match(r"\d+ +(\w+)\(", line))}
        assert {"accept4", "mmap", "epoll_wait"} & made and len(made) > 20, made
        # raise_limit() asks for the limit, and a refusal is harmless: the unit has set it.
        assert made - permitted <= {"setrlimit", "prlimit64"}, made - permitted
        assert not [line for line in lines[begin:] if "PROT_EXEC" in line and "PROT_WRITE" in line]
        families = {found[1] for line in lines[begin:] if (found := re.search(r"socket\((AF_\w+)", line))}
        assert families <= {"AF_UNIX", "AF_INET", "AF_INET6"}, families


def test_the_manager_is_told_each_state(directory):
    manager = Manager(directory).start()
    manager.await_state(b"READY=1")
    manager.process.send_signal(signal.SIGHUP)
    manager.await_state(b"RELOADING=1", b"READY=1")
    manager.process.send_signal(signal.SIGTERM)
    manager.await_state(b"STOPPING=1")
    assert manager.process.wait(20) == 0


def test_clients_wait_while_a_killed_server_is_started_again(directory):
    """The first start is by systemd-socket-activate, which starts the server when the first client connects."""
    activate = tool("systemd-socket-activate")
    manager = Manager(directory, "--durable").start(activate)
    client = served.Lines(manager.ports[0])
    assert client.set(b"key", b"value") == b"STORED"
    assert "serves" in manager.text()
    for turn in range(3):
        manager.process.kill()
        manager.process.wait(20)
        try:
            assert client.line() is None
        except ConnectionResetError:
            pass
        # There is no server. The kernel accepts the connection, and the request waits.
        client = served.Lines(manager.ports[0])
        client.send(b"get key\r\n")
        client.socket.settimeout(0.3)
        try:
            raise AssertionError(f"an answer without a server: {client.line()}")
        except TimeoutError:
            client.socket.settimeout(20)
        manager.start(*([activate] if turn == 1 else []))
        assert client.line() == b"VALUE key 0 5"
        assert client.line() == b"value" and client.line() == b"END"
    manager.stop()


def test_no_client_fails_while_the_server_is_replaced_by_another(directory):
    """An upgrade in place: the file of the program is replaced, and the server is restarted by its manager."""
    program = pathlib.Path(directory, "outlastd")
    shutil.copy(PROGRAM, program)
    manager = Manager(directory, "--durable")
    manager.program = str(program)
    manager.start()
    manager.await_state(b"READY=1")
    stop = threading.Event()
    stored, failures = [0], []

    def use():
        """Sends one request on each connection. A request that arrives after the end of its connection fails, as at each
        server that closes connections, and is sent again. No connection may be refused."""
        while not stop.is_set():
            try:
                with served.Lines(manager.ports[0]) as client:
                    answer = client.set(b"key%d" % stored[0], b"value")
                    if answer is None:  # accepted, but not read before the end: the client sends it again
                        continue
                    assert answer == b"STORED", answer
                    stored[0] += 1
            except OSError as wrong:
                if not isinstance(wrong, ConnectionResetError):
                    failures.append(wrong)
                    return

    crew = threading.Thread(target=use)
    crew.start()
    versions = set()
    for _ in range(2):
        before = stored[0]
        while stored[0] < before + 20:
            assert crew.is_alive(), failures
            time.sleep(0.005)
        versions.add(os.readlink(f"/proc/{manager.process.pid}/exe"))
        fresh = program.with_suffix(".new")
        shutil.copy(PROGRAM, fresh)
        fresh.rename(program)  # the running program keeps its file
        manager.stop()
        manager.await_state(b"STOPPING=1")
        time.sleep(0.2)  # clients wait in the backlog
        manager.start()
        manager.await_state(b"READY=1")
    before = stored[0]
    while stored[0] < before + 20:
        assert crew.is_alive(), failures
        time.sleep(0.005)
    stop.set()
    crew.join()
    assert not failures, failures
    with served.Lines(manager.ports[0]) as client:
        for i in range(stored[0]):
            assert client.get(b"key%d" % i) == b"value", i
    manager.stop()


def test_names_of_inherited_sockets_select_what_is_served(directory):
    manager = Manager(directory, names="memcached:resp:metrics:durable:outlastd.socket", listeners=5).start()
    manager.await_state(b"READY=1")

    def answer(place, request):
        with socket.create_connection(("127.0.0.1", manager.ports[place]), 10) as client:
            client.sendall(request)
            return client.recv(65536)

    ping, version = b"*1\r\n$4\r\nPING\r\n", b"version\r\n"
    assert answer(0, ping) != b"+PONG\r\n"
    assert answer(0, version).startswith(b"VERSION")
    assert answer(1, version).startswith(b"-ERR unknown command")
    assert answer(1, ping) == b"+PONG\r\n"
    assert answer(2, b"GET /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200")
    for both in (3, 4):
        assert answer(both, ping) == b"+PONG\r\n"
        assert answer(both, version).startswith(b"VERSION")
    assert answer(3, b"set a 0 0 1\r\nx\r\n") == b"STORED\r\n"
    held = re.search(rb"held_replies_total (\d+)", answer(2, b"GET / HTTP/1.1\r\n\r\n"))
    assert int(held[1]) > 0, held
    manager.stop()
    manager.names = "tls"
    manager.start()
    assert manager.process.wait(20) == 1
    assert "TLS requires --tls-cert-file" in manager.text()


served.run_tests(globals())
