"""Expected results of calls: types and values, and the difference of one from a result."""


class Expectation:
    """A result that is not one value. `differs` returns a text if the result is another one."""

    def __init__(self, text, holds):
        self.text, self.holds = text, holds

    def differs(self, got, _protocol):
        return "" if self.holds(got) else f"{got!r} is not {self.text}"


class both:
    """Results that depend on the protocol."""

    def __init__(self, resp2, resp3):
        self.of = {2: resp2, 3: resp3}

    def differs(self, got, protocol):
        return difference(self.of[protocol], got, protocol)


class fails:
    """An error whose text begins with, or contains, a text."""

    def __init__(self, text):
        self.text = text


def kind(*types):
    """Any value of these types."""
    return Expectation(f"of {types}", lambda got: type(got) in types)


def one_of(*values):
    return Expectation(f"one of {values}", lambda got: any(not difference(each, got, 0) for each in values))


def unordered(values):
    """A list or a set with these values in any order."""
    return Expectation(f"{values} in any order",
                       lambda got: isinstance(got, (list, set)) and sorted(got) == sorted(values))


def between(low, high):
    return Expectation(f"an integer between {low} and {high}", lambda got: type(got) is int and low <= got <= high)


def some_of(count, values):
    """A list of so many of these values, each of them once."""
    return Expectation(f"{count} of {values}",
                       lambda got: isinstance(got, list) and len(set(got)) == len(got) == count and set(got) <= set(values))


def having(**members):
    """A dictionary with at least these members."""
    return Expectation(f"a dictionary with {members}",
                       lambda got: isinstance(got, dict) and all(
                           name in got and not difference(wanted, got[name], 0) for name, wanted in members.items()))


def holds(text, predicate):
    return Expectation(text, predicate)


def difference(wanted, got, protocol):
    """Returns an empty text, or what differs. True is not 1, and a tuple is no list."""
    if hasattr(wanted, "differs"):
        return wanted.differs(got, protocol)
    if type(wanted) is not type(got):
        return f"{got!r} is {type(got).__name__}, not {wanted!r}"
    if isinstance(wanted, (list, tuple)):
        if len(wanted) != len(got):
            return f"{got!r} is not {wanted!r}"
        return next(filter(None, (difference(one, other, protocol) for one, other in zip(wanted, got))), "")
    if isinstance(wanted, dict):
        if set(wanted) != set(got):
            return f"{got!r} is not {wanted!r}"
        return next(filter(None, (difference(each, got[name], protocol) for name, each in wanted.items())), "")
    return "" if wanted == got else f"{got!r} is not {wanted!r}"
