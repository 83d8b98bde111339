"""The measurements as a Markdown page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.gpu_stages.measuring import Effort, Measured

_COLUMNS = (
    "stage",
    "item",
    "batch",
    "p50 ms",
    "p95 ms",
    "L40S budget ms",
    "batched ÷ one by one",
    "peak GiB",
    "CPU before, ms",
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where and when it was measured, and with which seed."""

    device: str
    dtype: str
    versions: str
    date: str
    seed: int
    sizes: str


def page(
    surroundings: Surroundings, effort: Effort, rows: Sequence[Measured], skipped: Mapping[str, str]
) -> str:
    """The whole page, with a last line break."""
    about = surroundings
    lines = [
        "# What each model engine takes",
        "",
        f"Written by `python -m deploy.gpu_stages` on {about.date}: {about.device}, {about.dtype},"
        f" {about.versions}, {about.sizes} sizes, random weights (seed {about.seed}),"
        f" {effort.warm_ups} warm-up calls and {effort.repeats} timed ones."
        " The budget is that of one L40S (48 GB): computed, published, or a guess.",
        "",
        f"| {' | '.join(_COLUMNS)} |",
        "|---" * len(_COLUMNS) + "|",
        *(_line(row) for row in rows),
    ]
    if skipped:
        lines += ["", "Left out:", "", *(f"- {name}: {reason}." for name, reason in skipped.items())]
    lines += ["", _LEGEND]
    return "\n".join(lines) + "\n"


_LEGEND = (
    "A row is the engine's own call, copies to and from the card included. *Batched ÷ one by one*: the"
    " batch's p50 over that of its items alone; below 1 is what micro-batching saves. *Peak*: the most that"
    " the model and the pass held at once. *CPU before*: an item's preparation (resizing, tokens) outside of"
    " the shared pass. The VLM's budget is vLLM's in bfloat16; here transformers runs it."
)


def _line(row: Measured) -> str:
    budget = row.budget or "–"
    peak = f"{row.peak_bytes / 2**30:.2f}" if row.peak_bytes else "–"
    before = "–" if row.prepared_ms is None else f"{row.prepared_ms:.1f}"
    ratio = "–" if row.batch == 1 else f"{row.ratio:.2f}"
    cells = (
        row.name,
        row.item,
        str(row.batch),
        f"{row.p50_ms:.1f}",
        f"{row.p95_ms:.1f}",
        budget,
        ratio,
        peak,
        before,
    )
    return f"| {' | '.join(cells)} |"
