"""Goal: applications that use redis-py get from outlastd the results that they get from Redis.
Method: redis-py calls each command that COMMAND lists, in both modes and versions of the protocol. The expected results are
checked with servers of Redis and Valkey. Then its pipelines, transactions, locks, iterators and retries are used.

usage: redis_test.py PROGRAM [name of a test]
"""
import asyncio
import collections
import pathlib
import re
import sys
import threading
import time

import redis
import redis.asyncio
import redis.backoff
import redis.cache
import redis.lock
import redis.retry

import cases_basic
import cases_collections
import servers
from expectations import difference, fails
from servers import served

PROGRAM = sys.argv[1]
COMMANDS_PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guides" / "server-commands.md"
ALL_GROUPS = {**cases_basic.GROUPS, **cases_collections.GROUPS}
MODES = ("cache", "store")


def started(directory, mode="cache", *options):
    return servers.start(PROGRAM, directory, mode, *options)


def documented():
    """Returns the names of the commands that the guide lists in each mode, subcommands as `client|id`."""
    names = {"cache": set(), "store": set()}
    for line in COMMANDS_PAGE.read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| (?P<group>[^|]+) \| (?P<modes>both|store) \| (?P<commands>.+) \|", line)
        if row is None:
            continue
        found = {each.lower().replace(" ", "|") for each in re.findall(r"`([^`]+)`", row["commands"])}
        names["store"] |= found
        if row["modes"] == "both":
            names["cache"] |= found
    # A command with subcommands is listed by these alone.
    return {mode: all_of | {each.split("|")[0] for each in all_of} for mode, all_of in names.items()}


def outcome(client, call):
    try:
        return call(client)
    except redis.RedisError as wrong:
        return wrong


def fault(case, client, protocol):
    """Makes the call of a case. Returns an empty text, or what is wrong."""
    wanted = case[2]
    got = outcome(client, case[1])
    if isinstance(wanted, fails):
        is_right = isinstance(got, redis.RedisError) and wanted.text in str(got)
        return "" if is_right else f"{got!r} is no error with the text {wanted.text!r}"
    return f"the error {got}" if isinstance(got, redis.RedisError) else difference(wanted, got, protocol)


def drive(client, protocol, sent=None, groups=ALL_GROUPS, peer=None):
    """Makes all calls. Returns the faults."""
    faults = []
    for group, cases in groups.items():
        client.flushall()
        for number, case in enumerate(cases):
            if peer and len(case) > 3 and peer in case[3].split():
                continue
            if sent:
                sent.names.clear()
            text = fault(case, client, protocol)
            if text:
                faults.append(f"RESP{protocol}, {group}, case {number} of {case[0]}: {text}")
            if sent and case[0].lower() not in sent.names:
                faults.append(f"{group}, case {number}: {case[0]} was not sent, but {sent.names}")
    return faults


def check(faults):
    faults = list(faults)
    assert not faults, "\n" + "\n".join(faults)


def test_the_expected_results_are_those_of_redis_and_valkey(directory):
    found = servers.peers()
    assert found, "there is no server to check the expectations with; install the requirements or redis-server"
    for name, program in found.items():
        peer = servers.Peer(program, directory)
        for protocol in (2, 3):
            check(f"{name}: {each}" for each in drive(servers.client(protocol, path=peer.path), protocol, peer=name))
        peer.end()
    print(f"  checked with {', '.join(map(str, found.values()))}")


def check_each_command(directory, mode, groups):
    server = started(directory, mode)
    for protocol in (2, 3):
        sent = servers.Sent()
        client = servers.client(protocol, sent, port=server.port)
        check(drive(client, protocol, sent, groups))
    listed = set(client.command_list())
    assert listed == documented()[mode], f"{COMMANDS_PAGE.name} and COMMAND differ in {listed ^ documented()[mode]}"
    tops = {each for each in listed if "|" not in each}
    assert {each.lower() for each in client.command()} == tops
    driven = {case[0].lower() for cases in groups.values() for case in cases}
    # A command whose subcommands are driven is driven.
    driven |= {each.split("|")[0] for each in driven}
    assert listed <= driven, f"no case has {sorted(listed - driven)}"
    server.end()
    return client


def test_each_command_of_a_cache(directory):
    check_each_command(directory, "cache", cases_basic.GROUPS)


def test_each_command_of_a_store(directory):
    check_each_command(directory, "store", ALL_GROUPS)


def test_a_cache_refuses_hashes_lists_and_sets_with_an_error_that_names_the_store_mode(directory):
    server = started(directory)
    names = documented()
    refused = set()
    for protocol in (2, 3):
        client = servers.client(protocol, port=server.port)
        for group, cases in cases_collections.GROUPS.items():
            client.flushall()
            for command, call, *_ in cases:
                if command.lower() in names["cache"]:
                    continue
                got = outcome(client, call)
                assert isinstance(got, redis.ResponseError) and "needs a server in store mode" in str(got), (group, command, got)
                refused.add(command.lower())
        assert client.ping() is True
    assert refused == names["store"] - names["cache"], refused ^ (names["store"] - names["cache"])
    server.end()


def test_unix_sockets_and_tls(directory):
    some = {name: ALL_GROUPS[name] for name in ("strings", "transactions", "connection", "hashes", "lists")}
    server, authority = servers.start_with_tls(PROGRAM, directory, "store", "-s", f"{directory}/socket")
    for protocol in (2, 3):
        for where in ({"path": f"{directory}/socket"}, {"port": server.tls_port, "ssl_ca_certs": authority}):
            check(f"{where}: {each}" for each in drive(servers.client(protocol, **where), protocol, groups=some))
    try:
        servers.client(3, port=server.tls_port, ssl_ca_certs=None).ping()
        raise AssertionError("a certificate of an unknown authority was accepted")
    except redis.ConnectionError:
        pass
    server.end()


def test_keys_and_values_are_bytes(directory):
    server = started(directory, "store")
    client = servers.client(3, decode=False, port=server.port)
    every = bytes(range(256))
    assert client.set(every, every * 4096) is True
    assert client.get(every) == every * 4096
    assert client.hset(b"h", every, every) == 1 and client.hgetall(b"h") == {every: every}
    assert client.keys() and set(client.keys()) == {every, b"h"}
    assert client.set("k" * 60_000, "") is True and client.get("k" * 60_000) == b""
    server.end()


def test_pipelines(directory):
    for mode in MODES:
        server = started(directory, mode)
        for protocol in (2, 3):
            client = servers.client(protocol, port=server.port)
            client.flushall()
            with client.pipeline(transaction=False) as many:
                for i in range(5000):
                    many.set(f"k{i}", i).get(f"k{i}")
                assert many.execute() == [each for i in range(5000) for each in (True, str(i))]
            with client.pipeline(transaction=False) as some:
                some.set("text", "x").incr("text").get("text").execute_command("NOSUCH")
                got = some.execute(raise_on_error=False)
            assert got[0] is True and got[2] == "x", got
            assert "not an integer" in str(got[1]) and "unknown command" in str(got[3]), got
            # An error in a transaction does not undo the other commands, as in Redis.
            with client.pipeline() as whole:
                got = whole.set("a", 1).incr("text").set("b", 2).execute(raise_on_error=False)
            assert got[0] is True and isinstance(got[1], redis.ResponseError) and client.mget("a", "b") == ["1", "2"], got
            # A command that cannot be queued discards all.
            with client.pipeline() as none:
                none.set("a", "no").execute_command("NOSUCH")
                assert isinstance(outcome(none, lambda p: p.execute()), redis.RedisError)
            assert client.get("a") == "1"
        server.end()


def test_a_pipeline_that_is_longer_than_all_buffers_needs_room_for_its_replies(directory):
    key, number = "k" * 100, 120_000  # 16 MB of requests, and 60 MB of replies
    server = started(directory, "cache", "--pending-client-mb", "100")
    client = servers.client(2, port=server.port)
    client.set(key, "v" * 500)
    with client.pipeline(transaction=False) as many:
        for _ in range(number):
            many.get(key)
        got = many.execute()
    assert len(got) == number and set(got) == {"v" * 500}
    server.end()
    few = servers.start(PROGRAM, directory, "store")
    client = redis.Redis(port=few.port, socket_timeout=2, retry=None)
    client.set(key, "v" * 500)
    with client.pipeline(transaction=False) as many:
        for _ in range(number):
            many.get(key)
        assert isinstance(outcome(many, lambda p: p.execute()), redis.TimeoutError)
    assert client.get(key) == b"v" * 500
    assert few.metrics()["outlast_stalls_total"] > 0
    few.end()


def in_threads(number, work):
    wrong = []

    def run(index):
        try:
            work(index)
        except BaseException as error:  # pylint: disable=broad-except
            wrong.append(error)

    crew = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for each in crew:
        each.start()
    for each in crew:
        each.join()
    if wrong:
        raise wrong[0]


def test_watched_transactions_of_threads_lose_no_change(directory):
    for mode in MODES:
        server = started(directory, mode)
        client = servers.client(3, port=server.port)

        def add(pipe):
            value = int(pipe.get("sum") or 0)
            pipe.multi()
            pipe.set("sum", value + 1)

        in_threads(4, lambda _: [client.transaction(add, "sum") for _ in range(100)])
        assert client.get("sum") == "400"
        server.end()


class WatchedLock(redis.lock.Lock):
    """redis-py's lock with transactions in the place of its scripts, as the guide shows it."""

    def change(self, token, change):
        def work(pipe):
            is_owner = pipe.get(self.name) in (token, token.decode())
            pipe.multi()
            if is_owner:
                change(pipe)
            return is_owner

        if not self.redis.transaction(work, self.name, value_from_callable=True):
            raise redis.lock.LockNotOwnedError("the lock is not owned any more")

    def do_release(self, expected_token):
        self.change(expected_token, lambda pipe: pipe.delete(self.name))

    def do_extend(self, additional_time, replace_ttl):
        left = 0 if replace_ttl else max(self.redis.pttl(self.name), 0)
        self.change(self.local.token, lambda pipe: pipe.pexpire(self.name, left + int(additional_time * 1000)))
        return True

    def do_reacquire(self):
        self.change(self.local.token, lambda pipe: pipe.pexpire(self.name, int(self.timeout * 1000)))
        return True


def test_locks(directory):
    for mode in MODES:
        server = started(directory, mode)
        client = servers.client(3, port=server.port)
        inside = []

        def enter(_):
            for _ in range(20):
                with client.lock("lock", timeout=20, sleep=0.001, lock_class=WatchedLock):
                    inside.append(len(inside))
                    number = client.get("held") or "0"
                    client.set("held", int(number) + 1)

        in_threads(4, enter)
        assert client.get("held") == "80" and client.exists("lock") == 0
        one, other = (client.lock("lock", timeout=5, lock_class=WatchedLock) for _ in range(2))
        assert one.acquire() and not other.acquire(blocking=False)
        assert one.extend(10) and 14_000 < client.pttl("lock") <= 15_000
        assert one.reacquire() and client.pttl("lock") <= 5000
        client.set("lock", "stolen")
        assert isinstance(outcome(client, lambda _: one.release()), redis.lock.LockNotOwnedError)
        assert client.get("lock") == "stolen"
        # The lock of redis-py without the change is acquired, but its release is a script.
        client.delete("lock")
        stock = client.lock("lock", timeout=5)
        assert stock.acquire() and client.exists("lock") == 1
        wrong = outcome(client, lambda _: stock.release())
        assert isinstance(wrong, redis.ResponseError) and "unknown command" in str(wrong) and client.exists("lock") == 1, wrong
        server.end()


def test_iterators_visit_each_element(directory):
    for mode in MODES:
        server = started(directory, mode)
        client = servers.client(3, port=server.port)
        wanted = {f"k{i}" for i in range(3000)}
        client.mset(dict.fromkeys(wanted, 1))
        stop = threading.Event()

        def disturb():
            for i in range(1_000_000):
                if stop.is_set():
                    return
                client.set(f"other{i % 500}", i)
                client.delete(f"other{(i + 250) % 500}")

        crew = threading.Thread(target=disturb)
        crew.start()
        try:
            for count in (None, 7, 1000):
                assert set(client.scan_iter(match="k*", count=count)) == wanted
        finally:
            stop.set()
            crew.join()
        if mode == "store":
            client.hset("h", mapping=dict.fromkeys(wanted, "v"))
            client.sadd("s", *wanted)
            client.zadd("z", dict.fromkeys(wanted, 1.5))
            assert dict(client.hscan_iter("h", count=10)) == dict.fromkeys(wanted, "v")
            assert set(client.sscan_iter("s", count=10)) == wanted
            assert dict(client.zscan_iter("z", count=10)) == dict.fromkeys(wanted, 1.5)
        server.end()


def test_clients_that_try_again_do_not_notice_kills(directory):
    for mode in MODES:
        server, authority = servers.start_with_tls(PROGRAM, directory, mode, "--durable")
        acknowledged = collections.Counter()
        stop = threading.Event()

        def write(index):
            where = {"port": server.tls_port, "ssl_ca_certs": authority} if index % 2 else {"port": server.durable_port}
            where |= {"retry": redis.retry.Retry(redis.backoff.ExponentialBackoff(cap=0.1, base=0.005), 300)}
            client = servers.client(2 + index // 2, **where)
            number = 0
            while not stop.is_set():
                number += 1
                assert client.set(f"n{index}", number) is True
                acknowledged[index] = number

        crew = threading.Thread(target=in_threads, args=(4, write))
        crew.start()
        try:
            for _ in range(3):
                before = dict(acknowledged)
                end = time.monotonic() + 30
                while any(acknowledged[index] < before.get(index, 0) + 10 for index in range(4)):
                    assert time.monotonic() < end and crew.is_alive(), acknowledged
                    time.sleep(0.01)
                server.kill()
                server.start()
        finally:
            stop.set()
            crew.join()
        client = servers.client(3, port=server.port)
        kept = {index: int(client.get(f"n{index}")) for index in range(4)}
        # The last number can be stored a second time, and not more than that can differ.
        assert all(acknowledged[index] <= kept[index] <= acknowledged[index] + 1 for index in range(4)), (kept, acknowledged)
        server.end()


def test_passwords(directory):
    secret = pathlib.Path(directory, "password")
    secret.write_text("open sesame\n", encoding="utf-8")
    server = started(directory, "cache", "--password-file", str(secret))
    for protocol in (2, 3):
        for right in ({"password": "open sesame"}, {"username": "default", "password": "open sesame"}):
            client = servers.client(protocol, port=server.port, **right)
            assert client.set("a", 1) is True
            assert client.auth("open sesame") is True
        for wrong in ({}, {"password": "no"}, {"username": "nobody", "password": "open sesame"}):
            got = outcome(servers.client(protocol, port=server.port, **wrong), lambda r: r.get("a"))
            assert isinstance(got, redis.AuthenticationError), (wrong, got)
    server.end()


def test_asyncio(directory):
    server = started(directory, "store")

    async def work():
        client = redis.asyncio.Redis(port=server.port, protocol=3, decode_responses=True)
        numbers = await asyncio.gather(*(client.incr("n") for _ in range(80)))
        assert sorted(numbers) == list(range(1, 81))
        async with client.pipeline(transaction=True) as pipe:
            assert await pipe.hset("h", "a", "1").hgetall("h").execute() == [1, {"a": "1"}]
        assert {each async for each in client.scan_iter()} == {"n", "h"}
        await client.aclose()

    asyncio.run(work())
    server.end()


def subscribed(client):
    with client.pubsub() as channels:
        channels.subscribe("channel")
        return channels.get_message(timeout=10)


def test_commands_that_are_not_served_are_errors_and_do_not_end_the_connection(directory):
    server = started(directory, "store")
    client = servers.client(3, port=server.port)
    calls = [lambda r: r.publish("c", "m"), lambda r: r.xadd("x", {"a": 1}), lambda r: r.eval("return 1", 0),
             lambda r: r.setbit("b", 1, 1), lambda r: r.pfadd("p", 1), lambda r: r.geoadd("g", (1, 1, "m")),
             lambda r: r.sort("l"), lambda r: r.dump("k"), lambda r: r.move("k", 1), lambda r: r.blpop("l", 1)]
    more = [lambda _: redis.Redis(port=server.port, db=1).get("a"),
            lambda _: redis.Redis(port=server.port, protocol=3, cache_config=redis.cache.CacheConfig()).get("a"),
            lambda _: subscribed(redis.Redis(port=server.port))]
    with client.client() as one:
        number = one.client_id()
        for call in calls:
            got = outcome(one, call)
            assert isinstance(got, redis.ResponseError), got
        assert one.client_id() == number
    for call in more:
        got = outcome(client, call)
        assert isinstance(got, redis.ResponseError), got
    server.end()


served.run_tests(globals())
