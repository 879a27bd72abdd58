"""Goal: outlastd serves the files of earlier versions, with all items, and after a change of them.
Method: the golden pools of tests/layout, which an earlier version has made: a cache, and stores of both formats.

usage: outlastd_upgrade_test.py PROGRAM [name of a test]
"""
import pathlib
import sys
import time

import served

LAYOUT = pathlib.Path(__file__).resolve().parents[1] / "layout"
sys.path.insert(0, str(LAYOUT))
import pack  # noqa: E402

PROGRAM = sys.argv[1]
STRINGS = {"plain": b"hello", "counter": b"42", "long": b"l" * 4999 + b"Z", "later": b"later", "first": b"one", "second": b"two"}


def golden(name, directory):
    """Unpacks a golden pool, and returns its path."""
    pack.unpack(LAYOUT / "golden" / f"{name}.pool.xz", directory)
    return directory / f"{name}.pool"


def serve(directory, mode):
    return served.Server(PROGRAM, directory, "--mode", mode, name="items").start()


def expect_strings(server, expected):
    with served.Resp(server.port) as client:
        for key, value in expected.items():
            assert client.ask("GET", key) == value, key
        assert client.ask("PEXPIRETIME", "later") == 4102444800000
        assert client.ask("EXISTS", "gone") == 0
    with served.Lines(server.port) as client:
        client.send(b"gets counter\r\n")
        assert client.line() == b"VALUE counter 0 2 4"  # the unique number is that of the earlier version
        assert client.line() == b"42" and client.line() == b"END"
        client.send(b"get plain\r\n")
        flags = 7 if expected["plain"] == b"hello" else 0
        assert client.line() == b"VALUE plain %d %d" % (flags, len(expected["plain"]))


def change_strings(server):
    with served.Lines(server.durable_port) as client:
        client.send(b"set plain 0 0 3\r\nnew\r\n")
        assert client.line() == b"STORED"
        client.send(b"gets plain\r\n")
        assert int(client.line().split()[4]) > 7  # no number is given again
    with served.Resp(server.durable_port) as client:
        assert client.ask("APPEND", "first", "s") == 4
    return {**STRINGS, "plain": b"new", "first": b"ones"}


def test_a_cache_has_its_items(directory):
    golden("served-cache-closed", directory).rename(directory / "items")
    server = serve(directory, "cache")
    expect_strings(server, STRINGS)
    changed = change_strings(server)
    server.kill()
    server.start()
    expect_strings(server, changed)
    assert server.end() == 0


def store_of(directory, golden_format):
    (directory / "items").mkdir()
    golden(f"served-store-{golden_format}-closed", directory / "items").rename(directory / "items" / "store.pool")
    return serve(directory, "store")


def test_a_store_of_format_1_has_its_items_and_gets_format_2(directory):
    server = store_of(directory, 1)
    expect_strings(server, STRINGS)
    changed = change_strings(server)
    with served.Resp(server.port) as client:
        assert client.ask("HSET", "hash", "a", "1") == 1
    server.kill()
    server.start()
    expect_strings(server, changed)
    with served.Resp(server.port) as client:
        assert client.ask("HGETALL", "hash") == [b"a", b"1"]
    assert server.end() == 0


def test_a_store_of_format_2_has_its_items_with_parts(directory):
    server = store_of(directory, 2)
    for turn in range(2):
        expect_strings(server, STRINGS)
        with served.Resp(server.port) as client:
            assert client.ask("HMGET", "hash", "a", "b", "c") == [b"1", None, b"3"]
            assert client.ask("SMISMEMBER", "set", "x", "y", "z") == [1, 1, 0]
            assert client.ask("ZRANGE", "sorted", "0", "-1", "WITHSCORES") == [b"low", b"1.5", b"high", b"20"]
            assert client.ask("LRANGE", "list", "0", "-1") == [b"p", b"q", b"r"] + [b"s"] * turn
            assert client.ask("EXISTS", "erased") == 0
            assert client.ask("RPUSH", "list", "s") == 4 + turn
        assert server.end() == 0
        server.start()
    assert server.end() == 0


def main():
    tests = {name: each for name, each in globals().items() if name.startswith("test_")}
    for name in sys.argv[2:] or tests:
        began = time.monotonic()
        with served.temporary() as directory:
            tests[name](pathlib.Path(directory))
        print(f"{name}: {time.monotonic() - began:.2f} s", flush=True)


main()
