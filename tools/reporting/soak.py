"""The picture of a soak: a panel for each quantity, a line for each medium, a point for each period of waves."""

from . import plots

PERIOD = 6  # waves, as in tests/soak/content.hpp
MEGABYTE = 1 << 20
PANELS = {
    "heap-bytes": ("blocks of the heap in use, MiB", MEGABYTE),
    "rss-anon": ("RssAnon, MiB", MEGABYTE),
    "rss-shmem": ("RssShmem, MiB", MEGABYTE),
    "rss-file": ("RssFile, MiB", MEGABYTE),
    "pool-blocks": ("blocks of the pool's files, MiB", MEGABYTE),
    "store-blocks": ("blocks of the store's files, MiB", MEGABYTE),
    "store-live-bytes": ("outlast.live-bytes, MiB", MEGABYTE),
    "store-retained-bytes": ("outlast.retained-bytes, MiB", MEGABYTE),
    "store-ring-bytes": ("outlast.ring-bytes, MiB", MEGABYTE),
    "store-log-bytes": ("outlast.log-bytes, MiB", MEGABYTE),
    "descriptors": ("descriptors", 1),
    "threads": ("threads", 1),
}
COLUMNS = 3


def periods(waves, part, name):
    """The greatest number of each whole period, and the minute of its end."""
    whole = len(waves) // PERIOD * PERIOD
    groups = [waves[first:first + PERIOD] for first in range(0, whole, PERIOD)]
    return ([group[-1]["second"] / 60 for group in groups],
            [max(wave[part][name] for wave in group) for group in groups])


def draw(runs, note):
    """`runs`: the records of each medium. The picture as SVG text."""
    rows = -(-len(PANELS) // COLUMNS)
    figure, grid = plots.plt.subplots(rows, COLUMNS, figsize=(10.2, 1.9 * rows + 0.9), squeeze=False)
    handles = []
    for axes, (name, (title, unit)) in zip([axes for row in grid for axes in row], PANELS.items()):
        handles = []
        for (medium, waves), colour in zip(runs.items(), plots.COLOURS):
            for part, dashes in (("end", "-"), ("most", ":")):
                minutes, values = periods(waves, part, name)
                line, = axes.plot(minutes, [value / unit for value in values], dashes, color=colour, linewidth=1,
                                  label=f"{medium}, " + ("when all is idle" if part == "end" else "at most"))
                handles.append(line)
        axes.set_title(title, fontsize=7.5)
        axes.set_ylim(bottom=0)
        axes.tick_params(labelsize=7)
        axes.grid(axis="y", linewidth=0.3, color="#cccccc")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("minutes", fontsize=7)
    figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=7, frameon=False, bbox_to_anchor=(0.5, 0.02))
    figure.text(0.01, 0.006, note, fontsize=5.5, color="#444444", va="bottom")
    figure.tight_layout(pad=0.5, h_pad=1.2, w_pad=1.2, rect=(0, 0.07, 1, 1))
    return plots.as_svg(figure)
