"""Points of figures: what `outlast bench --json` said, one file for each figure.

A point is a dictionary of fields. Experiments give theirs by name (structure, policy, threads, ...). Micro
benchmarks give a sentence, which a figure's patterns take apart: named groups become fields.
"""

import dataclasses
import json
import pathlib
import re
import tomllib

# What may tell two points of an experiment apart.
AXES = ("structure", "policy", "domain", "threads", "size", "update_percent", "workload", "added_fence_ns")
# Fields that are no axes: values, and how they were measured.
VALUES = {"mops", "value", "ratio_to_transient", "flushes_per_op", "fences_per_op", "spread", "ratio_spread",
          "repetitions", "seconds", "quick", "commit", "build", "machine", "figure", "micro", "subject",
          "wanted_at_least", "wanted_at_most", "twin_on_media", "unit"}


@dataclasses.dataclass
class Measured:
    """The results of one figure: points, and how they came about."""

    points: list
    unread: list  # lines of micro benchmarks that no pattern fits
    about: dict  # machine, build, commit, quick, took_s; empty if nothing was measured

    @property
    def domains(self):
        return sorted({point["domain"] for point in self.points if point.get("domain")})


def number(text):
    """A field as a number where it is one: "1,024", "64 K" stay words, "64" and "0.5" do not."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def short(value):
    """Three digits, as a reader wants them."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:.3g}"


def in_words(key, value):
    """A field as a reader wants it: "2 threads", "1,024 bytes"; its value alone where that says enough."""
    if key == "threads":
        return f"{value} thread" + ("" if value == 1 else "s")
    if key in ("size", "keys", "bytes", "records", "edges"):
        return f"{value:,} " + ("keys" if key == "size" else key)
    if key in ("update_percent", "updates"):
        return f"{value:g} % updates"
    if key == "added_fence_ns":
        return f"+{value} ns a fence" if value else ""
    if key == "epoch_ms":
        return f"epochs of {value} ms"
    if key == "workload":
        return "" if value == "uniform" else str(value)
    return str(value)


def fields_of(record, patterns):
    """The point that a record of a micro benchmark is, or None: no pattern fits."""
    for pattern in patterns:
        if "unit" in pattern and pattern["unit"] != record["unit"]:
            continue
        found = re.fullmatch(pattern["subject"], record["subject"])
        if found is None:
            continue
        fields = {name: number(text) for name, text in found.groupdict().items() if text is not None}
        value = record["value"] * pattern.get("times", 1)
        unit = pattern.get("as_unit", record["unit"])
        return {**record, "value": value, "unit": unit, **pattern.get("fields", {}), **fields}
    return None


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def measured_from(records, patterns):
    """Points of a figure. `records` may begin with a line about the run, as tools/measure writes it."""
    about, points, unread = {}, [], []
    for record in records:
        if "run" in record:
            about.update(record["run"])
            continue
        for key in ("machine", "build", "commit"):
            about.setdefault(key, record.get(key, "unknown"))
        if "micro" not in record:
            about.setdefault("quick", record.get("quick", False))
            points.append({"added_fence_ns": 0, "twin_on_media": False, **record})
            continue
        point = fields_of(record, patterns)
        if point is None:
            unread.append(record)
        else:
            points.append(point)
    return Measured(points, unread, about)


def load(path, patterns):
    if not pathlib.Path(path).is_file():
        return Measured([], [], {})
    return measured_from(read_lines(path), patterns)


def is_point(record, patterns):
    """Whether a record of an earlier report is a point. Values of points have the units that the report shows."""
    return "micro" not in record or any(re.fullmatch(pattern["subject"], record["subject"]) for pattern in patterns)


def of_report(figure, patterns):
    """What an earlier report has of a figure. `figure`: as in figures.json."""
    about, points, unread = figure["about"], [], []
    of_run = {key: about[key] for key in ("machine", "build", "commit") if key in about}
    for record in figure["points"]:
        (points if is_point(record, patterns) else unread).append({**record, **of_run})
    return Measured(points, unread, about)


def file_of(figure):
    """flit/fig07 -> flit-fig07.jsonl"""
    return figure.replace("/", "-") + ".jsonl"


def experiment_of(experiments, figure):
    """The experiment's file in bench/figures, in whatever room it lies; None: there is none."""
    paper, _, name = figure.partition("/")
    paths = (pathlib.Path(experiments) / paper / room / (name + ".toml") for room in ("", "large", "scaling"))
    return next((path for path in paths if path.is_file()), None)


def load_papers(folder):
    """The data files of the report, in the order of their `order`."""
    papers = []
    for path in sorted(pathlib.Path(folder).glob("*.toml")):
        with open(path, "rb") as file:
            papers.append(tomllib.load(file))
    return sorted(papers, key=lambda paper: paper["order"])
