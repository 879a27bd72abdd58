"""The picture that README shows: the store and other stores, a panel of bars for each benchmark."""

from . import plots
from .plots import plt


def draw_panel(axes, name, values, in_digits):
    for place, (system, value) in enumerate(values.items()):
        axes.barh(place, value, height=0.72, color=plots.COLOURS[place])
        axes.annotate(in_digits(value), (value, place), (3, 0), va="center", fontsize=7, textcoords="offset points")
    axes.set_yticks(range(len(values)), values, fontsize=7)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xlim(0, 1.28 * max(values.values()))
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.set_title(name, fontsize=7.5, loc="left")
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)


def draw(panels, in_digits, description):
    """The picture as SVG text. `description` is recorded in it."""
    figure, cells = plt.subplots(2, -(-len(panels) // 2), figsize=(7.2, 2.7), squeeze=False)
    for axes, (name, values) in zip(cells.flat, panels):
        draw_panel(axes, name, values, in_digits)
    figure.text(0.01, 0.01, "thousand operations per second; each panel has a scale of its own", fontsize=6.5,
                color="#444444")
    figure.tight_layout(pad=0.6, h_pad=1.0, w_pad=1.6, rect=(0, 0.05, 1, 1))
    return plots.as_svg(figure, Description=description)
