"""Goal: a backup of a running outlastd is the state of one moment, whole or not there, and no failure of one ends the server.
Method: writers count versions up on the durable port while backups are made. A server on a copy of each backup is compared with
what was acknowledged before and sent until its end. Backups are killed, cancelled, and get a full file system.

usage: outlastd_backup_test.py PROGRAM [name of a test]
"""
import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import served

PROGRAM = sys.argv[1]
MODES = ("cache", "store")
STAMP = r"\d{8}T\d{6}\.\d{3}Z"


class Resp(served.Resp):
    """A client that makes backups."""

    def persistence(self):
        lines = self.ask("INFO", "persistence").decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def await_backup(self):
        """Returns INFO of the end of a backup."""
        end = time.monotonic() + 60
        while (now := self.persistence())["rdb_bgsave_in_progress"] != "0":
            assert time.monotonic() < end, now
            time.sleep(0.002)
        return now

    def back_up(self):
        assert self.ask("BGSAVE") == "+Background saving started"
        done = self.await_backup()
        assert done["rdb_last_bgsave_status"] == "ok" and done["outlast_backup_error"] == "", done
        return done["outlast_last_backup"]


class Server(served.Server):
    """A server with a directory for backups."""

    def __init__(self, directory, mode, *options, **named):
        self.backups = pathlib.Path(directory, "backups")
        self.backups.mkdir(exist_ok=True)
        super().__init__(PROGRAM, directory, "--mode", mode, "-t", "2", "--backup-dir", str(self.backups), *options, **named)

    def client(self):
        return Resp(self.port)

    def list(self):
        return sorted(each.name for each in self.backups.iterdir() if not each.name.endswith(".lock"))


def fill(client, count, size=4000):
    for begin in range(0, count, 100):
        words = [word for i in range(begin, begin + 100) for word in (f"filler{i}", b"%d:" % i + b"x" * size)]
        assert client.ask("MSET", *words) == "+OK"


@contextlib.contextmanager
def restored(backup, directory, mode):
    """Starts a server on a copy of a backup, which any program can make."""
    home = pathlib.Path(directory, "restored")
    home.mkdir()
    copied = shutil.copytree if pathlib.Path(backup).is_dir() else shutil.copyfile
    copied(backup, home / "items.pool")
    server = served.Server(PROGRAM, home, "--mode", mode).start()
    try:
        with Resp(server.port) as client:
            yield client
    finally:
        server.end()
        shutil.rmtree(home)


class Writer(threading.Thread):
    """Sets pairs of keys to versions, both in one transaction, and in store mode also two fields of a hash."""

    def __init__(self, number, port, has_parts):
        super().__init__()
        self.number, self.port, self.has_parts = number, port, has_parts
        self.sent = self.acknowledged = 0
        self.longest = 0
        self.stop = threading.Event()
        self.problem = None

    def run(self):
        try:
            with Resp(self.port) as client:
                while not self.stop.is_set():
                    self.sent += 1
                    began = time.monotonic()
                    self.change(client)
                    self.longest = max(self.longest, time.monotonic() - began)
                    self.acknowledged = self.sent
        except (OSError, AssertionError) as wrong:
            self.problem = wrong

    def change(self, client):
        version, name = self.sent, self.number
        client.send("SET", f"single{name}:{version}", version)
        client.send("MULTI")
        client.send("SET", f"first{name}", version)
        client.send("SET", f"second{name}", version)
        if self.has_parts:
            client.send("HSET", f"hash{name}", "first", version, "second", version)
        client.send("EXEC")
        replies = [client.reply() for _ in range(5 + self.has_parts)]
        assert replies[0] == "+OK" and replies[-1][:2] == ["+OK", "+OK"], replies


def compare(client, writer, acknowledged, sent):
    name = writer.number
    first, second = client.ask("MGET", f"first{name}", f"second{name}")
    assert first == second, (name, first, second)
    version = int(first)
    assert acknowledged <= version <= sent, (name, acknowledged, version, sent)
    if writer.has_parts:
        assert client.ask("HMGET", f"hash{name}", "first", "second") == [first, first], name
    # The single keys have no gap, and the last one is that of the pair or the next.
    there = client.ask("MGET", *[f"single{name}:{i}" for i in range(1, sent + 2)])
    held = [i for i, each in enumerate(there, 1) if each is not None]
    assert held in (list(range(1, version + 1)), list(range(1, version + 2))), (name, version, held[-3:])
    assert all(int(there[i - 1]) == i for i in held)
    assert client.ask("EXISTS", f"single{name}:{sent + 1}") == 0


def test_a_backup_under_load_is_of_one_moment(directory):
    with tempfile.TemporaryDirectory(prefix="outlast-test-") as on_disk:
        for place in (directory, on_disk):
            for mode in MODES:
                home = pathlib.Path(place, mode)
                home.mkdir()
                back_up_under_load(home, mode)


def back_up_under_load(home, mode):
    server = Server(home, mode).start()
    with server.client() as client:
        fill(client, 3000)
        writers = [Writer(i, server.durable_port, mode == "store") for i in range(3)]
        for each in writers:
            each.start()
        made = []
        for _ in range(3):
            before = [each.acknowledged for each in writers]
            while any(each.acknowledged < old + 10 for each, old in zip(writers, before)):
                assert all(each.problem is None for each in writers), [each.problem for each in writers]
                time.sleep(0.002)
            acknowledged = [each.acknowledged for each in writers]
            backup = client.back_up()
            made.append((backup, acknowledged, [each.sent for each in writers]))
        for each in writers:
            each.stop.set()
        for each in writers:
            each.join()
            assert each.problem is None, each.problem
    assert server.list() == sorted(pathlib.Path(each[0]).name for each in made)
    for backup, acknowledged, sent in made:
        with restored(backup, home, mode) as client:
            for writer, least, most in zip(writers, acknowledged, sent):
                compare(client, writer, least, most)
            for i in range(0, 3000, 97):
                assert client.ask("GET", f"filler{i}") == b"%d:" % i + b"x" * 4000
    print(f"  {mode}: {[each[2] for each in made]} transactions sent, "
          f"longest reply {max(each.longest for each in writers) * 1000:.0f} ms")
    assert server.end() == 0


def test_a_backup_stays_whole_when_it_is_used_itself(directory):
    """A server on the backup itself, without a copy of it, and a kill of this server."""
    for mode in MODES:
        home = pathlib.Path(directory, mode)
        home.mkdir()
        server = Server(home, mode).start()
        with server.client() as client:
            fill(client, 100)
            backup = pathlib.Path(client.back_up())
        assert server.end() == 0
        other = served.Server(PROGRAM, home, "--mode", mode, name=f"backups/{backup.name}").start()
        with Resp(other.durable_port) as client:
            assert client.ask("SET", "key", "value") == "+OK"
        other.kill()
        other.start()
        with Resp(other.port) as client:
            assert client.ask("GET", "key") == b"value"
            assert client.ask("DBSIZE") == 101
        assert other.end() == 0


def wait_until(condition, text):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, text()
        time.sleep(0.002)


def interrupt(server, end):
    """Begins backups and calls `end`, which ends the server, until one of them was not complete at that time."""
    with server.client() as client:
        fill(client, 6000, 8000)
        client.ask("WAITAOF", 1, 0, 0)
    for _ in range(20):
        before = set(server.list())
        with server.client() as client:
            assert client.ask("BGSAVE") == "+Background saving started"
        end()
        complete = {each for each in server.list() if not each.startswith(".")} - before
        if not complete:
            return
        server.start()
    raise AssertionError("each backup was complete: " + server.text()[-2000:])


def test_a_killed_backup_leaves_nothing(directory):
    for mode in MODES:
        home = pathlib.Path(directory, mode)
        home.mkdir()
        server = Server(home, mode).start()
        with server.client() as client:
            fill(client, 100)
            client.back_up()
        interrupt(server, server.kill)
        complete = {each for each in server.list() if not each.startswith(".")}
        # What a kill leaves on a file system without files that have no name; and files of others.
        stamp = "20260102T030405.006Z"
        remains = {f"..items.pool-{stamp}.unfinished.01234567.new", f".items.pool-{stamp}.unfinished"}
        others = {f".items.pool-{stamp}.finished", f"items.pool-{stamp}.unfinished", f".other-{stamp}.unfinished",
                  ".items.pool-2026.unfinished", "items.pool-20260102T030405.00xZ"}
        for each in remains | others:
            (server.backups / each).write_text("something", encoding="utf-8")
        server.start()
        assert set(server.list()) == others | complete, server.list()
        with server.client() as client:
            assert client.ask("DBSIZE") == 6000
            assert client.persistence()["outlast_last_backup"] == str(server.backups / max(complete))
            last = client.back_up()
            assert pathlib.Path(last).name not in complete
        assert server.end() == 0
        with restored(last, home, mode) as client:
            assert client.ask("DBSIZE") == 6000


def test_the_end_of_the_server_cancels_a_backup(directory):
    for mode in MODES:
        home = pathlib.Path(directory, mode)
        home.mkdir()
        server = Server(home, mode).start()

        def end():
            began = time.monotonic()
            assert server.end() == 0
            assert time.monotonic() - began < 10

        interrupt(server, end)
        assert "the backup was cancelled by the end of the server" in server.text(), server.text()
        assert not [each for each in server.list() if "unfinished" in each]
        server.start()
        with server.client() as client:
            assert client.ask("DBSIZE") == 6000
        assert server.end() == 0


@contextlib.contextmanager
def small_file_system(directory):
    if shutil.which("mount") is None or os.geteuid() != 0:
        raise served.Missing("only root can mount a file system")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "outlast-test", str(directory)], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise served.Missing(f"a file system cannot be mounted: {done.stderr}")
    try:
        yield lambda size: subprocess.run(["mount", "-o", f"remount,size={size}", str(directory)], check=True)
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def fill_up_during_a_backup(server, client):
    """The file system has room at the beginning of the backup, and becomes full then."""
    filler = server.backups / "filler"
    for _ in range(20):
        assert client.ask("BGSAVE") == "+Background saving started"
        try:
            with open(filler, "wb", buffering=0) as file:
                while client.persistence()["rdb_bgsave_in_progress"] == "1":
                    for _ in range(20):
                        file.write(bytes(1 << 20))
        except OSError:
            pass
        failed = client.await_backup()
        filler.unlink()
        if failed["rdb_last_bgsave_status"] == "err" and "there is no space for a backup" not in failed["outlast_backup_error"]:
            assert str(server.backups) in failed["outlast_backup_error"], failed
            return
    raise AssertionError("no backup has met a full file system: " + server.text()[-2000:])


def test_a_full_file_system_fails_the_backup_alone(directory):
    for mode in MODES:
        home = pathlib.Path(directory, mode)
        (home / "backups").mkdir(parents=True)
        with small_file_system(home / "backups") as resize:
            server = Server(home, mode).start()
            try:
                with server.client() as client:
                    fill(client, 500)
                    first = client.back_up()
                    fill(client, 10000)
                    saved = client.ask("LASTSAVE")
                    assert saved > 0
                    assert client.ask("BGSAVE") == "+Background saving started"
                    failed = client.await_backup()
                    assert failed["rdb_last_bgsave_status"] == "err", failed
                    assert str(server.backups) in failed["outlast_backup_error"], failed
                    assert re.search("(?i)no space|full", failed["outlast_backup_error"]), failed
                    assert failed["outlast_backup_error"] in server.text()
                    assert client.ask("LASTSAVE") == saved and failed["outlast_last_backup"] == first
                    assert server.list() == [pathlib.Path(first).name]
                    assert client.ask("SET", "key", "value") == "+OK"
                    assert server.metrics()["outlast_backup_last_failed"] == 1
                    resize("192m")
                    fill_up_during_a_backup(server, client)
                    assert client.ask("SET", "key", "value") == "+OK"
                    assert not [each for each in server.list() if "unfinished" in each]
                    resize("0")  # no limit
                    last = client.back_up()
                    assert server.metrics()["outlast_backup_last_failed"] == 0
                with restored(last, home, mode) as client:
                    assert client.ask("DBSIZE") == 10001
                with restored(first, home, mode) as client:
                    assert client.ask("DBSIZE") == 500
                assert server.end() == 0
            finally:
                server.process.kill()
                server.process.wait()


def test_a_limit_of_the_length_of_files_fails_the_backup_alone(directory):
    """As a full file system, for users without its rights. The kernel sends SIGXFSZ by default."""
    for mode in MODES:
        home = pathlib.Path(directory, mode)
        home.mkdir()
        server = Server(home, mode).start()
        with server.client() as client:
            fill(client, 3000)
            before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (1 << 20, before[1]))
            assert client.ask("BGSAVE") == "+Background saving started"
            failed = client.await_backup()
            assert failed["rdb_last_bgsave_status"] == "err" and server.list() == [], failed
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
            client.back_up()
        assert server.end() == 0


def test_an_unusable_directory_is_named(directory):
    missing = pathlib.Path(directory, "missing")
    done = subprocess.run([PROGRAM, "-p", "0", "-s", f"{directory}/socket", "--backup-dir", str(missing), f"{directory}/a.pool"],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and str(missing) in done.stderr and "No such file" in done.stderr, done
    server = Server(directory, "cache").start()
    with server.client() as client:
        shutil.rmtree(server.backups)
        assert client.ask("BGSAVE") == "+Background saving started"
        failed = client.await_backup()
        assert failed["rdb_last_bgsave_status"] == "err", failed
        assert failed["outlast_backup_error"].startswith(f"{server.backups}: cannot"), failed
        assert "No such file" in failed["outlast_backup_error"], failed
        server.backups.mkdir()
        client.back_up()
    assert server.end() == 0


def test_the_oldest_backups_are_removed_beyond_the_maximum(directory):
    for mode in MODES:
        home = pathlib.Path(directory, mode)
        home.mkdir()
        server = Server(home, mode, "--max-backups", "2").start()
        kept = {"items.pool", "items.pool-old", "other-20200101T000000.000Z"}
        for each in kept:
            (server.backups / each).write_text("something", encoding="utf-8")
        made = []
        with server.client() as client:
            for turn in range(4):
                client.ask("SET", "turn", turn)
                made.append(pathlib.Path(client.back_up()).name)
                assert re.fullmatch("items.pool-" + STAMP, made[-1])
                assert set(server.list()) == kept | set(made[-2:]), server.list()
            # A clock that was set back: the new backup is not the one that goes.
            future = f"items.pool-{time.gmtime().tm_year + 1}0101T000000.000Z"
            (server.backups / made[-1]).rename(server.backups / future)
            made.append(pathlib.Path(client.back_up()).name)
            assert set(server.list()) == kept | {future, made[-1]}, server.list()
        assert f"{made[0]} removed: --max-backups is 2" in server.text()
        with restored(server.backups / future, home, mode) as client:
            assert client.ask("GET", "turn") == b"3"
        assert server.end() == 0


def test_names_that_begin_with_a_dot(directory):
    server = Server(directory, "store", "--max-backups", "1", name=".hidden/").start()
    with server.client() as client:
        client.back_up()
        last = pathlib.Path(client.back_up()).name
        assert re.fullmatch(r"\.hidden-" + STAMP, last) and server.list() == [last]
    server.kill()
    stamp = last.removeprefix(".hidden-")
    for each in (f"..hidden-{stamp}.unfinished", f"...hidden-{stamp}.unfinished.01234567.new"):
        (server.backups / each).write_text("something", encoding="utf-8")
    server.start()
    assert server.list() == [last]
    assert server.end() == 0


def test_one_backup_at_a_time(directory):
    server = Server(directory, "store").start()
    with server.client() as client:
        fill(client, 2000)
        # The server executes these without a pause.
        for words in (["BGSAVE"], ["BGSAVE"], ["BGSAVE", "SCHEDULE"], ["bgsave", "schedule"], ["INFO", "persistence"]):
            client.send(*words)
        assert client.reply() == "+Background saving started"
        for _ in range(3):
            assert client.reply() == "-ERR Background save already in progress"
        now = client.reply()
        assert b"rdb_bgsave_in_progress:1" in now and b"rdb_current_bgsave_time_sec:0" in now, now
        assert client.await_backup()["rdb_saves"] == "1"
        assert len(server.list()) == 1
    # Another server with data of the same name cannot mix its backups with these.
    home = pathlib.Path(directory, "other")
    home.mkdir()
    done = subprocess.run([PROGRAM, "-p", "0", "-s", f"{home}/socket", "--backup-dir", str(server.backups),
                           f"{home}/items.pool"], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "another server makes backups of the same name" in done.stderr, done
    other = served.Server(PROGRAM, home, "--backup-dir", str(server.backups), name="others.pool").start()
    with Resp(other.port) as client:
        client.back_up()
    assert other.end() == 0 and server.end() == 0
    assert len(server.list()) == 2


def test_times_and_signals(directory):
    server = Server(directory, "cache").start()
    with server.client() as client:
        assert client.ask("LASTSAVE") == 0
        now = client.persistence()
        assert (now["rdb_last_save_time"], now["rdb_last_bgsave_time_sec"], now["rdb_saves"]) == ("0", "-1", "0"), now
        before = int(time.time())
        server.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: server.metrics()["outlast_backups_total"], server.text)
        saved = client.ask("LASTSAVE")
        assert before <= saved <= time.time()
        now = client.persistence()
        assert now["rdb_last_save_time"] == str(saved) and int(now["rdb_last_bgsave_time_sec"]) >= 0, now
        assert server.metrics()["outlast_backup_last_seconds"] == saved
        assert client.ask("MULTI") == "+OK" and client.ask("BGSAVE") == "+QUEUED"
        assert client.ask("EXEC") == ["+Background saving started"]
        later = client.await_backup()["outlast_last_backup"]
    assert server.end() == 0
    server.start()
    with server.client() as client:  # the last backup is known after a restart
        assert client.persistence()["outlast_last_backup"] == later
        assert client.ask("LASTSAVE") >= saved
    assert server.end() == 0
    plain = served.Server(PROGRAM, directory).start()
    with Resp(plain.port) as client:
        assert client.ask("BGSAVE") == "+Background saving started"
        assert abs(client.ask("LASTSAVE") - time.time()) < 5
        plain.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "there is no directory for backups; set --backup-dir" in plain.text(), plain.text)
        assert client.ask("PING") == "+PONG"
    assert plain.end() == 0


def test_signals_have_no_effect_before_the_server_serves(directory):
    """The server waits for its file, which another one has. It must survive signals meanwhile."""
    first = Server(directory, "cache").start()
    second = served.Server(PROGRAM, directory)
    with open(second.directory / "second", "w+", encoding="utf-8") as log:
        process = subprocess.Popen(second.command(), stdout=subprocess.DEVNULL, stderr=log)
    served.atexit.register(process.kill)
    caught = 1 << (signal.SIGUSR1 - 1) | 1 << (signal.SIGHUP - 1)

    def catches():
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16) & caught == caught

    wait_until(catches, first.text)
    for each in (signal.SIGUSR1, signal.SIGHUP):
        process.send_signal(each)
    time.sleep(0.05)
    assert first.end() == 0
    second.process = process

    def serves():
        assert process.poll() is None, (process.returncode, (second.directory / "second").read_text(encoding="utf-8"))
        return "serves" in (second.directory / "second").read_text(encoding="utf-8")

    wait_until(serves, first.text)
    assert second.end() == 0


served.run_tests(globals())
