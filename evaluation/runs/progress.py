"""How far a run is, on stderr."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from evaluation.record import TurnRecord
from evaluation.runs.running import OnRecord
from evaluation.runs.tally import Tally


@contextmanager
def watched(tally: Tally, turns: int, label: str = "") -> Iterator[OnRecord]:
    """Shows what the tally makes of each turn; what was answered before counts as done."""
    with tqdm(total=turns, unit="question", desc=label or None, file=sys.stderr, dynamic_ncols=True) as bar:

        async def on_record(record: TurnRecord) -> None:
            await tally.add(record)
            bar.set_postfix(tally.counts, refresh=False)
            bar.update()

        yield on_record
