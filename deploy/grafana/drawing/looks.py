"""Grafana's dark theme."""

import itertools
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from matplotlib import font_manager

from deploy.grafana.panels import Panel

BACK, CARD, EDGE, GRID, TEXT, FAINT = "#111217", "#181b1f", "#2c3136", "#2a2e34", "#d2d3dc", "#8e9199"
PALETTE = (
    "#73bf69",
    "#f2cc0c",
    "#8ab8ff",
    "#ff780a",
    "#f2495c",
    "#5794f2",
    "#b877d9",
    "#37872d",
    "#fade2a",
    "#447ebc",
    "#c15c17",
    "#e0b400",
    "#ca95e5",
    "#96d98d",
    "#ffb357",
    "#705da0",
    "#ff7383",
    "#6ed0e0",
    "#b7dbab",
    "#ea6460",
    "#1f78c1",
    "#e5ac0e",
    "#508642",
    "#d683ce",
)
"""For series without a colour of their own, in turn."""


def family() -> str:
    """Roboto where it is installed, matplotlib's own font where it is not."""
    found = find_spec("font_roboto")
    if found is None or found.origin is None:
        return "DejaVu Sans"
    for face in ("Roboto-Regular", "Roboto-Medium", "Roboto-Bold"):
        for path in Path(found.origin).parent.glob(f"**/{face}.ttf"):
            font_manager.fontManager.addfont(path)
    return "Roboto"


def colours(panel: Panel, names: list[str]) -> Mapping[str, str]:
    """One for each series: its own, or the next that no other has."""
    free = itertools.cycle([each for each in PALETTE if each not in panel.colours.values()] or PALETTE)
    return {name: panel.colours.get(name) or next(free) for name in dict.fromkeys(names)}


def by_threshold(panel: Panel, value: float) -> str:
    """The colour of the highest threshold that the value has reached."""
    colour = panel.base
    for limit in panel.thresholds:
        if value >= limit.value:
            colour = limit.colour
    return TEXT if colour == "text" else colour
