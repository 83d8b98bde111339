"""One evaluation from the folder of questions to the printed tables and the written results."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import anyio
from rich.console import Console
from tqdm import tqdm

from clients.python import LoreglassClient
from evaluation.asking import Asking, ask_all
from evaluation.judging.judge import Verdict
from evaluation.report import (
    Report,
    print_report,
    print_wrong,
    summarise,
    write_outcomes,
    write_summary,
)
from evaluation.rows import Conversation, load_world, sample
from evaluation.scoring import Outcome


class Part(StrEnum):
    """A part of the benchmark."""

    SINGLE = "single"
    MULTI = "multi"


def main(
    gateway: str,
    world: Path,
    out: Path | None = None,
    *,
    limit: int | None = None,
    only: Part | None = None,
    seed: int | None = None,
    asking: Asking | None = None,
    show_wrong: int = 0,
) -> Report:
    """Ask the gateway at that URL everything, print the report, write `out` and its summary.

    `limit` bounds the conversations of each part; a seed chooses them at random. `out` is the world's
    `results.jsonl` unless named. Raises `WorldError`.
    """
    loaded = load_world(world)
    single = () if only is Part.MULTI else sample(loaded.single, limit, seed)
    multi = () if only is Part.SINGLE else sample(loaded.multi, limit, seed)
    outcomes = anyio.run(_ask, gateway, (*single, *multi), asking or Asking())
    turns_of_single = sum(len(conversation.turns) for conversation in single)
    report = summarise(outcomes[:turns_of_single], outcomes[turns_of_single:])
    console = Console()
    print_report(report, console)
    print_wrong(outcomes, show_wrong, console)
    results = out or world / "results.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    write_outcomes(results, outcomes)
    write_summary(results.with_suffix(".summary.json"), report)
    console.print(f"results: {results}", highlight=False, soft_wrap=True, markup=False)
    return report


async def _ask(gateway: str, conversations: Sequence[Conversation], asking: Asking) -> list[Outcome]:
    total = sum(len(conversation.turns) for conversation in conversations)
    tally = dict.fromkeys((verdict.value for verdict in Verdict), 0)
    with tqdm(total=total, unit="question", file=sys.stderr) as bar:

        def on_turn(outcome: Outcome) -> None:
            tally[outcome.verdict.value] += 1
            bar.set_postfix(tally, refresh=False)
            bar.update()

        async with LoreglassClient(gateway) as client:
            return await ask_all(client, conversations, asking, on_turn)
