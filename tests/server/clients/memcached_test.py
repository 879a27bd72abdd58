"""Goal: applications that use pymemcache and python-binary-memcached get from outlastd the results that memcached gives.
Method: pymemcache's own integration tests run, and each public method of the clients is called and its result compared. The
expected results are checked with a memcached, if one is installed.

usage: memcached_test.py PROGRAM [name of a test]
"""
import collections
import inspect
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

import bmemcached
import bmemcached.exceptions
import pymemcache
import pymemcache.exceptions
import pymemcache.test
from pymemcache.client.base import Client, PooledClient
from pymemcache.client.hash import HashClient
from pymemcache.client.retrying import RetryingClient

import servers
from servers import served

PROGRAM = sys.argv[1]
MODES = ("cache", "store")
# pymemcache's tests that are skipped: none. The mark that skips its test of TLS is removed.
SKIPPED = set()
# The tests that fail, by modes. test_misc limits the memory of the items. A store does not evict, and refuses that.
FAILING = {"cache": set(), "store": {"test_misc"}}


class Watched:
    """Passes calls to an object, and records their names."""

    def __init__(self, to):
        self.to, self.called = to, set()

    def __getattr__(self, name):
        self.called.add(name)
        return getattr(self.to, name)

    def __getitem__(self, key):
        return self.to[key]

    def __setitem__(self, key, value):
        self.to[key] = value

    def __delitem__(self, key):
        del self.to[key]

    def unused(self, *without_commands):
        methods = {name for name, each in inspect.getmembers(type(self.to)) if callable(each) and not name.startswith("_")}
        return methods - self.called - set(without_commands)


def wrong_of(call, *kinds):
    """Returns the error that a call raises, which must be of one of the kinds."""
    try:
        result = call()
    except kinds as wrong:
        return wrong
    raise AssertionError(f"no error but {result!r}")


def targets(directory, *options):
    """Yields the port and the end of outlastd in both modes, and of a memcached, if one is installed."""
    for mode in MODES:
        server = servers.start(PROGRAM, directory, mode, "--enable-shutdown", *options)
        yield mode, server.port
        server.end()
    if program := shutil.which("memcached"):
        port = served.free_port()
        peer = subprocess.Popen([program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-A", "-u", "root"],
                                stderr=subprocess.DEVNULL)
        try:
            await_port(port)
            yield "memcached", port
        finally:
            peer.kill()
            peer.wait(10)


def await_port(port):
    end = time.monotonic() + 20
    while True:
        try:
            return served.Lines(port, 5).socket.close()
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_pymemcaches_own_tests(directory):
    tests = pathlib.Path(directory, "pymemcache_tests")
    shutil.copytree(pathlib.Path(pymemcache.test.__file__).parent, tests)
    text = (tests / "test_integration.py").read_text(encoding="utf-8")
    mark = '@pytest.mark.skip("https://github.com/pinterest/pymemcache/issues/39")\n'
    assert text.count(mark) == 1
    (tests / "test_integration.py").write_text(text.replace(mark, ""), encoding="utf-8")
    for mode in MODES:
        server, authority = servers.start_with_tls(PROGRAM, directory, mode)
        (tests / "certs").mkdir(exist_ok=True)
        shutil.copy(authority, tests / "certs" / "ca-root.crt")
        report = pathlib.Path(directory, f"{mode}.xml")
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", f"--junitxml={report}",
                               str(tests / "test_integration.py"), "--server", "127.0.0.1", "--port", str(server.port),
                               "--tls-server", "localhost", "--tls-port", str(server.tls_port)],
                              capture_output=True, text=True, timeout=200, check=False)
        cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
        found = {kind: [each.get("name").split("[")[0] for each in cases if each.find(kind) is not None]
                 for kind in ("skipped", "failure", "error")}
        assert len(cases) >= 103 and set(found["skipped"]) == SKIPPED and not found["error"], done.stdout
        assert set(found["failure"]) == FAILING[mode], done.stdout
        print(f"  {mode}: {len(cases) - len(found['failure'])} of pymemcache's {len(cases)} tests passed")
        server.end()


def values(client, is_hash=False):
    """Calls the methods that Client, PooledClient and HashClient have in common."""
    client.flush_all(noreply=False)
    assert client.set("a", "1", noreply=False) is True and client.get("a") == b"1"
    assert client.get("absent", default="nothing") == "nothing"
    assert client.add("a", "2", noreply=False) is False and client.add("b", "2", noreply=False) is True
    assert client.replace("a", "3", noreply=False) is True and client.replace("absent", "3", noreply=False) is False
    assert client.append("a", "4", noreply=False) is True and client.prepend("a", "2", noreply=False) is True
    assert client.append("absent", "4", noreply=False) is False
    assert client.incr("a", 6) == 240 and client.decr("a", 1000) == 0 and client.incr("absent", 1) is None
    value, unique = client.gets("b")
    assert value == b"2" and unique.isdigit()
    assert client.cas("b", "3", unique) is True and client.cas("b", "4", unique) is False
    assert client.cas("absent", "4", unique) is None
    assert client.set_many({"m1": "x", "m2": "y"}, noreply=False) == []
    assert client.set_multi({"m3": "z"}, noreply=False) == []
    assert client.get_many(["m1", "m2", "absent"]) == {"m1": b"x", "m2": b"y"}
    assert client.get_multi(["m3"]) == {"m3": b"z"}
    assert {key: each[0] for key, each in client.gets_many(["m1", "m3"]).items()} == {"m1": b"x", "m3": b"z"}
    assert client.touch("m1", 100, noreply=False) is True and client.touch("absent", 1, noreply=False) is False
    assert client.delete("m1", noreply=False) is True and client.delete("m1", noreply=False) is False
    assert client.delete_many(["m2", "absent"], noreply=False) is True and client.delete_multi(["m3"], noreply=False) is True
    assert client.set("brief", "1", expire=1, noreply=False) is True and client.set("past", "1", expire=-1, noreply=False) is True
    assert client.get("past") is None
    large = bytes(range(256)) * 3000
    assert client.set("large", large, noreply=False) is True and client.get("large") == large
    # No reply: the next command sees the change.
    assert client.set("quiet", "1", noreply=True) is True and client.get("quiet") == b"1"
    if not is_hash:
        client["item"] = "4"
        assert client["item"] == b"4"
        del client["item"]
        wrong_of(lambda: client["item"], KeyError)
        wrong_of(lambda: client.incr("quiet", -1), pymemcache.exceptions.MemcacheClientError)
        wrong_of(lambda: client.set("k" * 251, "v"), pymemcache.exceptions.MemcacheIllegalInputError)
        wrong_of(lambda: client.set("too-large", "v" * 2_000_000, noreply=False), pymemcache.exceptions.MemcacheServerError)
        assert client.raw_command("mg quiet v") == b"VA 1" and client.raw_command(b"mn") == b"MN"
        assert client.version() and b"curr_items" in client.stats() and client.stats("settings")
    time.sleep(1.1)
    assert client.get("brief") is None


def test_client_and_pooled_client(directory):
    for name, port in targets(directory):
        one = Watched(Client(("127.0.0.1", port), timeout=20))
        values(one)
        if name == "store":
            refused = wrong_of(lambda to=one: to.cache_memlimit(100), pymemcache.exceptions.MemcacheServerError)
            assert "does not evict" in str(refused), refused
        else:
            assert one.cache_memlimit(100) is True
        one.disconnect_all()
        one.quit()
        pooled = Watched(PooledClient(("127.0.0.1", port), timeout=20, max_pool_size=4))
        values(pooled)
        pooled.disconnect_all()
        pooled.quit()
        in_pool(pooled)
        for each in (one, pooled):
            each.close()
            assert each.get("quiet") == b"1"  # it connects again
        one.shutdown(graceful=True)
        one.close()
        assert one.unused("check_key") == set() and pooled.unused("check_key", "client_class", "shutdown") == set()


def in_pool(client):
    """Adds in threads that share the connections of a client."""
    client.set("sum", "0", noreply=False)
    crew = [threading.Thread(target=lambda: [client.incr("sum", 1) for _ in range(200)]) for _ in range(4)]
    for each in crew:
        each.start()
    for each in crew:
        each.join()
    assert client.get("sum") == b"800"


def test_unix_sockets(directory):
    server = servers.start(PROGRAM, directory, "store", "-s", f"{directory}/socket")
    values(Client(f"{directory}/socket", timeout=20))
    server.end()


def test_hash_client(directory):
    nodes = []
    for name in ("one", "other"):
        place = pathlib.Path(directory, name)
        place.mkdir()
        nodes.append(servers.start(PROGRAM, place, "store"))
    client = Watched(HashClient([("127.0.0.1", nodes[0].durable_port)], timeout=20))
    client.add_server(("127.0.0.1", nodes[1].durable_port))
    values(client, is_hash=True)
    client.flush_all(noreply=False)
    wanted = {f"k{i}": b"%d" % i for i in range(500)}
    assert client.set_many(wanted, noreply=False) == [] and client.get_many(wanted) == wanted
    assert {key: each[0] for key, each in client.gets_multi(list(wanted)).items()} == wanted
    shares = [int(Client(("127.0.0.1", each.port)).stats()[b"curr_items"]) for each in nodes]
    assert sum(shares) == 500 and min(shares) > 100, shares
    nodes[1].kill()
    client.disconnect_all()
    wrong_of(lambda: [client.get(key) for key in wanted], OSError)
    client.remove_server(("127.0.0.1", nodes[1].durable_port))
    assert len(client.get_many(wanted)) == shares[0]
    nodes[1].start()
    client.add_server(("127.0.0.1", nodes[1].durable_port))
    assert client.get_many(wanted) == wanted
    client.quit()
    client.close()
    assert client.unused("client_class") == set()
    for each in nodes:
        each.end()


def test_retrying_client_over_kills(directory):
    for mode in MODES:
        server = servers.start(PROGRAM, directory, mode)
        inner = Client(("127.0.0.1", server.durable_port), timeout=20, default_noreply=False)
        client = RetryingClient(inner, attempts=200, retry_delay=0.02,
                                retry_for=[OSError, pymemcache.exceptions.MemcacheUnexpectedCloseError])
        acknowledged = collections.Counter()
        stop = threading.Event()

        def write():
            number = 0
            while not stop.is_set():
                number += 1
                if client.set("n", str(number)) is True:
                    acknowledged["n"] = number

        crew = threading.Thread(target=write)
        crew.start()
        try:
            for _ in range(3):
                before = acknowledged["n"]
                end = time.monotonic() + 30
                while acknowledged["n"] < before + 20:
                    assert time.monotonic() < end and crew.is_alive(), acknowledged
                    time.sleep(0.005)
                server.kill()
                server.start()
        finally:
            stop.set()
            crew.join()
        assert int(client.get("n")) == acknowledged["n"]
        server.end()


def binary_values(client):
    """Calls the methods of python-binary-memcached, which fails quietly: the results are compared."""
    assert client.flush_all() is True
    assert client.set("a", "text") is True and client.get("a") == "text"
    assert client.set("bytes", b"\0\xff" * 5000) is True and client.get("bytes") == b"\0\xff" * 5000
    assert client.set("object", {"x": [1, 2]}) is True and client.get("object") == {"x": [1, 2]}
    assert client.set("number", 7) is True and client.get("number") == 7
    assert client.get("absent") is None and client.get("absent", default="nothing") == "nothing"
    value, unique = client.gets("a")
    assert value == "text" and unique > 0 and client.get("a", get_cas=True) == (value, unique)
    assert client.cas("a", "new", unique) is True and client.cas("a", "newer", unique) is False
    assert client.add("a", "no") is False and client.add("b", "yes") is True
    assert client.replace("b", "more") is True and client.replace("absent", "no") is False
    assert client.incr("n", 5, default=10) == 10 and client.incr("n", 5) == 15 and client.decr("n", 100) == 0
    assert client.set_multi({"m1": "x", "m2": "y"}) == []
    assert client.get_multi(["m1", "m2", "absent"]) == {"m1": "x", "m2": "y"}
    found = client.get_multi(["m1", "m2"], get_cas=True)
    assert {key: each[0] for key, each in found.items()} == {"m1": "x", "m2": "y"}
    changed = client.set_multi_cas({("m1", found["m1"][1]): "z", ("m2", 1): "no"})
    assert changed["m1"] > 0 and changed["m2"] is None, changed
    assert client.get_multi(["m1", "m2"]) == {"m1": "z", "m2": "y"}
    assert client.delete("m1") is True and client.get("m1") is None
    assert client.delete_multi(["m2", "b"]) is True and client.get_multi(["m2", "b"]) == {}
    assert client.set("brief", "1", time=1) is True
    stats = client.stats()
    assert all("version" in each for each in stats.values()) and len(stats) == 1, stats
    time.sleep(1.1)
    assert client.get("brief") is None


def test_binary_protocol(directory):
    for _, port in targets(directory):
        for kind in (bmemcached.ReplicatingClient, bmemcached.DistributedClient):
            client = Watched(kind((f"127.0.0.1:{port}",), socket_timeout=20))
            binary_values(client)
            client.disconnect_all()
            assert client.get("a") == "new"
            client.set_servers((f"127.0.0.1:{port}",))
            if kind is bmemcached.ReplicatingClient:
                client.enable_retry_delay(True)
            assert client.get("a") == "new"
            assert client.unused() == set()
            client.disconnect_all()


class ClientWithPassword(Client):
    """Sends the password when it connects, and when it connects again after an error."""

    token = b"name open sesame"

    def _connect(self):
        super()._connect()
        self.sock.sendall(b"set login 0 0 %d\r\n%s\r\n" % (len(self.token), self.token))
        reply = self.sock.recv(100)
        if reply != b"STORED\r\n":
            raise pymemcache.exceptions.MemcacheClientError(reply)


class PooledClientWithPassword(PooledClient):
    client_class = ClientWithPassword


def test_passwords(directory):
    secret = pathlib.Path(directory, "password")
    secret.write_text("open sesame\n", encoding="utf-8")
    for mode in MODES:
        server = servers.start(PROGRAM, directory, mode, "--password-file", str(secret))
        where = (f"127.0.0.1:{server.port}",)
        binary_values(bmemcached.Client(where, "any", "open sesame", socket_timeout=20))
        for credentials in (("any", "open"), ("any", ""), ()):
            wrong = bmemcached.Client(where, *credentials, socket_timeout=20)
            refused = wrong_of(lambda to=wrong: to.set("a", "stolen"), bmemcached.exceptions.MemcachedException)
            assert "Auth failure" in str(refused), refused
        assert bmemcached.Client(where, "any", "open sesame", socket_timeout=20).get("a") == "new"
        for kind in (ClientWithPassword, PooledClientWithPassword):
            values(kind(("127.0.0.1", server.port), timeout=20))
        for value in ("name open", "opensesame"):
            text = Client(("127.0.0.1", server.port), timeout=20)
            wrong_of(lambda to=text, token=value: to.set("login", token, noreply=False), pymemcache.exceptions.MemcacheClientError)
        text = Client(("127.0.0.1", server.port), timeout=20)
        wrong_of(lambda to=text: to.get("a"), pymemcache.exceptions.MemcacheClientError)
        server.end()


served.run_tests(globals())
