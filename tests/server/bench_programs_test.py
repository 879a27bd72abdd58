"""Goal: the programs that measurements of the server use count and answer rightly, and their tools print what they measured.
Method: cache_replay with caches that hold all keys, some of them, and none; epoll_server with requests that are cut; the
tools with short runs, where the servers and loads that they need are installed.

usage: bench_programs_test.py OUTLASTD CACHE_REPLAY EPOLL_SERVER TOOLS
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

import kill_subjects
import served

OUTLASTD, CACHE_REPLAY, EPOLL_SERVER, TOOLS = sys.argv[1:5]


def replay(server, *options):
    done = subprocess.run([CACHE_REPLAY, "--port", str(server.port), *options], check=True, capture_output=True, text=True,
                          timeout=100)
    return json.loads(done.stdout)


def test_hits_are_counted(directory):
    server = served.Server(OUTLASTD, directory, "-m", "64").start()
    few = replay(server, "--keys", "30", "--requests", "20000", "--measured", "5000")
    assert few["measured"] == 5000 and few["hits"] == 5000 and few["refused"] == 0, few
    # In the second run of a trace all keys are there, except those of scans: they are stored, too, and read again here.
    scans = [replay(server, "--trace", "scans", "--keys", "300", "--requests", "100000", "--measured", "20000")
             for _ in range(2)]
    assert scans[0]["hits"] == 0 and scans[1]["hits"] == 20000, scans
    cold = replay(server, "--keys", "1000000", "--requests", "5000", "--measured", "5000", "--seed", "2")
    assert 0 < cold["hits"] < 4000, cold
    assert server.metrics()["outlast_items"] > 1000  # the keys that were absent are stored
    server.kill()


def test_refused_items_are_counted(directory):
    server = served.Server(OUTLASTD, directory, "-m", "1", "-M").start()
    full = replay(server, "--keys", "100000", "--requests", "20000", "--measured", "100")
    assert full["refused"] > 1000, full
    server.kill()


def test_the_loop_answers(directory):
    for options in ([], ["--pool", f"{directory}/items.pool"]):
        server = served.Server(EPOLL_SERVER, directory)
        server.command = lambda server=server, options=options: [EPOLL_SERVER, "--port", str(server.port), *options]
        server.start()
        requests = (kill_subjects.request(b"SET", b"key", b"v" * 100) + kill_subjects.request(b"PING") +
                    kill_subjects.request(b"GET", b"key"))
        with kill_subjects.Resp(server.port) as client:
            for cut in (1, 9, 40, 130, 150, len(requests)):
                client.send(requests[:cut])
                time.sleep(0.005)
                client.send(requests[cut:])
                assert [client.reply() for _ in range(3)] == [b"OK", b"PONG", b"v" * 100], (options, cut)
            # More replies than a socket takes.
            client.send(requests * 20000)
            for _ in range(20000):
                assert [client.reply() for _ in range(3)] == [b"OK", b"PONG", b"v" * 100]
        server.kill()


def tool(name, *options, needs=()):
    """Returns the lines of a tool's table, or nothing if what it needs is not installed."""
    missing = [each for each in needs if not shutil.which(each)]
    if missing:
        print(f"{name} omitted: {missing[0]} is not installed")
        return []
    done = subprocess.run([f"{TOOLS}/{name}", *options], capture_output=True, text=True, timeout=250)
    # The exit status is that of the goals, which short runs need not reach.
    assert done.returncode == 0 or "Traceback" not in done.stderr, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) > 2 and lines[1].startswith("|---"), done
    return lines[2:]


def test_the_tools_print_tables(_):
    rows = tool("compare_hits", OUTLASTD, CACHE_REPLAY, "--sizes", "8", "--requests", "90000", needs=["memcached"])
    assert not rows or [row.split("|")[1].strip() for row in rows] == ["zipf", "scans"], rows
    rows = tool("compare_loops", OUTLASTD, EPOLL_SERVER, "--rounds", "1", "--requests", "2000", needs=["redis-benchmark"])
    assert not rows or len(rows) == 8, rows
    peers = ["memcached", "redis-server", "redis-benchmark", "memcaslap"]
    for what, count in (("memory", 6), ("opening", 3), ("pauses", 6)):
        rows = tool("measure_server", what, OUTLASTD, "--items", "2000", "--seconds", "0.2", "--rounds", "1", needs=peers)
        assert not rows or len(rows) == count, rows


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            with served.temporary() as directory:
                test(pathlib.Path(directory))


main()
