"""How a run went, step by step, as figures for the report."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

_REWARD = "rewards/"
_MOST_LINES = 4


def figures(metrics: Sequence[Mapping[str, Any]]) -> list[Markup]:
    """Of the loss, or of GRPO, whose loss says nothing, of each reward; none of what was logged once."""
    rewards = sorted({name for line in metrics for name in line if _is_reward(name)})
    wanted = [("Rewards, each in the mean", rewards[:_MOST_LINES])] if rewards else [("Loss", ["loss"])]
    drawn = []
    for title, names in wanted:
        curves = {_called(name): _curve(metrics, name) for name in names}
        told = {name: curve for name, curve in curves.items() if len(curve) > 1}
        if told:
            drawn.append(_drawn(title, told))
    return drawn


def _is_reward(name: str) -> bool:
    return name.startswith(_REWARD) and name.endswith("/mean")


def _called(name: str) -> str:
    return name.removeprefix(_REWARD).removesuffix("/mean").replace("_", " ")


def _curve(metrics: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    return [(float(line["step"]), float(line[name])) for line in metrics if name in line]


def _drawn(title: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> Markup:
    from evaluation.reporting.figures.looks import ACCENT, QUIET, SECOND, WRONG, bare, panel, placed, svg

    with panel(2.4) as (figure, axes):
        placed(axes, figure, left=0.5, right=0.2, top=0.4, bottom=0.45)
        for (name, curve), colour in zip(curves.items(), (ACCENT, SECOND, WRONG, QUIET), strict=False):
            steps, values = zip(*curve, strict=True)
            axes.plot(steps, values, color=colour, lw=1.2, label=name)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        bare(axes, keep="bottom")
        axes.set_xlabel("step")
        axes.set_title(title, loc="left", size=8.5)
        if len(curves) > 1:
            axes.legend(frameon=False, loc="best")
        return Markup(svg(figure, title, f"{title} by step"))
