"""Random commands of hashes, sorted sets, sets and lists, and the comparison of their replies, for resp_differential.

Not compared byte by byte:
  * HGETALL, HKEYS, HVALS, SMEMBERS, SINTER, SUNION, SDIFF, SPOP, HSCAN, SSCAN, ZSCAN: the elements are sorted (fields
    with their values), for Redis leaves their order open. A scan with a COUNT other than 1000: the type. The scores of ZSCAN are compared as numbers: Redis
    has another text for integers in small sorted sets.
  * HRANDFIELD, SRANDMEMBER, ZRANDMEMBER: the type and the number of elements; with a count of 1000, all elements
Not sent: COMMAND GETKEYS with a number of keys that Redis reads with atoi(), a SPOP that leaves members, counts that make Redis send more than 1,000 elements, cursors other than 0,
the pattern `**` (for us it matches the empty text), members of more than 64 bytes (Redis then has another sorted set, in which a
score can be -0, and ranges of members with different scores are other ones),
ZRANK and ZREVRANK with WITHSCORE (Redis 7.2), LPOS with a rank of -2^63 (accepted by Redis 7.0 only).
"""

# Letters: H, Z, S, L keys that are mostly of a hash, sorted set, set, list; F field, m member, s score, r end of a range of scores,
# X end of a range of members, c count, and those of resp_differential.
TEMPLATES = """
HSET H F v|HSET H F v F v|HSET H F i|HSET H F f|HSET H F v F|HSETNX H F v|HMSET H F v F v|HGET H F|HMGET H F F F|HGETALL H|HKEYS H|HVALS H|HLEN H
HEXISTS H F|HDEL H F|HDEL H F F F|HINCRBY H F i|HINCRBY H F i|HINCRBYFLOAT H F f|HINCRBYFLOAT H F f|HSTRLEN H F|HSCAN H 0 COUNT 1000
HSCAN H 0 MATCH p COUNT 1000|HSCAN H v|HSCAN H 0 COUNT i|HSCAN H 0 v|HRANDFIELD H|HRANDFIELD H c|HRANDFIELD H c WITHVALUES|HRANDFIELD H 1000
HRANDFIELD H 1000 WITHVALUES|HRANDFIELD H i WITHVALUES|HRANDFIELD H c v|HRANDFIELD H c WITHVALUES v
ZADD Z s m|ZADD Z s m s m|ZADD Z s m s m s m|ZADD Z s m s m s m|ZADD Z A s m|ZADD Z A s m s m|ZADD Z A A s m|ZADD Z A A s m s m|ZADD Z A A A s m|ZADD Z s m s
ZADD Z 0 m 0 m 0 m|ZADD Z 0 m 0 m|ZADD Z f m|ZREM Z m|ZREM Z m m m|ZSCORE Z m|ZMSCORE Z m m m|ZINCRBY Z s m|ZINCRBY Z f m|ZCARD Z|ZCOUNT Z r r|ZCOUNT Z r r|ZLEXCOUNT Z X X
ZRANK Z m|ZREVRANK Z m|ZRANK Z m v|ZRANGE Z c c|ZRANGE Z c c WITHSCORES|ZRANGE Z c c REV|ZRANGE Z c c REV WITHSCORES|ZRANGE Z i i
ZRANGE Z r r BYSCORE|ZRANGE Z r r BYSCORE WITHSCORES|ZRANGE Z r r BYSCORE LIMIT c c|ZRANGE Z r r BYSCORE REV|ZRANGE Z r r REV BYSCORE WITHSCORES LIMIT c c
ZRANGE Z X X BYLEX|ZRANGE Z X X BYLEX LIMIT c c|ZRANGE Z X X BYLEX REV|ZRANGE Z X X BYLEX REV LIMIT c c|ZRANGE Z X X BYLEX WITHSCORES
ZRANGE Z c c LIMIT c c|ZRANGE Z c c O|ZRANGE Z c c O O|ZRANGE Z r r BYSCORE O|ZRANGESTORE Z Z c c|ZRANGESTORE Z Z c c REV|ZRANGESTORE Z Z r r BYSCORE LIMIT c c
ZRANGESTORE Z Z X X BYLEX|ZRANGESTORE k Z c c|ZRANGESTORE Z Z c c O|ZREVRANGE Z c c|ZREVRANGE Z c c WITHSCORES|ZREVRANGE Z c c O|ZRANGEBYSCORE Z r r
ZRANGEBYSCORE Z r r WITHSCORES|ZRANGEBYSCORE Z r r LIMIT c c|ZRANGEBYSCORE Z r r WITHSCORES LIMIT i i|ZRANGEBYSCORE Z r r O|ZREVRANGEBYSCORE Z r r
ZREVRANGEBYSCORE Z r r WITHSCORES LIMIT c c|ZRANGEBYLEX Z X X|ZRANGEBYLEX Z X X LIMIT c c|ZREVRANGEBYLEX Z X X|ZREVRANGEBYLEX Z X X LIMIT c c|ZRANGEBYLEX Z X X O
ZREMRANGEBYRANK Z c c|ZREMRANGEBYSCORE Z r r|ZREMRANGEBYLEX Z X X|ZREMRANGEBYRANK Z i i|ZPOPMIN Z|ZPOPMIN Z c|ZPOPMAX Z|ZPOPMAX Z c|ZPOPMIN Z i|ZPOPMAX Z c v
ZMPOP 1 Z MIN|ZMPOP 2 Z Z MAX|ZMPOP 2 Z Z MIN COUNT c|ZMPOP c Z MIN|ZMPOP 1 Z v|ZMPOP 2 Z Z MAX COUNT|ZMPOP 1 Z MIN COUNT i|ZMPOP 1 Z MIN COUNT 1 COUNT 1
ZRANDMEMBER Z|ZRANDMEMBER Z c|ZRANDMEMBER Z c WITHSCORES|ZRANDMEMBER Z 1000 WITHSCORES|ZRANDMEMBER Z i WITHSCORES|ZSCAN Z 0 COUNT 1000
ZSCAN Z 0 MATCH p COUNT 1000|ZSCAN Z 0 v|ZUNION 2 Z Z|ZUNION 2 Z Z WITHSCORES|ZUNION 3 Z Z S WEIGHTS s s s WITHSCORES|ZUNION 2 Z Z AGGREGATE G WITHSCORES
ZUNION 2 Z Z WEIGHTS s s AGGREGATE G WITHSCORES|ZUNION c Z Z|ZUNION 2 Z Z WEIGHTS f|ZUNION 2 Z Z WEIGHTS f f v|ZUNION i Z|ZINTER 2 Z Z|ZINTER 2 Z Z WITHSCORES|ZINTER 2 Z S WITHSCORES
ZINTER 3 Z Z Z WEIGHTS s s s AGGREGATE G WITHSCORES|ZINTER c Z Z v|ZDIFF 2 Z Z|ZDIFF 2 Z Z WITHSCORES|ZDIFF 2 S Z WITHSCORES|ZDIFF 3 Z Z Z|ZDIFF c Z Z
ZDIFF 2 Z Z WEIGHTS 1 1|ZUNIONSTORE Z 2 Z Z|ZUNIONSTORE Z 2 Z Z WEIGHTS s s|ZUNIONSTORE Z 2 Z Z AGGREGATE G|ZUNIONSTORE k 2 Z S|ZUNIONSTORE Z 2 Z Z WITHSCORES
ZINTERSTORE Z 2 Z Z|ZINTERSTORE Z 2 Z Z WEIGHTS s s AGGREGATE G|ZINTERSTORE k 2 Z S|ZINTERSTORE Z c Z Z|ZDIFFSTORE Z 2 Z Z|ZDIFFSTORE k c Z Z|ZINTERCARD 2 Z Z
ZINTERCARD 2 Z Z LIMIT c|ZINTERCARD c Z Z LIMIT i|ZINTERCARD 2 Z S LIMIT|ZINTERCARD 1 Z
SADD S m|SADD S m m m|SADD S m m m m|SADD S i|SREM S m|SREM S m m m|SISMEMBER S m|SMISMEMBER S m m m|SMEMBERS S|SCARD S|SPOP S 1000|SPOP S 0|SPOP S -1|SPOP S v|SPOP S 1 1
SPOP S 9223372036854775807|SRANDMEMBER S|SRANDMEMBER S c|SRANDMEMBER S 1000|SRANDMEMBER S i|SRANDMEMBER S c c|SMOVE S S m|SMOVE S S m|SMOVE k S m|SMOVE S k m
SINTER S S|SINTER S S S|SINTER S|SUNION S S|SUNION S S S|SDIFF S S|SDIFF S S S|SINTERSTORE S S S|SUNIONSTORE S S S|SDIFFSTORE S S S|SINTERSTORE k S|SUNIONSTORE k S S
SDIFFSTORE k S S|SINTERCARD 2 S S|SINTERCARD 2 S S LIMIT c|SINTERCARD c S S LIMIT i|SINTERCARD c S S v|SINTERCARD 2 S S LIMIT|SSCAN S 0 COUNT 1000
SSCAN S 0 MATCH p COUNT 1000|SSCAN S 0 v|SSCAN S v
LPUSH L v|LPUSH L m m|LPUSH L m m m|RPUSH L v|RPUSH L m m|RPUSH L m m m m|LPUSHX L m|RPUSHX L m m|LPOP L|LPOP L c|RPOP L|RPOP L c|LPOP L i|RPOP L c c|LMPOP 1 L LEFT
LMPOP 2 L L RIGHT|LMPOP 2 L L LEFT COUNT c|LMPOP c L LEFT|LMPOP 1 L v|LMPOP 1 L LEFT COUNT i|LMPOP 1 L LEFT COUNT 1 v|LLEN L|LRANGE L c c|LRANGE L c c|LRANGE L 0 -1|LRANGE L i i
LINDEX L c|LINDEX L i|LSET L c m|LSET L c m|LSET L i v|LINSERT L BEFORE m m|LINSERT L AFTER m m|LINSERT L BEFORE m v|LINSERT L AFTER m v|LINSERT L v m v|LREM L c m
LREM L 0 m|LREM L i m|LREM L c v|LTRIM L c c|LTRIM L 0 -2|LTRIM L i i|LPOS L m|LPOS L m RANK c|LPOS L m COUNT c|LPOS L m COUNT 0|LPOS L m RANK c COUNT c MAXLEN c|LPOS L m MAXLEN c
LPOS L m RANK i|LPOS L m COUNT i|LPOS L m MAXLEN i|LPOS L m v c|LMOVE L L D D|LMOVE L L D D|LMOVE L k D D|LMOVE k L D v|RPOPLPUSH L L|RPOPLPUSH L k|RPOPLPUSH k L
TYPE k|SCAN 0 COUNT 100000 TYPE T|SCAN 0 COUNT 100000 TYPE T|RENAME k k|COPY k k REPLACE|EXPIRE k t|PERSIST k|GET k|SET k v GET|GETSET k v|GETDEL k|STRLEN k|APPEND k v|MGET k k k|DEL k|OBJECT ENCODING k
COMMAND GETKEYS ZUNIONSTORE k c k k|COMMAND GETKEYS ZUNION c k k|COMMAND GETKEYS LMPOP c k k LEFT|COMMAND GETKEYS SINTERSTORE k k k|COMMAND GETKEYS ZRANGESTORE k k 0 1|COMMAND GETKEYS ZMPOP i k MIN
EXEC|MULTI
"""
TEMPLATES = [each.split() for line in TEMPLATES.strip().split("\n") for each in line.split("|")]
LETTERS = "HZSLFmsrXcAOGDT"
TYPED_KEYS = {"H": [b"h1", b"h2"], "Z": [b"z1", b"z2", b"z3"], "S": [b"s1", b"s2", b"s3"], "L": [b"l1", b"l2"]}
ALL_TYPED_KEYS = [key for keys in TYPED_KEYS.values() for key in keys]
LISTS = {
    "F": [b"f", b"g", b"field", b"1", b"", b"\x00\xff\r\n", b"long" * 20, b"F", b"two words"],
    "m": [b"a", b"b", b"c", b"d", b"e", b"f", b"1", b"2", b"10", b"-5", b"", b"\x00", b"\xff\r\n", b"aa", b"ab", b"A", b"9223372036854775807", b"long" * 10],
    "s": [b"0", b"1", b"2", b"-1", b"0.5", b"-0.5", b"3", b"1.5", b"10", b"0.1", b"inf", b"-inf", b"1e3", b"-0", b"100000000000000000000", b"1e300",
          b"-1e300", b"5e-324", b"17179869184.25"],
    "r": [b"0", b"1", b"2", b"-1", b"(0", b"(1", b"(-1", b"(2", b"0.5", b"(0.5", b"inf", b"-inf", b"+inf", b"(inf", b"(-inf", b"10", b"1e3", b"nan", b"x", b"", b"(",
          b" 1", b"1 ", b"((1", b"1e400", b"-0", b"(-0", b"1\x00x", b"0x2"],
    "X": [b"-", b"+", b"[a", b"(a", b"[b", b"(b", b"[c", b"[", b"(", b"[aa", b"(ab", b"[\xff", b"[1", b"(10", b"a", b"", b"--", b"+a", b"[f", b"(A"],
    "c": [b"0", b"1", b"2", b"3", b"-1", b"-2", b"-3", b"5", b"-100", b"100"],
    "A": [b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR", b"nx", b"xx", b"gt", b"lt", b"ch", b"incr"],
    "O": [b"REV", b"BYSCORE", b"BYLEX", b"WITHSCORES", b"LIMIT", b"rev", b"withscores", b"zz"],
    "G": [b"SUM", b"MIN", b"MAX", b"sum", b"min", b"max", b"avg"],
    "D": [b"LEFT", b"RIGHT", b"left", b"right"],
    "T": [b"string", b"hash", b"list", b"set", b"zset", b"ZSET", b"stream", b""],
}
PAIRS = (b"hgetall", b"hscan", b"zscan")
UNORDERED = (b"hkeys", b"hvals", b"smembers", b"sinter", b"sunion", b"sdiff", b"spop", b"sscan")
COUNTED = {b"zunionstore": 2, b"zunion": 1, b"lmpop": 1, b"zmpop": 1}
RANDOM = (b"hrandfield", b"srandmember", b"zrandmember")


def random_word(generator, letter):
    if letter in TYPED_KEYS:
        return generator.choice(TYPED_KEYS[letter] if generator.random() < 0.94 else ALL_TYPED_KEYS + [b"a", b"b"])
    if letter == "m" and generator.random() < 0.7:
        return generator.choice(LISTS["m"][:9])
    return generator.choice(LISTS[letter])


def is_integer(word):
    return word.lstrip(b"-").isdigit() and -2**63 <= int(word) < 2**63 and b"%d" % int(word) == word


def is_sent(words):
    """Leaves out what would make the two differ by intent, or take memory or time."""
    name = words[0].lower()
    if name in RANDOM and len(words) > 2 and is_integer(words[2]):
        return -1000 <= int(words[2]) or words[2] == b"-9223372036854775808"
    if name == b"spop":
        if len(words) == 2:
            return False
        return not is_integer(words[2]) or int(words[2]) <= 0 or int(words[2]) >= 1000 or len(words) > 3
    if name in (b"hscan", b"sscan", b"zscan") and len(words) > 2 and words[2] != b"0":
        return not words[2].lstrip(b"+- ")[:1].isdigit() and b"\x00" not in words[2]
    if name in (b"zadd", b"zincrby", b"sadd") and max(map(len, words)) > 64:
        return False
    if name in (b"hscan", b"sscan", b"zscan") and b"**" in words:
        return False
    if name in (b"zrank", b"zrevrank"):
        return len(words) < 4
    if name == b"command" and len(words) > 3 and words[2].lower() in COUNTED:
        at = COUNTED[words[2].lower()]
        return len(words) <= 2 + at or is_integer(words[2 + at])
    if name == b"lpos":
        return b"-9223372036854775808" not in words
    return True


def pairs_of(values, has_numbers):
    found = list(zip(values[::2], values[1::2]))
    if has_numbers:
        found = [(name, float(number[1])) for name, number in found]
    return sorted(found)


def same(words, one, other):
    """Returns whether both replies are right, or None for a command of another group."""
    name = words[0].lower()
    if name not in PAIRS + UNORDERED + RANDOM:
        return None
    if one[0] != other[0] or not isinstance(one[1], list) or not isinstance(other[1], list):
        return one == other or (name in RANDOM and one[0] == other[0] == b"$" and None not in (one[1], other[1]))
    if len(one[1]) != len(other[1]):
        return False
    if name in RANDOM:
        if b"1000" not in words or one[1] and isinstance(one[1][0][1], list):
            return b"1000" not in words or sorted(one[1]) == sorted(other[1])
        return pairs_of(one[1], False) == pairs_of(other[1], False) if len(words) > 3 else sorted(one[1]) == sorted(other[1])
    first, second = one[1], other[1]
    if name.endswith(b"scan"):
        if b"1000" not in words:
            return True
        if first[0] != second[0]:
            return False
        first, second = first[1][1], second[1][1]
    if len(first) != len(second):
        return False
    if name in PAIRS:
        return pairs_of(first, name == b"zscan") == pairs_of(second, name == b"zscan")
    return sorted(first) == sorted(second)
