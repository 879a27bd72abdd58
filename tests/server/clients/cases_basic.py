"""Calls of redis-py for the commands that both modes have, and their results.

A case is (command, call, result) or (command, call, result, peers). The call gets a client that decodes replies, and a key
space that earlier cases of the same group have changed. A command with a bar is a subcommand. The peers answer in another
way: Redis 7.0 lacks the command, or the difference is documented.
"""
import time

import redis

from expectations import between, both, fails, having, holds, kind, one_of, some_of, unordered

FUTURE = 4102444800  # 2100


def raw(*words, **more):
    """Returns a call without a method of redis-py."""
    return lambda r: r.execute_command(*words, **more)


def alone(*commands):
    """Returns a call that executes commands on a new connection, closes it, and returns the last reply."""
    def call(r):
        with r.client() as one:
            connection = one.connection
            connection.disconnect()
            try:
                for words in commands:
                    connection.send_command(*words)
                    reply = connection.read_response()
                return reply
            finally:
                connection.disconnect()
    return call


def plain(*words):
    """Returns a call whose reply is not converted by redis-py."""
    return alone(words)


def then(*calls):
    """Returns a call that makes several and returns the results."""
    return lambda r: [each(r) for each in calls]


def scanned(**how):
    """Returns a call that scans from cursor 0 to cursor 0. The cursors between them depend on the table."""
    def call(r):
        cursor, found = r.scan(0, **how)
        while cursor != 0:
            cursor, more = r.scan(cursor, **how)
            found += more
        return found
    return call


STRINGS = [
    ("SET", lambda r: r.set("s", "hello"), True),
    ("SET", lambda r: r.set("s", "no", nx=True), None),
    ("SET", lambda r: r.set("absent", "no", xx=True), None),
    ("SET", lambda r: r.set("s", "hello", get=True), "hello"),
    ("SET", then(lambda r: r.set("t", "v", ex=100), lambda r: r.ttl("t")), [True, between(98, 100)]),
    ("SET", then(lambda r: r.set("t", "w", keepttl=True), lambda r: r.ttl("t")), [True, between(98, 100)]),
    ("SET", then(lambda r: r.set("t", "w", px=100_000), lambda r: r.pttl("t")), [True, between(98_000, 100_000)]),
    ("SET", then(lambda r: r.set("t", "w", exat=FUTURE), lambda r: r.expiretime("t")), [True, FUTURE]),
    ("SET", then(lambda r: r.set("t", "w", pxat=FUTURE * 1000), lambda r: r.pexpiretime("t")), [True, FUTURE * 1000]),
    ("SET", then(lambda r: r.set("t", "w"), lambda r: r.ttl("t")), [True, -1]),
    ("SET", raw("SET", "s", "v", "EX", "0"), fails("invalid expire time")),
    ("SET", raw("SET", "s", "v", "EX"), fails("syntax error")),
    ("SET", raw("SET", "s"), fails("wrong number of arguments")),
    ("GET", lambda r: r.get("s"), "hello"),
    ("GET", lambda r: r.get("absent"), None),
    ("SETNX", lambda r: r.setnx("s", "no"), False),
    ("SETNX", lambda r: r.setnx("new", "yes"), True),
    ("SETEX", then(lambda r: r.setex("t", 100, "v"), lambda r: r.ttl("t")), [True, between(98, 100)]),
    ("SETEX", raw("SETEX", "t", "-1", "v"), fails("invalid expire time in 'setex' command")),
    ("PSETEX", then(lambda r: r.psetex("t", 100_000, "v"), lambda r: r.ttl("t")), [True, between(98, 100)]),
    ("GETSET", lambda r: r.getset("s", "world"), "hello"),
    ("GETSET", lambda r: r.getset("fresh", "1"), None),
    ("GETDEL", then(lambda r: r.getdel("fresh"), lambda r: r.getdel("fresh")), ["1", None]),
    ("GETEX", then(lambda r: r.getex("s", ex=100), lambda r: r.ttl("s")), ["world", between(98, 100)]),
    ("GETEX", then(lambda r: r.getex("s", persist=True), lambda r: r.ttl("s")), ["world", -1]),
    ("GETEX", lambda r: r.getex("absent"), None),
    ("MSET", lambda r: r.mset({"m1": "a", "m2": "b"}), True),
    ("MGET", lambda r: r.mget("m1", "absent", "m2"), ["a", None, "b"]),
    ("MSETNX", then(lambda r: r.msetnx({"m2": "x", "m3": "x"}), lambda r: r.get("m3")), [False, None]),
    ("MSETNX", then(lambda r: r.msetnx({"m4": "x", "m3": "y"}), lambda r: r.get("m3")), [True, "y"]),
    ("APPEND", then(lambda r: r.append("a", "Hello"), lambda r: r.append("a", " World")), [5, 11]),
    ("STRLEN", then(lambda r: r.strlen("a"), lambda r: r.strlen("absent")), [11, 0]),
    ("GETRANGE", then(lambda r: r.getrange("a", 0, 4), lambda r: r.getrange("a", -5, -1)), ["Hello", "World"]),
    ("SUBSTR", then(lambda r: r.substr("a", 0, 1), lambda r: r.substr("a", 8)), ["He", "rld"]),
    ("SETRANGE", then(lambda r: r.setrange("a", 6, "Redis"), lambda r: r.get("a")), [11, "Hello Redis"]),
    ("SETRANGE", then(lambda r: r.setrange("gap", 2, "x"), lambda r: r.get("gap")), [3, "\0\0x"]),
    ("INCRBY", then(lambda r: r.incr("n"), lambda r: r.incr("n")), [1, 2]),
    ("INCR", raw("INCR", "n"), 3),
    ("INCR", raw("INCR", "a"), fails("value is not an integer or out of range")),
    ("INCRBY", then(lambda r: r.incrby("n", 10), lambda r: r.incrby("n", -3)), [13, 10]),
    ("INCRBY", then(lambda r: r.set("big", 2**63 - 1), raw("INCRBY", "big", "1")), fails("overflow")),
    ("DECR", raw("DECR", "n"), 9),
    ("DECRBY", lambda r: r.decrby("n", 4), 5),
    ("INCRBYFLOAT", then(lambda r: r.incrbyfloat("n", 0.5), lambda r: r.get("n")), [5.5, "5.5"]),
    ("INCRBYFLOAT", raw("INCRBYFLOAT", "n", "x"), fails("value is not a valid float")),
    ("LCS", then(lambda r: r.mset({"l1": "ohmytext", "l2": "mynewtext"}), lambda r: r.lcs("l1", "l2")), [True, "mytext"]),
    ("LCS", lambda r: r.lcs("l1", "l2", len=True), 6),
    ("LCS", lambda r: r.lcs("l1", "l2", idx=True, minmatchlen=4, withmatchlen=True),
     both(["matches", [[[4, 7], [5, 8], 4]], "len", 6], {"matches": [[[4, 7], [5, 8], 4]], "len": 6})),
]

KEYS = [
    ("DEL", then(lambda r: r.mset({"a": 1, "b": 2, "c": 3}), lambda r: r.delete("a", "b", "absent")), [True, 2]),
    ("UNLINK", then(lambda r: r.unlink("c", "absent"), lambda r: r.exists("c")), [1, 0]),
    ("EXISTS", then(lambda r: r.mset({"a": 1, "b": 2}), lambda r: r.exists("a", "a", "b", "absent")), [True, 3]),
    ("TYPE", then(lambda r: r.type("a"), lambda r: r.type("absent")), ["string", "none"]),
    ("KEYS", then(lambda r: r.keys("[ab]"), lambda r: r.keys("z*")), [unordered(["a", "b"]), []]),
    ("SCAN", scanned(match="[ab]", count=1000), unordered(["a", "b"])),
    ("SCAN", scanned(count=1000, _type="hash"), []),
    ("SCAN", lambda r: list(r.scan_iter(match="a")), ["a"]),
    ("SCAN", raw("SCAN", "x"), fails("invalid cursor")),
    ("RANDOMKEY", lambda r: r.randomkey(), one_of("a", "b")),
    ("DBSIZE", lambda r: r.dbsize(), 2),
    ("TOUCH", lambda r: r.touch("a", "b", "absent"), 2),
    ("RENAME", then(lambda r: r.rename("a", "c"), lambda r: r.mget("a", "c")), [True, [None, "1"]]),
    ("RENAME", raw("RENAME", "absent", "c"), fails("no such key")),
    ("RENAMENX", then(lambda r: r.renamenx("c", "b"), lambda r: r.renamenx("c", "a")), [False, True]),
    ("COPY", then(lambda r: r.copy("a", "d"), lambda r: r.copy("a", "d"), lambda r: r.copy("a", "d", replace=True),
                  lambda r: r.get("d")), [True, False, True, "1"]),
    ("EXPIRE", then(lambda r: r.expire("a", 100), lambda r: r.expire("absent", 1), lambda r: r.expire("a", 50, gt=True)),
     [True, False, False]),
    ("EXPIRE", then(lambda r: r.set("gone", 1), lambda r: r.expire("gone", -1), lambda r: r.exists("gone")), [True, True, 0]),
    ("TTL", then(lambda r: r.ttl("a"), lambda r: r.ttl("b"), lambda r: r.ttl("absent")), [between(98, 100), -1, -2]),
    ("PEXPIRE", lambda r: r.pexpire("a", 200_000), True),
    ("PTTL", lambda r: r.pttl("a"), between(198_000, 200_000)),
    ("EXPIREAT", lambda r: r.expireat("a", FUTURE), True),
    ("EXPIRETIME", then(lambda r: r.expiretime("a"), lambda r: r.expiretime("b"), lambda r: r.expiretime("absent")),
     [FUTURE, -1, -2]),
    ("PEXPIREAT", lambda r: r.pexpireat("a", FUTURE * 1000 + 5), True),
    ("PEXPIRETIME", lambda r: r.pexpiretime("a"), FUTURE * 1000 + 5),
    ("PERSIST", then(lambda r: r.persist("a"), lambda r: r.persist("a"), lambda r: r.ttl("a")), [True, False, -1]),
    ("PEXPIRE", then(lambda r: r.set("brief", 1), lambda r: r.pexpire("brief", 30), lambda _: time.sleep(0.1),
                     lambda r: r.get("brief")), [True, True, None, None]),
    ("OBJECT", raw("OBJECT", "nosuch", "a"), fails("unknown subcommand")),
    ("OBJECT|IDLETIME", lambda r: r.object("idletime", "a"), between(0, 5)),
    ("OBJECT|ENCODING", lambda r: r.object("encoding", "a"), "int"),
    ("OBJECT|ENCODING", lambda r: r.object("encoding", "absent"), None),
    ("OBJECT|REFCOUNT", lambda r: r.object("refcount", "a"), kind(int)),
    ("OBJECT|FREQ", raw("OBJECT", "FREQ", "a"), fails("LFU")),
    ("OBJECT|HELP", raw("OBJECT", "HELP"), kind(list)),
    ("MEMORY|USAGE", then(lambda r: r.memory_usage("a"), lambda r: r.memory_usage("absent")), [between(20, 500), None]),
    ("FLUSHDB", then(lambda r: r.flushdb(), lambda r: r.dbsize()), [True, 0]),
    ("FLUSHALL", then(lambda r: r.set("a", 1), lambda r: r.flushall(asynchronous=True), lambda r: r.dbsize()),
     [True, True, 0]),
]


def transaction(r):
    with r.pipeline(transaction=True) as p:
        p.set("a", 1).incr("a").get("a")
        return p.execute()


def watched(r, changes):
    """Watches a key, changes it with another connection if wanted, and stores it in a transaction."""
    with r.pipeline() as p:
        p.watch("w")
        before = p.get("w")
        if changes:
            r.set("w", "other")
        p.multi()
        p.set("w", "mine")
        try:
            return before, p.execute()
        except redis.WatchError:
            return before, "WatchError"


def unwatched(r):
    with r.pipeline() as p:
        p.watch("w")
        r.set("w", "other")
        p.unwatch()
        p.multi()
        p.get("w")
        return p.execute()


TRANSACTIONS = [
    ("MULTI", transaction, [True, 2, "2"]),
    ("MULTI", alone(("MULTI",), ("MULTI",)), fails("MULTI calls can not be nested"), "valkey"),
    ("EXEC", plain("EXEC"), fails("EXEC without MULTI")),
    ("EXEC", lambda r: watched(r, False), (None, [True])),
    ("WATCH", lambda r: watched(r, True), ("mine", "WatchError")),
    ("WATCH", alone(("MULTI",), ("WATCH", "a")), fails("WATCH inside MULTI is not allowed"), "valkey"),
    ("UNWATCH", unwatched, ["other"]),
    ("DISCARD", alone(("MULTI",), ("SET", "a", "no"), ("DISCARD",)), "OK"),
    ("DISCARD", plain("DISCARD"), fails("DISCARD without MULTI")),
    ("GET", lambda r: r.get("a"), "2"),
]


def hello_of(r):
    got = r.execute_command("HELLO", r.connection_pool.connection_kwargs["protocol"])
    return got if isinstance(got, dict) else dict(zip(got[::2], got[1::2]))


def silenced(r):
    """Sends a command without a reply, and one that ends the silence."""
    with r.client() as one:
        connection = one.connection
        for words in (("CLIENT", "REPLY", "OFF"), ("SET", "silent", "1"), ("CLIENT", "REPLY", "ON")):
            connection.send_command(*words)
        first = connection.read_response()
        connection.send_command("GET", "silent")
        return [first, connection.read_response()]


def named(r):
    with r.client() as one:
        try:
            return [one.client_setname("a-name"), one.client_getname(), one.client_info()["name"]]
        finally:
            one.connection.disconnect()


CONNECTION = [
    ("PING", then(lambda r: r.ping(), plain("PING", "text")), [True, "text"]),
    ("ECHO", lambda r: r.echo("text"), "text"),
    ("SELECT", lambda r: r.select(0), True),
    ("SELECT", raw("SELECT", "99"), fails("DB index is out of range")),
    ("AUTH", raw("AUTH", "secret"), fails("without any password configured")),
    ("HELLO", hello_of, having(server=one_of("redis", "valkey"), proto=one_of(2, 3), id=kind(int), mode="standalone", role="master")),
    ("HELLO", raw("HELLO", "9"), fails("NOPROTO")),
    ("QUIT", plain("QUIT"), "OK"),
    ("RESET", plain("RESET"), "RESET"),
    ("CLIENT", raw("CLIENT", "NOSUCH"), fails("unknown subcommand")),
    ("CLIENT|ID", lambda r: r.client_id(), kind(int)),
    ("CLIENT|SETNAME", named, [True, "a-name", "a-name"]),
    ("CLIENT|GETNAME", lambda r: r.client_getname(), None),
    ("CLIENT|INFO", lambda r: r.client_info(), having(id=kind(int), addr=kind(str), db=0, cmd="client|info")),
    ("CLIENT|LIST", lambda r: r.client_list(), holds("a list with this client", lambda got: len(got) >= 1 and "id" in got[0])),
    ("CLIENT|SETINFO", lambda r: r.client_setinfo("LIB-NAME", "a-test"), True, "redis"),
    ("CLIENT|NO-EVICT", lambda r: r.client_no_evict("ON"), "OK"),
    ("CLIENT|NO-TOUCH", lambda r: r.client_no_touch("OFF"), "OK", "redis"),
    ("CLIENT|REPLY", silenced, ["OK", "1"]),
    ("CLIENT|UNBLOCK", lambda r: r.client_unblock(999999999), False),
    ("CLIENT|UNPAUSE", lambda r: r.client_unpause(), one_of("OK", True)),
    ("CLIENT|GETREDIR", lambda r: r.client_getredir(), -1),
    ("CLIENT|KILL", raw("CLIENT", "KILL", "ID", "999999999"), 0),
    ("CLIENT|KILL", raw("CLIENT", "KILL", "1.2.3.4:5"), fails("No such client")),
    ("CLIENT|HELP", raw("CLIENT", "HELP"), kind(list)),
    ("CLIENT|TRACKING", raw("CLIENT", "TRACKING", "OFF"), "OK"),
    ("CLIENT|TRACKING", plain("CLIENT", "TRACKING", "ON"), fails("not supported"), "redis valkey"),
    ("CLIENT|DURABLE", alone(("CLIENT", "DURABLE", "ON")), "OK", "redis valkey"),
    ("CLIENT|DURABLE", alone(("CLIENT", "DURABLE", "ON"), ("SET", "durable", "1"), ("CLIENT", "DURABLE", "OFF")), "OK", "redis valkey"),
]

SERVER = [
    ("COMMAND", lambda r: r.command(), holds("with GET and MULTI", lambda got: {"get", "multi"} <= {each.lower() for each in got})),
    ("COMMAND|COUNT", lambda r: r.command_count(), between(70, 500)),
    ("COMMAND|INFO", plain("COMMAND", "INFO", "get", "nosuch"), holds("about GET alone", lambda got: got[0][:2] == ["get", 2] and got[1] is None)),
    ("COMMAND|LIST", lambda r: r.command_list(), holds("with get", lambda got: "get" in got)),
    ("COMMAND|LIST", lambda r: r.command_list(pattern="lc*"), holds("lcs", lambda got: list(got) == ["lcs"])),
    ("COMMAND|DOCS", plain("COMMAND", "DOCS", "get"), holds("about GET", lambda got: "get" in got)),
    ("COMMAND|GETKEYS", lambda r: r.command_getkeys("MSET", "a", "1", "b", "2"), ["a", "b"]),
    ("COMMAND|HELP", plain("COMMAND", "HELP"), kind(list)),
    ("CONFIG", raw("CONFIG", "NOSUCH"), fails("unknown subcommand")),
    ("CONFIG|GET", lambda r: r.config_get("maxmemory"), {"maxmemory": kind(str)}),
    ("CONFIG|GET", lambda r: r.config_get("nosuch"), {}),
    ("CONFIG|SET", raw("CONFIG", "SET", "nosuch", "1"), fails("Unknown option")),
    ("CONFIG|RESETSTAT", lambda r: r.config_resetstat(), True),
    ("CONFIG|HELP", raw("CONFIG", "HELP"), kind(list)),
    ("INFO", lambda r: r.info(), having(redis_version=kind(str), uptime_in_seconds=kind(int), role="master")),
    ("INFO", lambda r: r.info("persistence"), having(loading=0)),
    ("TIME", lambda r: r.time(), holds("near the time of this machine", lambda got: abs(got[0] - time.time()) < 5)),
    ("LASTSAVE", lambda r: r.lastsave(), holds("a time", lambda got: type(got).__name__ == "datetime")),
    ("SAVE", lambda r: r.save(), True, "redis valkey"),
    ("BGSAVE", lambda r: r.bgsave(), both(True, kind(str)), "redis valkey"),
    ("BGREWRITEAOF", lambda r: r.bgrewriteaof(), both(True, kind(str)), "redis valkey"),
    ("MEMORY", raw("MEMORY", "NOSUCH"), fails("unknown subcommand")),
    ("MEMORY|PURGE", lambda r: r.memory_purge(), True),
    ("MEMORY|DOCTOR", raw("MEMORY", "DOCTOR"), kind(str)),
    ("MEMORY|HELP", raw("MEMORY", "HELP"), kind(list)),
    ("SLOWLOG", raw("SLOWLOG", "NOSUCH"), fails("unknown subcommand")),
    ("SLOWLOG|RESET", lambda r: r.slowlog_reset(), True),
    ("SLOWLOG|LEN", lambda r: r.slowlog_len(), between(0, 128)),
    ("SLOWLOG|GET", lambda r: r.slowlog_get(5), kind(list)),
    ("SLOWLOG|HELP", raw("SLOWLOG", "HELP"), kind(list)),
    ("LATENCY", raw("LATENCY", "NOSUCH"), fails("unknown subcommand")),
    ("LATENCY|HISTORY", lambda r: r.latency_history("command"), []),
    ("LATENCY|LATEST", lambda r: r.latency_latest(), []),
    ("LATENCY|HISTOGRAM", raw("LATENCY", "HISTOGRAM", "nosuch"), both([], {})),
    ("LATENCY|RESET", lambda r: r.latency_reset(), 0),
    ("LATENCY|DOCTOR", raw("LATENCY", "DOCTOR"), kind(str)),
    ("LATENCY|HELP", raw("LATENCY", "HELP"), kind(list)),
    ("DEBUG", raw("DEBUG", "SLEEP", "0"), fails("DEBUG command not allowed")),
    ("FUNCTION", raw("FUNCTION", "NOSUCH"), fails("unknown subcommand")),
    ("FUNCTION|LIST", lambda r: r.function_list(), []),
    ("FUNCTION|FLUSH", raw("FUNCTION", "FLUSH"), one_of("OK", True)),
    ("FUNCTION|HELP", raw("FUNCTION", "HELP"), kind(list)),
    ("SCRIPT", raw("SCRIPT", "NOSUCH"), fails("unknown subcommand")),
    ("SCRIPT|FLUSH", lambda r: r.script_flush(), one_of(True, "OK")),
    ("SCRIPT|EXISTS", lambda r: r.script_exists("0" * 40, "1" * 40), [False, False]),
    ("SCRIPT|HELP", raw("SCRIPT", "HELP"), kind(list)),
    ("WAIT", lambda r: r.wait(0, 100), 0, "redis valkey"),
    ("WAITAOF", then(lambda r: r.set("aof", 1), lambda r: r.waitaof(1, 0, 1000)), [True, [1, 0]], "redis valkey"),
    ("ROLE", raw("ROLE"), ["master", 0, []]),
    ("LOLWUT", lambda r: r.lolwut(), kind(str)),
]

GROUPS = {"strings": STRINGS, "keys": KEYS, "transactions": TRANSACTIONS, "connection": CONNECTION, "server": SERVER}
