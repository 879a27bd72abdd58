"""Plots as SVG: one panel for each structure, size and workload, series as lines or bars.

Colours are Okabe and Ito's, which colour-blind readers tell apart; markers, dashes and order repeat what they say.
Below each plot stands where it was measured, and what was emulated.
"""

import dataclasses
import io
import re
import textwrap

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text: half the bytes
matplotlib.rcParams["svg.hashsalt"] = "outlast"  # the same figures make the same files
matplotlib.rcParams["font.family"] = ["DejaVu Sans", "sans-serif"]
import matplotlib.pyplot as plt  # noqa: E402  (after the choice of the backend)
from matplotlib import ticker  # noqa: E402

from . import results  # noqa: E402


COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999999", "#F0E442"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
TWIN = "transient"
LINE_OF_NOTE = 0.1  # inches
# What may vary along x, in order of preference, and how the axis is called.
X_AXES = {
    "threads": "threads",
    "added_fence_ns": "ns added to each fence (emulated media)",
    "update_percent": "updates, %",
    "size": "keys",
}
VALUES = {
    "mops": "million operations per second",
    "flushes_per_op": "flushes per operation",
    "fences_per_op": "fences per operation",
    "ratio_to_transient": "of the transient twin",
}
UNITS = {
    "Mops/s": "million operations per second",
    "Kops/s": "thousand operations per second",
    "s": "seconds",
    "us": "microseconds",
    "M nodes/s": "million nodes per second",
}
MOST_PANELS = 24


@dataclasses.dataclass
class Plot:
    """What is drawn: `x` is a field, or None where series stand side by side as bars."""

    title: str
    points: list
    x: str | None
    x_label: str
    value: str
    value_label: str
    panels: dict  # name -> points
    log_x: bool = False
    log_y: bool = False
    note: str = ""


def distinct(points, key):
    return list(dict.fromkeys(point[key] for point in points))


def label(point):
    """The series of an experiment's point."""
    if point["policy"] == TWIN:
        return TWIN
    replicas = ", both replicas in files" if point["twin_on_media"] and point["policy"].startswith("mirror") else ""
    return f"{point['policy']} on {point['domain']}{replicas}"


def axis_of(points):
    """What varies along x: the first that has several values in some structure. Several sizes of a structure are
    panels where something else varies too."""
    structures = [[p for p in points if p["structure"] == name] for name in distinct(points, "structure")]
    for key in X_AXES:
        if any(len(distinct(some, key)) > 1 for some in structures):
            return key
    return None


def name_of_panel(point, axis):
    name = [point["structure"]]
    if axis != "size":
        name.append(f"{point['size']:,} keys")
    if axis != "threads":
        name.append(f"{point['threads']} thread" + ("s" if point["threads"] > 1 else ""))
    if axis != "update_percent":
        name.append(f"{point['update_percent']:g} % updates")
    if axis != "added_fence_ns" and point["added_fence_ns"] > 0:
        name.append(f"+{point['added_fence_ns']} ns per fence (emulated)")
    if point["workload"] != "uniform":
        name.append(point["workload"])
    return ", ".join(name)


def grouped(points, name_of):
    panels = {}
    for point in points:
        panels.setdefault(name_of(point), []).append(point)
    return panels


def of_experiment(title, points, value, note=""):
    """The plot of an experiment's points: what varies is seen from them."""
    shown = [{**point, "series": label(point)} for point in points if point.get(value) is not None]
    axis = axis_of(shown) if shown else None
    panels = grouped(shown, lambda point: name_of_panel(point, axis))
    return Plot(title, shown, axis, X_AXES.get(axis, ""), value, VALUES[value], panels, log_x=axis == "size", note=note)


def of_micro(title, points, spec, note=""):
    """The plot of a micro benchmark's points, as a [[figure.plot]] table wants it."""
    shown = [point for point in points if "series" in point]
    keys = spec.get("panel", [])
    panels = grouped(shown, lambda point: ", ".join(results.in_words(key, point[key]) for key in keys if key in point))
    unit = UNITS.get(shown[0]["unit"], shown[0]["unit"]) if shown else ""
    return Plot(title, shown, spec.get("x"), spec.get("x_label", spec.get("x", "")), "value",
                spec.get("value_label", unit), panels, spec.get("log_x", False), spec.get("log_y", False), note)


def short(keys):
    """1,000,000 as 1 M; 65,536 as it is."""
    for unit, name in ((1_000_000, " M"), (1_000, " K")):
        if keys >= unit and keys % unit == 0:
            return f"{keys // unit:g}{name}"
    return f"{keys:,g}" if keys < 100_000 else f"{keys:,}"


def spread(plot, point):
    """Half the distance of the quartiles; of a count nothing."""
    return point[plot.value] * point.get("spread", 0) / 2 if plot.value in ("mops", "value") else 0


def bars_of(plot, points):
    """Error bars, down to zero at most."""
    up = [spread(plot, point) for point in points]
    return [[min(each, 0.99 * point[plot.value]) for each, point in zip(up, points)], up]


def draw_lines(axes, points, plot, style):
    for name in distinct(points, "series"):
        line = sorted((p for p in points if p["series"] == name), key=lambda p: p[plot.x])
        colour, marker, dashes = style[name]
        axes.errorbar([p[plot.x] for p in line], [p[plot.value] for p in line], yerr=bars_of(plot, line),
                      capsize=2, label=name, color=colour, marker=marker, markersize=4, linewidth=1.2, linestyle=dashes)
    axes.set_xlabel(plot.x_label, fontsize=7)
    ticks = sorted(distinct(points, plot.x))
    if plot.log_x:
        axes.set_xscale("log")
        axes.minorticks_off()
    crowded = len(ticks) > (4 if plot.log_x else 5)
    axes.set_xticks(ticks, [short(tick) for tick in ticks], rotation=45 if crowded else 0)
    if plot.log_y:
        axes.set_yscale("log")
        plain_decades(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(plot.value_label + (" (log.)" if plot.log_y else ""), fontsize=7)
    axes.grid(axis="y", linewidth=0.3, color="#cccccc")


def draw_bars(axes, points, plot, style):
    """Bars from zero, or dots where the axis is logarithmic and has no zero."""
    shown = [p for p in points if p["series"] != TWIN]
    for place, point in enumerate(shown):
        height = point[plot.value]
        colour = style[point["series"]][0] if len(plot.panels) > 1 else COLOURS[0]
        if plot.log_y:
            axes.errorbar(height, place, xerr=bars_of(plot, [point]), capsize=2, marker="o", color=colour)
        else:
            axes.barh(place, height, xerr=bars_of(plot, [point]), capsize=2, color=colour, height=0.7)
        axes.annotate(results.short(height), (height + spread(plot, point), place), (4, 0), va="center", fontsize=6,
                      textcoords="offset points", bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    axes.set_yticks(range(len(shown)), [p["series"] for p in shown], fontsize=6)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.margins(x=0.18)
    axes.set_xlabel(plot.value_label + (" (logarithmic)" if plot.log_y else ""), fontsize=7)
    if plot.log_y:
        axes.set_xscale("log")
        plain_decades(axes.xaxis)
        axes.grid(axis="both", linewidth=0.3, color="#cccccc")
    for point in points:
        if point["series"] == TWIN and plot.value in ("mops", "value"):
            axes.axvline(point[plot.value], linestyle=":", color="black")
            axes.text(point[plot.value], -0.65, TWIN, ha="center", va="bottom", fontsize=6)


def plain_decades(axis):
    """0.1, 1, 1,000 in the place of powers of ten, and what lies between where there are few of them."""
    low, high = axis.get_view_interval()
    if high / low < 50:
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def styles(names):
    style = {name: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], "-" if i < len(COLOURS) else "--")
             for i, name in enumerate(name for name in names if name != TWIN)}
    style[TWIN] = ("black", ".", ":")
    return style


def canvas(plot, names):
    """A figure with a cell for each panel, and how many inches lie below them for legend and note."""
    count = len(plot.panels)
    columns = min(count, 2 if plot.x is None else 3)
    rows = -(-count // columns)
    bars = max((len(points) for points in plot.panels.values()), default=1)
    tall = 0.75 + 0.17 * bars if plot.x is None else 2.4
    width = max((4.9 if plot.x is None else 3.4) * columns, 5.6)
    below = 0.3 if plot.x is None else 0.35 + 0.17 * -(-len(names) // legend_columns(names, width))
    below += LINE_OF_NOTE * (len(lines_of_note(plot, width)) - 1)
    figure, grid = plt.subplots(rows, columns, figsize=(width, tall * rows + 0.4 + below), squeeze=False)
    return figure, [axes for row in grid for axes in row], below


def lines_of_note(plot, width):
    return textwrap.wrap(plot.note, int(width / 0.046)) or [""]


def legend_columns(names, width):
    widest = max(len(name) for name in names)
    return max(1, min(4, int(width / (0.075 * widest + 0.55))))


def draw(plot):
    """The plot as SVG text; None if there is nothing to draw."""
    if not plot.points:
        return None
    plot = dataclasses.replace(plot, panels=dict(list(plot.panels.items())[:MOST_PANELS]))
    names = distinct([point for points in plot.panels.values() for point in points], "series")
    style = styles(names)
    figure, cells, below = canvas(plot, names)
    for axes, (name, points) in zip(cells, plot.panels.items()):
        axes.set_title(name, fontsize=7.5, pad=12 if plot.x is None and TWIN in names else None)
        axes.tick_params(labelsize=7)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if plot.x is None:
            draw_bars(axes, points, plot, style)
        else:
            draw_lines(axes, points, plot, style)
    for axes in cells[len(plot.panels):]:
        axes.axis("off")
    finish(figure, plot, names, style, below)
    return as_svg(figure)


def finish(figure, plot, names, style, below):
    """Title, legend and the note, in inches that canvas() left for them."""
    width, high = figure.get_size_inches()
    note = lines_of_note(plot, width)
    if plot.x is not None:
        handles = [plt.Line2D([], [], color=style[n][0], marker=style[n][1], linestyle=style[n][2], markersize=4)
                   for n in names]
        above = 0.2 + LINE_OF_NOTE * (len(note) - 1)
        figure.legend(handles, names, loc="lower center", bbox_to_anchor=(0.5, above / high),
                      ncols=legend_columns(names, width), fontsize=7, frameon=False)
    figure.suptitle(plot.title, fontsize=9, y=1 - 0.08 / high, va="top")
    figure.text(0.01, 0.05 / high, "\n".join(note), fontsize=5.5, color="#444444", va="bottom")
    figure.tight_layout(pad=0.5, h_pad=1.2, w_pad=1.2, rect=(0, below / high, 1, 1 - 0.24 / high))


def as_svg(figure, **metadata):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, **metadata})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def inlined(svg, prefix):
    """The SVG without what ties it to other documents: identifiers get a prefix, so that many fit into one page."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r'(xlink:href|href)="#', rf'\1="#{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    return re.sub(r'(<svg [^>]*?)width="[^"]*" ?', r"\1", re.sub(r'(<svg [^>]*?)height="[^"]*" ?', r"\1", svg, count=1),
                  count=1)


def note_on(measured, emulation, domain=""):
    """Where and how points were measured, in a line."""
    about = measured.about
    parts = [re.sub(r"(Linux \d+\.\d+)[^,]*", r"\1", about.get("machine", "unknown machine")),
             about.get("build", "unknown compiler"), f"commit {about.get('commit', 'unknown')[:12]}"]
    domain = ", ".join(measured.domains) or domain
    if domain:
        parts.append("domain " + domain)
    if emulation:
        parts.append(emulation)
    if about.get("quick"):
        parts.append("QUICK RUN")
    return "; ".join(parts)


def emulation_of(points):
    """What of a figure's media was emulated, in words."""
    said = []
    if any(point.get("added_fence_ns") for point in points):
        said.append("slower fences emulated")
    if any(point.get("twin_on_media") for point in points):
        said.append("media emulated by files in memory")
    if any(point.get("domain") in ("adr", "slowed<adr>") for point in points):
        said.append("flushes real, media DRAM")
    return ", ".join(said)

