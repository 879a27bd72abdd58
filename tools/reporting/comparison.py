"""The pictures that README shows: a panel of bars for each benchmark."""

from . import plots
from .plots import plt


def draw_panel(axes, name, values, in_digits):
    for place, (system, value) in enumerate(values.items()):
        axes.barh(place, value, height=0.72, color=plots.COLOURS[place])
        axes.annotate(in_digits(value), (value, place), (3, 0), va="center", fontsize=7, textcoords="offset points")
    axes.set_yticks(range(len(values)), values, fontsize=7)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xlim(0, 1.28 * max(*values.values(), 1e-9))
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.set_title(name, fontsize=7.5, loc="left")
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)


def draw(panels, in_digits, description, rows=2, caption="thousand operations per second"):
    """The picture as SVG text. `description` is recorded in it."""
    size = (7.2, 1.35 * rows)
    figure, cells = plt.subplots(rows, -(-len(panels) // rows), figsize=size, squeeze=False)
    for axes, (name, values) in zip(cells.flat, panels):
        draw_panel(axes, name, values, in_digits)
    figure.text(0.01, 0.02 / rows, f"{caption}; each panel has a scale of its own", fontsize=6.5, color="#444444")
    figure.tight_layout(pad=0.6, h_pad=1.0, w_pad=1.6, rect=(0, 0.1 / rows, 1, 1))
    return plots.as_svg(figure, Description=description)
