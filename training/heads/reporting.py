"""What a head's run leaves for people: figures of calibration, and the reliability plot."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from services.domain_router.measures import Labels
from training.heads.calibration import Matrix, aurc, calibration_error, reliability
from training.runs import PLOT, RunFolder


def classified(run: RunFolder, labels: Labels, named: Mapping[str, Matrix]) -> dict[str, Any]:
    """Of the likeliest class: `named` probabilities (n, classes), `labels` (n,)."""
    return calibrated(
        run,
        {
            name: (np.asarray(rows.argmax(axis=1) == labels, np.float64), rows.max(axis=1))
            for name, rows in named.items()
        },
    )


def calibrated(run: RunFolder, named: Mapping[str, tuple[Matrix, Matrix]]) -> dict[str, Any]:
    """Whether it was right (n,) and the probability that was said (n,), by name; writes the plot."""
    curves = {name: reliability(right, said) for name, (right, said) in named.items()}
    run.keep_text(PLOT, _plot(curves))
    return {
        "calibration": {
            name: {
                "calibration_error": round(calibration_error(right, said), 4),
                "aurc": round(aurc(right, said), 4),
                "reliability": [asdict(each) for each in curves[name]],
            }
            for name, (right, said) in named.items()
        }
    }


def _plot(curves: Mapping[str, Any]) -> str:
    """What was said against what came true; on the diagonal it can be believed."""
    from evaluation.reporting.figures.looks import ACCENT, FAINT, SECOND, bare, panel, placed, svg

    with panel(3.2) as (figure, axes):
        placed(axes, figure, left=0.5, right=0.2, top=0.4, bottom=0.45)
        axes.plot([0, 1], [0, 1], color=FAINT, lw=0.8)
        for (name, bins), colour in zip(curves.items(), (ACCENT, SECOND, FAINT), strict=False):
            sizes = [8 + 60 * each.count / sum(one.count for one in bins) for each in bins]
            said, true = [each.said for each in bins], [each.true for each in bins]
            axes.plot(said, true, color=colour, lw=1.2, label=name)
            axes.scatter(said, true, s=sizes, color=colour, zorder=3)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.grid()
        bare(axes, keep="left bottom")
        axes.set_xlabel("probability that was said")
        axes.set_title("share that was right", loc="left", size=8.5)
        axes.legend(frameon=False, loc="upper left")
        return svg(figure, "reliability", "Reliability: what was said against what came true")
