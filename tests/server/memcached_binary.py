"""Random streams of memcached's binary protocol, for tests/server/memcached_differential.

All bytes of the replies must agree, except the numbers of items, which are replaced by the index of their
first appearance. The streams avoid inputs for which the servers differ on purpose, or for which memcached's
reply depends on memory that it has used before:
  * an unknown opcode, verbosity, touch, gat and stat with a body that they do not have (memcached reads it as
    a request), and verbosity, which memcached does not have
  * names of `stat` whose numbers differ, `detail on` and sizes_enable
  * lengths of 2 GB and more (memcached waits for the body), keys above 1,000 bytes (memcached may close the
    connection without a reply)
  * lengths that do not fit each other if the key has not arrived (memcached waits for it), and a wrong first
    byte after other requests (memcached drops replies that it has not sent)
  * those of the text protocol: values of white space, values with a minus sign, flush with a delay of a second,
    and a number that is decremented while a reply with its item is not sent yet
"""

import struct
import time

from memcached_peers import replies_of

HEAD = struct.Struct(">BBHBBHIIQ")
(GET, SET, ADD, REPLACE, DELETE, INCREMENT, DECREMENT, QUIT, FLUSH, GETQ, NOOP, VERSION, GETK, GETKQ, APPEND, PREPEND,
 STAT, SETQ, ADDQ, REPLACEQ, DELETEQ, INCREMENTQ, DECREMENTQ, QUITQ, FLUSHQ, APPENDQ, PREPENDQ, VERBOSITY, TOUCH, GAT,
 GATQ) = range(31)
LIST, AUTHENTICATE, STEP, GATK, GATKQ = range(0x20, 0x25)
# The extras of a request; None: it has no key.
FORMS = {GET: 0, SET: 8, ADD: 8, REPLACE: 8, DELETE: 0, INCREMENT: 20, DECREMENT: 20, GETQ: 0, GETK: 0, GETKQ: 0,
         APPEND: 0, PREPEND: 0, SETQ: 8, ADDQ: 8, REPLACEQ: 8, DELETEQ: 0, INCREMENTQ: 20, DECREMENTQ: 20, APPENDQ: 0,
         PREPENDQ: 0, TOUCH: 4, GAT: 4, GATQ: 4, GATK: 4, GATKQ: 4, AUTHENTICATE: 0, STEP: 0, QUIT: None, FLUSH: None,
         NOOP: None, VERSION: None, QUITQ: None, FLUSHQ: None, LIST: None, STAT: 0}
WITH_VALUE = (SET, ADD, REPLACE, APPEND, PREPEND, SETQ, ADDQ, REPLACEQ, APPENDQ, PREPENDQ, AUTHENTICATE, STEP)


def request(opcode, key=b"", extras=b"", value=b"", unique=0, opaque=7, lengths=(None, None, None), magic=0x80,
            data_type=0, bucket=0):
    """The parts of a request: bytes, and the number of an item if it depends on the server."""
    real = (len(key), len(extras), len(key) + len(extras) + len(value))
    key_bytes, extras_bytes, body = (one if given is None else given for one, given in zip(real, lengths))
    head = HEAD.pack(magic, opcode, key_bytes, extras_bytes, data_type, bucket, body, opaque, 0)[:16]
    number = unique if isinstance(unique, Number) else struct.pack(">Q", unique)
    return [head, number, extras + key + value]


class Number:
    """The number of the item `key` of a server, moved by `offset`."""

    def __init__(self, key, offset):
        self.key, self.offset = key, offset

    def of(self, server):
        mark, end = Binary.mark(0)
        replies, _, _ = replies_of(server, b"".join(request(GET, self.key)) + mark, end)
        fields = HEAD.unpack(replies[:24])
        number = max(1, fields[8] + self.offset) if fields[5] == 0 else 77
        return struct.pack(">Q", number)


def normalized(replies, numbers):
    """The replies as lines, without the numbers of items."""
    lines = []
    while len(replies) >= 24:
        magic, opcode, key, extras, data_type, status, body, opaque, unique = HEAD.unpack(replies[:24])
        lines.append(b"%02x op %02x key %d extras %d type %d status %x opaque %x %s: %s" % (
            magic, opcode, key, extras, data_type, status, opaque, numbers(b"%d" % unique), replies[24:24 + body]))
        replies = replies[24 + body:]
    return b"\n".join(lines + [replies])


class Binary:
    """How the streams of the binary protocol begin, end and are compared."""

    normalized = staticmethod(normalized)
    TEXT = [b"a", b"b", b"key:c", b"d\x00e \r\n", b"\xff\x80", b"k" * 250]
    NUMERIC = [b"n1", b"n2", b"n3"]

    def __init__(self, chance):
        self.chance = chance

    @staticmethod
    def begin(server):
        mark, end = Binary.mark(0)
        sets = b"".join(request(SETQ, b"zz", bytes(8), b"x")) * 5
        replies_of(server, sets + b"".join(request(DELETEQ, b"zz")) + mark, end)

    @staticmethod
    def mark(index):
        opaque = 0x80000000 + index
        return b"".join(request(NOOP, opaque=opaque)), HEAD.pack(0x81, NOOP, 0, 0, 0, 0, 0, opaque, 0)

    @staticmethod
    def is_alone(command):
        return (command[0][1] in (INCREMENT, DECREMENT, INCREMENTQ, DECREMENTQ) or command[0][0] != 0x80
                or any(isinstance(part, Number) for part in command))

    def pick(self, *some):
        return self.chance.choice(some)

    def key(self):
        return self.chance.choice(self.TEXT + self.NUMERIC + [b"absent"])

    def opaque(self):
        return self.chance.randrange(1 << 31)

    def value(self, key):
        if key in self.NUMERIC and self.chance.random() < 0.8:
            digits = self.pick(b"0", b"9", b"10", b"99", b"1000", b"18446744073709551615", b"007",
                               b"18446744073709551616", b" 5", b"5 ", b"5 x", b"+5", b"", b"1\x002")
            return digits + b" " * self.pick(0, 0, 0, 1, 40) * bool(digits)
        size = self.pick(0, 1, 2, 3, 10, 24, 100, 1000, 5000) if self.chance.random() < 0.9 else 70000
        value = bytes(self.chance.choices(b"ab\r\n \x00\xff\x80\x81", k=min(size, 50))) + b"x" * max(0, size - 50)
        return value if value.strip() or not value else value[:-1] + b"a"

    def time(self):
        return self.pick(0, 0, 0, 1000, 100000, 0xfffffffe, 0x80000000, 0x7fffffff, int(time.time()) + 5000, 2592000,
                         2592001)

    def flags(self):
        return self.pick(0, 0, 1, 65536, 0xffffffff)

    def unique(self, key):
        return Number(key, self.pick(0, 0, 0, 1, -1)) if self.chance.random() < 0.2 else self.pick(0, 0, 0, 0, 1 << 63)

    def reading(self):
        return request(self.pick(GET, GETQ, GETK, GETKQ), self.key(), opaque=self.opaque(),
                       unique=self.pick(0, 0, 5), data_type=self.pick(0, 0, 1), bucket=self.pick(0, 0, 9))

    def touching(self):
        return request(self.pick(TOUCH, GAT, GATQ, GATK, GATKQ), self.key(), struct.pack(">I", self.time()),
                       opaque=self.opaque())

    def storing(self):
        key = self.key()
        extras = struct.pack(">II", self.flags(), self.time())
        return request(self.pick(SET, SET, SETQ, SETQ, ADD, ADDQ, REPLACE, REPLACEQ), key, extras, self.value(key),
                       self.unique(key), self.opaque())

    def extending(self):
        key = self.key()
        return request(self.pick(APPEND, APPENDQ, PREPEND, PREPENDQ), key, b"", self.value(key), self.unique(key),
                       self.opaque())

    def counting(self):
        key = self.pick(*self.NUMERIC, self.key())
        delta = self.pick(1, 1, 0, 9, 95, (1 << 64) - 1, 1 << 63)
        initial = self.pick(0, 5, 13, (1 << 64) - 1)
        seconds = self.pick(0xffffffff, 0xffffffff, 0, 1000, self.time())
        return request(self.pick(INCREMENT, DECREMENT, INCREMENTQ, DECREMENTQ), key,
                       struct.pack(">QQI", delta, initial, seconds), b"", self.unique(key), self.opaque())

    def removing(self):
        if self.chance.random() < 0.05:
            extras = self.pick(b"", struct.pack(">I", 0), struct.pack(">I", 1000), struct.pack(">I", 0xffffffff))
            delayed = request(self.pick(FLUSH, FLUSHQ), b"", extras)
            return delayed + request(FLUSH)
        key = self.key()
        return request(self.pick(DELETE, DELETEQ), key, unique=self.unique(key), opaque=self.opaque())

    def asking(self):
        what = self.pick(b"sizes", b"reset", b"foo", b"detail", b"detail x", b"detail off", b"conns", b"cachedump",
                         b"cachedump 1 1", b"\x00", b"k" * 250)
        return self.pick(request(NOOP, opaque=self.opaque()), request(VERSION, opaque=self.opaque()),
                         request(STAT, what, opaque=self.opaque()))

    def unknown(self):
        return request(self.pick(0x1f, 0x25, 0x30, 0x3f, 0x50, 0x7f, 0x80, 0xff, LIST), opaque=self.opaque())

    def sasl(self):
        return request(self.pick(AUTHENTICATE, STEP), self.pick(b"PLAIN", b"x", self.key()), b"",
                       self.pick(b"", b"\x00a\x00b", b"y" * 1000))

    def wrong_form(self):
        """A request that has extras, a key or a value that its command does not have."""
        opcode = self.chance.choice(list(FORMS))
        extras = self.pick(0, 0, 1, 3, 4, 8, 20, 21, 24, 255)
        key = self.pick(b"", b"a", b"b", b"k" * 251, b"k" * 1000)
        value = self.pick(b"", b"", b"x", b"\x80" * 30)
        wanted = FORMS[opcode]
        is_flush = opcode in (FLUSH, FLUSHQ) and extras in (0, 4)
        has_form = (extras == (wanted or 0) or is_flush) and bool(key) == (wanted is not None) and len(key) <= 250
        if value and opcode not in WITH_VALUE and has_form | (opcode == STAT and extras == 0 and len(key) <= 250):
            value = b""
        if opcode == STAT and not key:
            key = b"foo"
        return request(opcode, key, bytes(extras), value)

    def wrong_lengths(self):
        opcode = self.pick(*FORMS, 0x30)
        lengths = self.pick((5, 0, 3), (0, 5, 3), (0, 255, 254), (1, 8, 8), (300, 20, 310))
        return request(opcode, b"a", b"", b"x" * 400, lengths=lengths)

    def wrong_magic(self):
        return request(self.pick(NOOP, GET, SET), magic=self.pick(0x81, 0, 0x7f, 0xff, 0x67))

    def large(self):
        """A value above the limit, or one that just fits."""
        key = self.pick(b"a", b"b")
        size = self.pick(1048577, 1048576 - 60, 1048576 - 59, 1048576 - 58, 1100000)
        opcode = self.pick(SET, SETQ, ADD, REPLACE, APPEND, PREPENDQ)
        extras = b"" if opcode in (APPEND, PREPENDQ) else struct.pack(">II", self.flags(), 0)
        return request(opcode, key, extras, b"y" * size, self.unique(key))

    def random(self):
        kinds = ((25, self.reading), (30, self.storing), (10, self.extending), (15, self.counting), (8, self.touching),
                 (8, self.removing), (4, self.asking), (1, self.unknown), (1, self.sasl), (1, self.wrong_form),
                 (0.3, self.wrong_lengths), (0.1, self.wrong_magic), (0.05, self.large),
                 (0.05, lambda: request(self.pick(QUIT, QUITQ))))
        return self.chance.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]()
