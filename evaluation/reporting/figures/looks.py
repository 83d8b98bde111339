"""How figures look: one hue for a system, the rest in grey; colours that colour-blind readers tell apart.

Needs matplotlib, which only the extra `evaluation-report` installs; so this module is imported late.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

INK, QUIET, FAINT, RULE = "#1c2430", "#5b6573", "#b9c0ca", "#e3e7ec"
ACCENT, SECOND = "#0b62a8", "#7a4b9d"
RIGHT, SILENT, WRONG = "#0072b2", "#c9ced6", "#d55e00"
"""Correct, missing, hallucinated (after Okabe and Ito 2008, "Color Universal Design")."""

WIDTH = 4.1
"""Inches of a panel, at 96 CSS pixels each: it fits a phone held upright."""
LETTERS = 50
"""Of a name on one line of a panel."""

_LOOKS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Roboto", "Arial"],
    "font.size": 7.5,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": QUIET,
    "axes.linewidth": 0.7,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.major.pad": 5.0,
    "ytick.major.pad": 5.0,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "text.parse_math": False,
    "svg.fonttype": "none",
}
_HEAD = re.compile(r"^.*?(?=<svg)", re.S)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.S)
_GROUP_ID = re.compile(r'(<g) id="[^"]*"')
_ATTRIBUTES = re.compile(r'\s(?:width|height)="[\d.]+pt"')


@contextmanager
def panel(height: float, width: float = WIDTH) -> Iterator[tuple[Figure, Axes]]:
    """A figure of one plot, in inches, drawn without any window or global state."""
    with mpl.rc_context(_LOOKS):
        figure = Figure((width, height))
        FigureCanvasSVG(figure)
        yield figure, figure.add_axes((0.0, 0.0, 1.0, 1.0))


def placed(axes: Axes, figure: Figure, left: float, right: float, top: float, bottom: float) -> None:
    """Margins in inches."""
    width, height = figure.get_size_inches()
    axes.set_position(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )


def bare(axes: Axes, *, keep: str = "") -> None:
    """Without the frame but for the sides in `keep`."""
    for side, spine in axes.spines.items():
        spine.set_visible(side in keep.split())
    axes.set_axisbelow(True)


def svg(figure: Figure, name: str, told: str) -> str:
    """The figure as an element for a page. `name` keeps its references apart; `told`: for who cannot see it.

    The same figure always gives the same bytes.
    """
    held = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(held, format="svg", transparent=True, metadata={"Date": None})
    bare_svg = _METADATA.sub("", _HEAD.sub("", held.getvalue(), count=1))
    bare_svg = _GROUP_ID.sub(r"\1", bare_svg)
    opening, rest = bare_svg.split(">", 1)
    width, height = figure.get_size_inches() * 96
    opening = _ATTRIBUTES.sub("", opening)
    opening += f' width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(told)}"'
    return f"{opening}>{rest}".strip()


def fitted(name: str, letters: int = LETTERS) -> str:
    """A name that fits a line: cut in the middle, since names of ablations differ at their ends."""
    if len(name) <= letters:
        return name
    half = (letters - 1) // 2
    return f"{name[:half].rstrip()}…{name[-half:].lstrip()}"
