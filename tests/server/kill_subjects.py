"""The loads of outlastd_kills.py: clients that change items until the server is killed, and their models of what it must
have afterwards.

A model has for each thing that changes a history: the last state whose change was acknowledged, and the later ones that were
sent. After a kill the server must have one of these, and from then on no other. States are never used twice, so that an
older one that comes back is found.
"""
import collections
import dataclasses
import random
import socket
import threading

import served

WRITERS = 4


class Wrong(Exception):
    """The server has answered or kept something that it must not."""


class History:
    """The states that one thing can have."""

    def __init__(self, first):
        self.states = collections.deque([first])

    def send(self, state):
        self.states.append(state)

    def acknowledge(self):
        self.states.popleft()

    def latest(self):
        return self.states[-1]

    def settle(self, observed):
        """Makes the observed state the only one. Returns false if it is none of those that are possible."""
        for state in reversed(self.states):
            if state == observed:
                self.states = collections.deque([state])
                return True
        return False


class Resp:
    """A connection of RESP2."""

    def __init__(self, port, timeout=20):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", 65536)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        """Returns a reply; an error is an exception. Throws ConnectionResetError at the end of the connection."""
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Wrong(rest.decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        if kind != b"$":
            raise Wrong(f"not RESP: {line}")
        if rest == b"-1":
            return None
        data = self.file.read(int(rest) + 2)
        if len(data) != int(rest) + 2:
            raise ConnectionResetError
        return data[:-2]


def request(*words):
    words = [word if isinstance(word, bytes) else b"%d" % word for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Load(threading.Thread):
    """A client that changes its part of a model until the connection breaks."""

    def __init__(self, subject, model, number, port, seed):
        super().__init__(daemon=True)
        self.subject, self.model, self.number, self.port = subject, model, number, port
        self.random = random.Random(seed)
        self.acknowledged = 0
        self.seen = []  # (thing, number of the state) of other writers
        self.problem = None

    def run(self):
        try:
            with self.model.client(self.port) as client:
                for line in self.subject.first:
                    client.send(line)
                    self.model.first_reply(client)
                while True:
                    self.model.step(self, client)
        except OSError:
            pass  # the kill
        except Exception as wrong:  # also a defect of the load: without its changes there is nothing to lose
            self.problem = repr(wrong)


# ---- single items over memcached's text protocol ----

def value_of(version):
    return None if version % 7 == 0 else b"%d:" % version + b"x" * (3000 if version % 31 == 0 else version % 50)


class Items:
    """Keys whose values have versions that count up. Each seventh version is a deletion."""

    client = served.Lines
    writers = WRITERS
    keeps_others = True
    keys = 25

    def __init__(self, subject):
        self.subject = subject
        self.things = {b"w%d:%d" % (w, k): History(0) for w in range(WRITERS) for k in range(self.keys)}
        self.versions = dict.fromkeys(self.things, 0)

    @staticmethod
    def first_reply(client):
        line = client.line()
        if line is None:
            raise ConnectionResetError
        if line != b"OK":
            raise Wrong(line)

    def step(self, load, client):
        names = [b"w%d:%d" % (load.number, k) for k in load.random.sample(range(self.keys), load.random.randint(1, 8))]
        sent = b""
        for name in names:
            self.versions[name] += 1
            version = self.versions[name]
            value = value_of(version)
            self.things[name].send(version)
            sent += b"delete %s\r\n" % name if value is None else b"set %s 0 0 %d\r\n%s\r\n" % (name, len(value), value)
        other = b"w%d:%d" % (load.random.randrange(WRITERS), load.random.randrange(self.keys))
        client.send(sent + b"get %s\r\n" % other)
        for name in names:
            line = client.line()
            if line is None:
                raise ConnectionResetError
            if line not in (b"STORED", b"DELETED", b"NOT_FOUND"):
                raise Wrong(line)
            self.things[name].acknowledge()
            load.acknowledged += 1
        while (line := client.line()) != b"END":
            if line is None:
                raise ConnectionResetError
            if not line.startswith(b"VALUE "):
                load.seen.append((other, int(line.partition(b":")[0])))

    def compare(self, server, seen):
        found = get_many(server.port, list(self.things))
        for name, history in self.things.items():
            value = found.get(name)
            if value is None:
                # A deletion, or nothing yet. Which of several deletions it is makes no difference from here on.
                version = next((v for v in reversed(history.states) if value_of(v) is None), -1)
            else:
                version = int(value.partition(b":")[0])
                if value != value_of(version):
                    yield f"{name.decode()} has a value that was never stored: {value[:60]}"
                    continue
            expected = list(history.states)
            if not history.settle(version):
                yield f"{name.decode()}: {value and value[:60]}, but versions that are possible: {expected}"
            elif name in seen and seen[name] > version and value is not None:
                yield f"{name.decode()}: version {version}, and {seen[name]} was read"


def get_many(port, names):
    """Returns the values of those that are present."""
    found = {}
    with served.Lines(port) as client:
        for first in range(0, len(names), 100):
            client.send(b"get " + b" ".join(names[first:first + 100]) + b"\r\n")
            while (line := client.line()) != b"END":
                if line is None or not line.startswith(b"VALUE "):
                    raise Wrong(f"get is answered with {line}")
                found[line.split()[1]] = client.line()
    return found


# ---- transactions over RESP ----

TAIL = 5


@dataclasses.dataclass(frozen=True)
class Group:
    """Items that one transaction changes together. `number`, `a` and `b` are those of the last one."""
    number: int = 0
    count: int = 0
    a: bytes = None
    b: bytes = None
    fields: tuple = ()
    tail: tuple = ()
    score: int = None

    def next(self, number, has_parts):
        is_erased = number % 7 == 0
        value = None if is_erased else b"%d:" % number + b"y" * (number % 90)
        more = Group(number, self.count + 1, value, value)
        if not has_parts:
            return more
        return dataclasses.replace(more, fields=() if number % 11 == 0 else (number, number),
                                   tail=(*self.tail, number)[-TAIL:], score=number)

    def same(self):
        """Returns what can be observed: not the number of the transaction, after an erasure."""
        return (self.count, self.a, self.b, self.fields, self.tail, self.score)


class Transactions:
    """Groups of items. Each transaction changes all items of a group."""

    client = Resp
    writers = WRITERS
    keeps_others = True
    groups = 8

    def __init__(self, subject):
        self.subject = subject
        self.has_parts = subject.has_parts
        self.things = {b"t%d:%d" % (w, g): History(Group()) for w in range(WRITERS) for g in range(self.groups)}
        self.numbers = dict.fromkeys(self.things, 0)

    @staticmethod
    def first_reply(client):
        if client.reply() != b"OK":
            raise Wrong("the first command has failed")

    def commands(self, name, group):
        if group.a is None:
            yield request(b"DEL", name + b":a", name + b":b")
        else:
            yield request(b"SET", name + b":a", group.a)
            yield request(b"SET", name + b":b", group.b)
        yield request(b"INCR", name + b":c")
        if not self.has_parts:
            return
        if group.fields:
            yield request(b"HSET", name + b":h", b"f", group.number, b"g", group.number)
        else:
            yield request(b"DEL", name + b":h")
        yield request(b"RPUSH", name + b":l", group.number)
        yield request(b"LTRIM", name + b":l", b"-%d" % TAIL, b"-1")
        yield request(b"ZADD", name + b":z", group.number, b"m")

    def step(self, load, client):
        names = [b"t%d:%d" % (load.number, g) for g in load.random.sample(range(self.groups), load.random.randint(1, 4))]
        sent, counts = b"", []
        begin, end = (request(b"MULTI"), request(b"EXEC")) if self.subject.is_whole else (b"", b"")
        for name in names:
            self.numbers[name] += 1
            group = self.things[name].latest().next(self.numbers[name], self.has_parts)
            self.things[name].send(group)
            commands = list(self.commands(name, group))
            counts.append(len(commands))
            sent += begin + b"".join(commands) + end
            if not self.subject.is_whole:
                for command in commands:  # one by one, so that an epoch ends between them
                    client.send(command)
                sent = b""
        other = b"t%d:%d" % (load.random.randrange(WRITERS), load.random.randrange(self.groups))
        wait = load.random.choice((request(b"WAIT", 0, 0), request(b"WAITAOF", 1, 0, 0)))
        client.send(sent + (wait if self.subject.waits else request(b"GET", other + b":c")))
        for name, count in zip(names, counts):
            self.finish(client, count)
            if not self.subject.waits:
                self.acknowledge(load, name)
        last = client.reply()
        if self.subject.waits:
            for name in names:
                self.acknowledge(load, name)
        elif last is not None:
            load.seen.append((other, int(last)))

    def finish(self, client, count):
        if not self.subject.is_whole:
            for _ in range(count):
                client.reply()
            return
        expected = [b"OK"] + [b"QUEUED"] * count
        got = [client.reply() for _ in expected]
        results = client.reply()
        if got != expected or not isinstance(results, list) or len(results) != count:
            raise Wrong(f"a transaction is answered with {got}, {results}")

    def acknowledge(self, load, name):
        self.things[name].acknowledge()
        load.acknowledged += 1

    def observe(self, client, name):
        client.send(request(b"MGET", name + b":a", name + b":b", name + b":c"))
        if self.has_parts:
            client.send(request(b"HMGET", name + b":h", b"f", b"g") + request(b"LRANGE", name + b":l", 0, b"-1") +
                        request(b"ZSCORE", name + b":z", b"m"))
        a, b, count = client.reply()
        if not self.has_parts:
            return (int(count or 0), a, b, (), (), None)
        fields, tail, score = client.reply(), client.reply(), client.reply()
        return (int(count or 0), a, b, () if fields == [None, None] else tuple(int(f) if f else None for f in fields),
                tuple(int(n) for n in tail), None if score is None else int(score))

    def compare(self, server, seen):
        with Resp(server.port) as client:
            for name, history in self.things.items():
                observed = self.observe(client, name)
                state = next((s for s in history.states if s.same() == observed), None)
                if state is None:
                    possible = [s.same() for s in history.states]
                    yield f"{name.decode()}: {observed}, but states that are possible: {possible}"
                    continue
                history.settle(state)
                if seen.get(name, 0) > state.count:
                    yield f"{name.decode()}: {state.count} transactions, and {seen[name]} were read"


# ---- a cache that evicts ----

class Evicted:
    """A cache with less memory than is stored. An item may be absent, but not older than acknowledged.

    Each writer stores new items without end. The newest are the last that the cache evicts: they must be present. So must
    be as many bytes as the limit permits. Each writer also stores and erases items of a small number of keys, again and
    again: of these a version may be absent, and none may come back.
    """

    client = served.Lines
    writers = WRITERS
    keeps_others = False  # it evicts them
    first_reply = staticmethod(Items.first_reply)
    newest = 20
    keys = 10

    def __init__(self, subject):
        self.subject = subject
        self.sent = [0] * WRITERS
        self.latest = [collections.deque(maxlen=self.newest) for _ in range(WRITERS)]  # acknowledged in this life
        # The version that a key may have, and the one from which on later ones are possible, too.
        self.possible = {b"h%d:%d" % (w, k): (None, 1) for w in range(WRITERS) for k in range(self.keys)}
        self.versions = dict.fromkeys(self.possible, 0)
        self.stored_bytes = 0

    @staticmethod
    def new_value(name):
        return name * 25

    def step(self, load, client):
        news = []
        sent = b""
        for _ in range(load.random.randint(1, 12)):
            self.sent[load.number] += 1
            name = b"n%d:%d" % (load.number, self.sent[load.number])
            value = self.new_value(name)
            news.append(name)
            sent += b"set %s 0 0 %d\r\n%s\r\n" % (name, len(value), value)
        hot = b"h%d:%d" % (load.number, load.random.randrange(self.keys))
        self.versions[hot] += 1
        version = self.versions[hot]
        value = value_of(version)
        sent += b"delete %s\r\n" % hot if value is None else b"set %s 0 0 %d\r\n%s\r\n" % (hot, len(value), value)
        client.send(sent)
        for place in range(len(news) + 1):
            line = client.line()
            if line is None:
                raise ConnectionResetError
            if line not in (b"STORED", b"DELETED", b"NOT_FOUND"):
                raise Wrong(line)
            load.acknowledged += 1
            if place < len(news):
                self.latest[load.number].append(news[place])
                self.stored_bytes += len(news[place]) * 26
        self.possible[hot] = (version, version + 1) if value is not None else (None, version + 1)

    def compare(self, server, seen):
        wanted = [name for each in self.latest for name in each]
        found = get_many(server.port, wanted + list(self.possible))
        for name in wanted:
            if found.get(name) != self.new_value(name):
                yield f"{name.decode()} is one of the newest items, and its value is {found.get(name)}"
        for each in self.latest:
            each.clear()
        for name, (base, after) in self.possible.items():
            version = None
            if (value := found.get(name)) is not None:
                version = int(value.partition(b":")[0])
                if not (version == base or after <= version <= self.versions[name]) or value != value_of(version):
                    yield f"{name.decode()}: {value[:60]}, but version {base}, and {after} to {self.versions[name]}, are possible"
            self.possible[name] = (version, self.versions[name] + 1)
        metrics = server.metrics()
        used, limit = metrics["outlast_item_bytes"], metrics["outlast_item_bytes_limit"]
        if self.stored_bytes > 2 * limit and used < limit * 0.8:
            yield f"{used} bytes of items are left, but the limit of {limit} bytes was reached"


@dataclasses.dataclass(frozen=True)
class Subject:
    """A server with options, and a promise that it makes on one of its ports."""
    model: type
    options: tuple = ()
    port: str = "port"
    first: tuple = ()      # requests that begin each connection
    waits: bool = False    # WAIT acknowledges, not the reply
    has_parts: bool = False
    is_whole: bool = True  # false: without MULTI, which must be found
    may_lose: bool = False  # the last changes; those that are left are the first ones


STORE = ("--mode", "store")
SUBJECTS = {
    "cache, durable port, memcached": Subject(Items, port="durable_port"),
    "cache, durable port, MULTI": Subject(Transactions, port="durable_port"),
    "cache, durable on, memcached": Subject(Items, first=(b"durable on\r\n",)),
    "cache, CLIENT DURABLE ON, MULTI": Subject(Transactions, first=(request(b"CLIENT", b"DURABLE", b"ON"),)),
    "cache, WAIT, MULTI": Subject(Transactions, waits=True),
    "cache, --durable, memcached": Subject(Items, ("--durable",)),
    "cache that evicts, durable port, memcached": Subject(Evicted, ("-m", "4"), port="durable_port"),
    "store, memcached": Subject(Items, STORE),
    "store, MULTI with collections": Subject(Transactions, STORE, has_parts=True),
    "store, durable port, MULTI with collections": Subject(Transactions, STORE, port="durable_port", has_parts=True),
}
