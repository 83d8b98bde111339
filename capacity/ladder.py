"""Reprints the tables of docs/latency-budget.md: `python -m capacity.ladder`.

What each cut saves and what is cut at which deadline, from the packaged latency tables, on an idle node.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH as LOREGLASS
from gateway.pipelines.qa_dragon.pipeline import STAGE_GRAPH as QA_DRAGON
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import Latencies, VlmSpeed, load_latencies
from gateway.planning.plan import FULL, LADDER
from gateway.planning.planner import Planner
from gateway.planning.stage_graph import StageGraph

FP8 = VlmSpeed()
BF16 = VlmSpeed(prefill_ms_per_1k=96.0, decode_ms_per_token=28.0)
"""Llama-3.2-11B-Vision on an L40S; their source is beside the tables in `gateway/planning/latencies`."""
DEADLINES_MS = (10_000, 5_000, 3_000, 2_000, 1_000, 300)


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of node and a pipeline."""

    node: str
    latencies: Latencies
    stage_graph: StageGraph

    @property
    def title(self) -> str:
        """For a head or a row."""
        return f"{self.node}, `{self.stage_graph.name}`"

    @property
    def planner(self) -> Planner:
        """One that has seen nothing yet."""
        return Planner(FULL, Estimates(self.latencies, clock=lambda: 0.0))


def cases() -> Iterator[Case]:
    """Every kind of node with either pipeline."""
    nodes = {
        "L40S fp8": load_latencies("l40s", FP8),
        "L40S bf16": load_latencies("l40s", BF16),
        "pocket": load_latencies("pocket"),
    }
    for stage_graph in (LOREGLASS, QA_DRAGON):
        for node, latencies in nodes.items():
            yield Case(node, latencies, stage_graph)


def rungs_table(cases: Sequence[Case]) -> str:
    """A row a rung: the expected time of a question's longest way with all cuts down to it."""
    rows = [["cut", "gives up", *(case.title for case in cases)]]
    plans = [FULL]
    for cut in LADDER:
        plans.append(cut.apply(plans[-1]))
    names = [("–", "nothing"), *((f"`{cut.name}`", _limits(cut.limits)) for cut in LADDER)]
    for plan, (name, limits) in zip(plans, names, strict=True):
        expected = (case.planner.expected_ms(plan, (), 1, case.stage_graph) for case in cases)
        rows.append([name, limits, *(f"{ms:,.0f}" for ms in expected)])
    return _markdown(rows)


def deadlines_table(cases: Sequence[Case]) -> str:
    """A row a node and pipeline, a column a deadline: the last cut made at admission."""
    rows = [["node, pipeline", *(f"{ms / 1000:g} s" for ms in DEADLINES_MS)]]
    for case in cases:
        choices = (case.planner.choose(ms, (), 1, False, case.stage_graph) for ms in DEADLINES_MS)
        rows.append([case.title, *(_last(tuple(cut.name for cut in choice.cuts)) for choice in choices)])
    return _markdown(rows)


def report() -> str:
    """Both tables."""
    every = tuple(cases())
    return f"{rungs_table(every)}\n\n{deadlines_table(every)}\n"


def _limits(limits: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"no {name}" if most is False else f"{name} {most:,}" for name, most in limits)


def _last(names: Sequence[str]) -> str:
    return f"… `{names[-1]}` ({len(names)})" if names else "nothing"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([head, "|---" * len(rows[0]) + "|", *body])


if __name__ == "__main__":
    sys.stdout.write(report())
