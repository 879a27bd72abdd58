"""Tables of the report: all points of a figure, figures whose shape is a table, stores side by side, choices."""

import dataclasses

from . import claims, results
from .results import short


@dataclasses.dataclass
class Table:
    columns: list
    rows: list
    title: str = ""
    notes: list = dataclasses.field(default_factory=list)


def cell(value):
    if value is None:
        return "not counted"
    return short(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def of_experiment(points):
    columns = [("structure", "structure"), ("policy", "policy"), ("domain", "domain"), ("threads", "threads"),
               ("keys", "size"), ("updates, %", "update_percent"), ("workload", "workload"),
               ("ns added to fences", "added_fence_ns"), ("Mops/s", "mops"), ("spread", "spread"),
               ("of the twin", "ratio_to_transient"), ("flushes/op", "flushes_per_op"), ("fences/op", "fences_per_op")]
    return Table([name for name, _ in columns], [[cell(point.get(key)) for _, key in columns] for point in points])


def of_micro(records):
    return Table(["what", "value", "unit", "spread", "repetitions"],
                 [[r["subject"], cell(float(r["value"])), r["unit"], cell(float(r["spread"])), cell(r["repetitions"])]
                  for r in records])


def crossed(points, rows, column, title=""):
    """Points with the fields `rows` down and the field `column` across."""
    across = list(dict.fromkeys(point[column] for point in points if column in point))
    lines = {}
    for point in points:
        if column in point:
            key = tuple(results.in_words(name, point[name]) for name in rows if name in point)
            lines.setdefault(key, {})[point[column]] = point
    units = list(dict.fromkeys(point["unit"] for point in points if "unit" in point))
    return Table([", ".join(rows)] + [str(name) for name in across],
                 [[", ".join(key)] + [cell(float(line[name]["value"])) if name in line else "" for name in across]
                  for key, line in lines.items()],
                 title or (units[0] if len(units) == 1 else ""))


def beside(spec, measured):
    """A table of the side by side section: rows of a micro benchmark, a column for each system."""
    table = Table(["", "unit"] + [system["name"] for system in spec["system"]], [], spec["title"],
                  list(spec.get("notes", [])))
    for row in spec["row"]:
        line = [row["name"], row.get("unit", "")]
        for system in spec["system"]:
            line.append(row.get("said", {}).get(system["name"]) or looked_up(row, system, measured))
        table.rows.append(line)
    return table


def looked_up(row, system, measured):
    """The value of a row for a system; the words of the data file where there is none to measure."""
    if "subject" in row:
        wanted = f"{row['subject']}: {system['series']}"
    elif system["name"] in row.get("subjects", {}):
        wanted = row["subjects"][system["name"]]
    else:
        return row.get("otherwise", "")
    for name in row["from"]:
        for record in measured(name).unread + measured(name).points:
            if record.get("subject") == wanted and record.get("unit") == row["unit"]:
                return cell(float(record["value"]))
    return row.get("otherwise", "not measured")


def choices(spec, measured):
    """The decision table: need, structure, and a number that a claim-like selection finds."""
    table = Table(["you have", "you take", "measured here"], [], notes=list(spec.get("notes", [])))
    for row in spec["row"]:
        numbers = [text for text in (number_of(one, measured) for one in row["number"]) if text]
        table.rows.append([row["need"], row["take"], "; ".join(numbers) or "not measured in this run"])
    return table


def number_of(spec, measured):
    """The median of what is selected, in its words; None if nothing was measured."""
    points = measured(spec["from"]).points
    seen = claims.values_of({"where": spec["where"], **{k: spec[k] for k in ("against", "value") if k in spec}}, points)
    if not seen:
        return None
    value = seen[len(seen) // 2][0] * spec.get("times", 1)
    return spec["words"].format(short(value))


def as_markdown(table):
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    lines += ["| " + " | ".join(str(value).replace("|", "\\|") for value in row) + " |" for row in table.rows]
    return "\n".join(lines)


def patterns_of(figure):
    return figure.get("pattern", [])


