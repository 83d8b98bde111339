"""The ablation's tables, in the papers' layout: as Markdown for people, as plain values for programs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.ablation.figures import Difference, Figure, Figures, differences, figures_of, is_known
from evaluation.ablation.published import NOT_HERE, OWN_SYSTEM, PaperTable, Printed
from evaluation.data.model import Part
from evaluation.scoring.intervals import Interval
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored

_NOT_OFFERED = "not on this gateway"
_DASH = "–"


@dataclass(frozen=True, slots=True)
class Systems:
    """Every pipeline's answers with their judgements, by its name, and how they were judged."""

    scored: Mapping[str, Sequence[Scored]]
    protocol: Protocol
    judge: str
    dataset: str

    def of(self, pipeline: str | None, part: Part | None = None) -> list[Scored]:
        """The answers to one part, or to all."""
        answers = self.scored.get(pipeline or "", ())
        return [each for each in answers if part is None or each.record.part is part]


@dataclass(frozen=True, slots=True)
class Made:
    """A finished table. `values`: for programs; `note`: below it; `left`: how many columns hold words."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: Sequence[Mapping[str, Any]]
    note: str = ""
    left: int = 1


def paper_table(table: PaperTable, systems: Systems) -> Made:
    """The paper's rows and columns, then ours."""
    rows, values = [], []
    for row in table.rows:
        scored = systems.of(row.pipeline, table.part)
        figures = figures_of(scored, systems.protocol) if scored else None
        printed = [cell for each in row.printed for cell in _printed(each)]
        rows.append((row.method, *row.marks, *printed, *_ours(row.pipeline, figures)))
        values.append(
            {
                "method": row.method,
                "pipeline": row.pipeline,
                "printed": dict(zip(table.sources, map(_plain, row.printed), strict=True)),
                "ours": _plain(figures),
            }
        )
    columns = ("Accuracy", "Overlap", "Elapse")
    headings = (
        "Method",
        *table.components,
        *(f"{source} {column}" for source in table.sources for column in columns),
        "n",
        *(f"ours {column}" for column in columns),
    )
    return Made(table.title, headings, tuple(rows), values, table.note, 1 + len(table.components))


def own_table(systems: Systems) -> Made:
    """Our own system whole, then without each of its modules, and what that makes of truthfulness."""
    whole = systems.of(OWN_SYSTEM)
    others = {name: systems.of(name) for name in systems.scored if name.startswith(f"{OWN_SYSTEM}-")}
    compared = differences(whole, dict(others), systems.protocol) if whole else {}
    rows, values = [], []
    for name, scored in {OWN_SYSTEM: whole, **others}.items():
        figures = figures_of(scored, systems.protocol)
        rows.append((name, *_all(figures), *_compared(compared.get(name))))
        values.append({"pipeline": name, "ours": _plain(figures), "difference": _plain(compared.get(name))})
    headings = (
        "Pipeline", "n", "Accuracy", "Missing", "Hallucination", "Truthfulness", "Overlap", "Elapse",
        "Difference", "p",
    )  # fmt: skip
    note = (
        "All turns of both parts. Difference: in truthfulness, to the whole system on the same questions; "
        "p by exchanging the two at random conversation by conversation, corrected for all rows (Holm)."
    )
    return Made("Loreglass: modules left out", headings, tuple(rows), values, note)


def markdown(tables: Iterable[Made], systems: Systems) -> str:
    """The whole page."""
    lines = [
        "# Ablations",
        "",
        _escaped(
            f"Asked: {systems.dataset}. Judge: {systems.judge}. Protocol: {systems.protocol.value}. "
            "Ours with 95 % intervals over conversations (bootstrap). The papers' figures are as printed: of "
            "CRAG-MM, with Llama-3.2-11B-Vision, judged by GPT-4o-mini. Accuracy and overlap in percent, "
            "elapse in seconds. In small samples it flatters whoever is asked later: the platform remembers "
            "what it has read on a few hundred photos."
        ),
    ]
    for table in tables:
        right = len(table.headings) - table.left
        lines += ["", f"## {_escaped(table.title)}", "", _line(table.headings)]
        lines.append("|" + " --- |" * table.left + " ---: |" * right)
        lines += [_line(row) for row in table.rows]
        if table.note:
            lines += ["", _escaped(table.note)]
    return "\n".join(lines) + "\n"


def plain(tables: Iterable[Made], systems: Systems) -> dict[str, Any]:
    """The same, for JSON; null where there is no figure."""
    return {
        "dataset": systems.dataset,
        "judge": systems.judge,
        "protocol": systems.protocol.value,
        "tables": [{"title": table.title, "rows": table.values, "note": table.note} for table in tables],
    }


def _printed(printed: Printed | None) -> tuple[str, str, str]:
    if printed is None:
        return (_DASH, _DASH, _DASH)
    return f"{printed.accuracy:.2f}", f"{printed.overlap:.2f}", f"{printed.elapsed_s:.2f}"


def _ours(pipeline: str | None, figures: Figures | None) -> tuple[str, ...]:
    if pipeline is None or figures is None:
        return (_DASH, NOT_HERE if pipeline is None else _NOT_OFFERED, _DASH, _DASH)
    return (
        str(figures.count),
        _percent(figures.accuracy),
        _percent(figures.overlap),
        _seconds(figures.elapsed_s),
    )


def _all(figures: Figures) -> tuple[str, ...]:
    rates = (figures.accuracy, figures.missing, figures.hallucination)
    return (
        str(figures.count),
        *map(_percent, rates),
        _signed(figures.truthfulness.value, figures.truthfulness.interval),
        _percent(figures.overlap),
        _seconds(figures.elapsed_s),
    )


def _compared(difference: Difference | None) -> tuple[str, str]:
    if difference is None:
        return _DASH, _DASH
    p_value = "< 0.001" if difference.p_value < 0.001 else f"{difference.p_value:.3f}"
    return _signed(difference.value, difference.interval), p_value


def _percent(figure: Figure) -> str:
    if not is_known(figure):
        return _DASH
    low, high = figure.interval.low, figure.interval.high
    return f"{100 * figure.value:.2f} ({100 * low:.1f} to {100 * high:.1f})"


def _seconds(figure: Figure) -> str:
    if not is_known(figure):
        return _DASH
    return f"{figure.value:.2f} ({figure.interval.low:.2f} to {figure.interval.high:.2f})"


def _signed(value: float, interval: Interval) -> str:
    if math.isnan(value):
        return _DASH
    return f"{value:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    """As text in Markdown, wherever it comes from: on one line, no markup, no column of its own."""
    one_line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in one_line)


def _plain(value: Any) -> Any:
    return None if value is None else _without_nan(asdict(value))


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
