"""Claims of papers, and goals of ours, held against measured points.

A claim is a table:
  says        the claim, in a sentence
  where       the points that it is about: field = value, a list of values, "max" or "min" of what was measured
  against     fields that a point's partner has in place of its own; all others are equal. Without it the value itself
              is judged
  value       what is compared: "mops" of experiments, "value" of micro benchmarks, unless it says another
  at_least, at_most   bounds of the value, or of the ratio to the partner
  judge       "all" points (which it does unless told), the "median" or "any"
  ratio_of    words for what the ratio is
  why_not     why not, where it does not hold
"""

import dataclasses
import statistics

from . import results
from .results import short

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measured"
KNOWN = {"says", "where", "against", "value", "at_least", "at_most", "judge", "ratio_of", "why_not"}


class Malformed(Exception):
    """A claim that says what no claim can say."""


@dataclasses.dataclass
class Verdict:
    claim: dict
    status: str
    seen: list  # (value or ratio, point), ascending
    text: str

    @property
    def why_not(self):
        return self.claim.get("why_not", "") if self.status == FAILS else ""


def fits(wanted, actual):
    return actual in wanted if isinstance(wanted, list) else actual == wanted


def selected(points, where):
    """The points that have these fields. Extremes are those of the points that fit all the rest."""
    extremes = {key: value for key, value in where.items() if value in ("max", "min")}
    rest = {key: value for key, value in where.items() if key not in extremes}
    found = [point for point in points if all(fits(value, point.get(key)) for key, value in rest.items())]
    for key, which in extremes.items():
        values = [point[key] for point in found if isinstance(point.get(key), (int, float))]
        if not values:
            return []
        bound = max(values) if which == "max" else min(values)
        found = [point for point in found if point.get(key) == bound]
    return found


def axes_of(point):
    keys = results.AXES if "micro" not in point else [key for key in point if key not in results.VALUES]
    return {key: point[key] for key in keys if key in point}


def partner(point, against, points):
    """The point of the same unit that differs from `point` in these fields alone; None if it was not measured."""
    unit = {"unit": point["unit"]} if "unit" in point else {}
    wanted = {**axes_of(point), **unit, **against}
    found = selected([other for other in points if other is not point], wanted)
    return found[0] if found else None


def default_value(points):
    return "mops" if points and "mops" in points[0] else "value"


def ratio(point, other, key):
    if point.get(key) is None or other.get(key) is None or other[key] == 0:
        return None
    return point[key] / other[key]


def values_of(claim, points):
    """(value or ratio, point) for each point that the claim is about."""
    key = claim.get("value", default_value(points))
    seen = []
    for point in selected(points, claim["where"]):
        if "against" not in claim:
            if point.get(key) is not None:
                seen.append((point[key], point))
            continue
        other = partner(point, claim["against"], points)
        found = None if other is None else ratio(point, other, key)
        if found is not None:
            seen.append((found, point))
    return sorted(seen, key=lambda each: each[0])


def reached(claim, value):
    return claim.get("at_least", value) <= value <= claim.get("at_most", value)


def is_true(claim, values):
    how = claim.get("judge", "all")
    if how == "median":
        return reached(claim, statistics.median(values))
    return {"all": all, "any": any}[how](reached(claim, value) for value in values)


def bound_of(claim):
    parts = [f"{words} {short(claim[key])}" for key, words in (("at_least", "at least"), ("at_most", "at most"))
             if key in claim]
    return " and ".join(parts)


def name_of_point(point):
    """The axes of a point that are worth saying, in words."""
    words_of = [results.in_words(key, value) for key, value in axes_of(point).items() if key != "domain"]
    return ", ".join(word for word in words_of if word)


def describe(claim, seen, unit):
    values = [value for value, _ in seen]
    what = claim.get("ratio_of", "the ratio" if "against" in claim else "the value")
    unit = "" if "against" in claim or not unit else " " + unit
    if len(values) == 1:
        return f"{what}: {short(values[0])}{unit} ({name_of_point(seen[0][1])})"
    text = (f"{what}: {short(values[0])} to {short(values[-1])}{unit}, median {short(statistics.median(values))}, "
            f"at {len(values)} points")
    misses = [each for each in seen if not reached(claim, each[0])]
    if misses:
        worst = misses[0] if "at_least" in claim and misses[0][0] < claim["at_least"] else misses[-1]
        text += f"; beyond the bound at {len(misses)}, furthest {short(worst[0])} ({name_of_point(worst[1])})"
    return text


def judge(claim, points):
    """What the points say to a claim."""
    unknown = set(claim) - KNOWN
    if unknown or not {"says", "where"} <= set(claim) or not {"at_least", "at_most"} & set(claim):
        raise Malformed(f"claim {claim.get('says', '?')!r}: needs says, where and a bound; unknown: {sorted(unknown)}")
    seen = values_of(claim, points)
    if not seen:
        return Verdict(claim, UNKNOWN, [], "no such points in this run: " + missing(claim, points))
    unit = seen[0][1].get("unit", "") if "value" not in claim else ""
    status = HOLDS if is_true(claim, [value for value, _ in seen]) else FAILS
    return Verdict(claim, status, seen, describe(claim, seen, unit))


def missing(claim, points):
    """Which part of a claim has no points, in words."""
    if not points:
        return "nothing was measured"
    if not selected(points, claim["where"]):
        return "none with " + words(claim["where"])
    if "against" in claim:
        return "none to compare with, " + words(claim["against"])
    return "nobody counted"


def words(fields):
    return ", ".join(f"{key} = {value}" for key, value in fields.items())


def goals_of_experiment(experiment):
    """[[goal]] tables of bench/figures as claims."""
    for goal in experiment.get("goal", []):
        where = {"policy": goal["policies"], "domain": goal["domain"]}
        where.update({key: goal[key] for key in ("structure", "size", "update_percent", "threads") if key in goal})
        claim = {"says": words({key: value for key, value in goal.items() if key not in ("at_least", "against")}),
                 "where": where, "at_least": goal["at_least"]}
        if "against" in goal:
            yield {**claim, "against": {"policy": goal["against"]}, "ratio_of": f"to {goal['against']}"}
        else:
            yield {**claim, "value": "ratio_to_transient", "ratio_of": "to the transient twin"}


def goals_of_micros(records):
    """Goals that records of micro benchmarks carry: (record, bound in words, whether it is reached)."""
    for record in records:
        least, most = record.get("wanted_at_least"), record.get("wanted_at_most")
        if least is not None:
            yield record, f"at least {short(least)}", record["value"] >= least
        elif most is not None:
            yield record, f"at most {short(most)}", record["value"] <= most
