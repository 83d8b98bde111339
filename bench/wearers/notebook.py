"""What one process of locust keeps of the run."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench.wearers.material import Conversation
from bench.wearers.records import Record, records_of


@dataclass(slots=True)
class Notebook:
    """Written by every wearer. `wearers`: how many are wanted now; `stumbles`: their own failures.

    `started`: seconds since the epoch; `running`: the run is not over.
    """

    conversations: Sequence[Conversation] = ()
    records: list[Record] = field(default_factory=list)
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    stumbles: list[str] = field(default_factory=list)
    started: float = 0.0
    running: bool = False
    wearers: int = 0

    def begin(self) -> None:
        """A run begins: nothing of an earlier one counts."""
        self.records.clear()
        self.memory.clear()
        self.stumbles.clear()
        self.started, self.running = time.time(), True

    def end(self) -> None:
        """The run is over; what was noted is kept until the next one begins."""
        self.running = False

    def strangers(self, to: Conversation) -> frozenset[str]:
        """What is on other photos only."""
        return frozenset(each.mark for each in self.conversations if each.mark not in ("", to.mark))

    def hand_over(self) -> dict[str, Any]:
        """All records, as plain mappings, which this process forgets."""
        told = {"records": [asdict(record) for record in self.records], "stumbles": list(self.stumbles)}
        self.records.clear()
        self.stumbles.clear()
        return told

    def take_over(self, told: Mapping[str, Any]) -> None:
        """What another process handed over; only the one that takes over knows how many wearers there are."""
        self.records += (
            replace(record, users=self.wearers) for record in records_of(told.get("records", ()))
        )
        self.stumbles += told.get("stumbles", ())


NOTEBOOK = Notebook()
"""Locust makes the wearers itself, from their class: there is nobody who could hand them one."""
