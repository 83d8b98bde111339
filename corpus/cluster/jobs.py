"""A part of a source as a job of Ray Data, and what became of it."""

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chassis.errors import DependencyUnavailable, Internal
from corpus.cluster.parts import Block, Part, one_by_one, where_of
from corpus.cluster.stages import KEY_BYTES, First, Keys, Preparing, Target, Writing, Written
from corpus.jsonl import Rejected
from corpus.pipeline import Outcome

MOST_RUNS = 4
"""Of one part: whole, without what ended processes, and again where actors were lost between them."""
MOST_NAMED = 1000
"""Rejected records of which the report tells; the rest are counted."""
MOST_FATAL = 8
"""Records of a part that may end processes. Where more are lost, the fault is no longer theirs."""
_FATAL = "The process that read it ended; it was left out."
TRIES = 1
"""Of a block whose process ended, before it is cut into single records."""
_SHARE = 0.25
"""Of a processor, as Ray counts them: the actors of all three stages must fit on a small machine."""


@dataclass(frozen=True, slots=True)
class Pools:
    """How many actors there are of each, and what each that writes has of a card."""

    preparing: int
    writing: int
    gpus: float


@dataclass(slots=True)
class Counts:
    """What became of records; of the rejected ones the first are named."""

    indexed: int = 0
    unchanged: int = 0
    rejected: int = 0
    named: list[Rejected] = field(default_factory=list)
    points: int = 0

    @property
    def records(self) -> int:
        """All of them."""
        return self.indexed + self.unchanged + self.rejected

    def add(self, other: "Counts") -> None:
        """Those of another part."""
        self.indexed += other.indexed
        self.unchanged += other.unchanged
        self.rejected += other.rejected
        self.points += other.points
        self.named.extend(other.named[: MOST_NAMED - len(self.named)])

    def reject(self, rejected: Sequence[Rejected]) -> None:
        """Count records, and name them where there is room."""
        self.rejected += len(rejected)
        self.named.extend(rejected[: MOST_NAMED - len(self.named)])


@dataclass(frozen=True, slots=True)
class PartDone:
    """A part that is in the index whole. `sample`: a point of every block."""

    counts: Counts
    keys: Keys
    sample: tuple[str, ...]


class _Collected:
    """What came back of a run of blocks."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.sample: list[str] = []
        self._keys = bytearray()

    def add(self, written: Written) -> None:
        for each in written.done:
            if each.outcome is Outcome.INDEXED:
                self.counts.indexed += 1
            else:
                self.counts.unchanged += 1
            self.counts.points += each.points
            self._keys += each.key
        self.sample.extend(each.sample for each in written.done[:1])
        self.counts.reject(written.rejected)

    def keys(self) -> Keys | None:
        """None where two records have one key: the actor that looks for that was lost meanwhile."""
        keys = np.sort(np.frombuffer(bytes(self._keys), dtype=f"S{KEY_BYTES}"))
        return None if bool(np.any(keys[1:] == keys[:-1])) else keys


class Jobs:
    """Runs parts one after the other on a Ray that is up. Blocking."""

    def __init__(self, source: Path, target: Target, pools: Pools, maker: Any) -> None:
        self._source, self._target, self._pools, self._maker = source, target, pools, maker

    def run(self, part: Part, earlier: Sequence[Any], progress: Callable[[int], None]) -> PartDone:
        """Have it in the index whole. Raises what the service fails with; bad records are counted.

        `earlier`: references to the keys of the parts before. A block whose process ends is cut into
        single records, and the record that ends one again when it is alone is left out; many end the run.
        """
        blocks: list[Block] = list(part.blocks)
        fatal: list[Rejected] = []
        indexed = 0
        for _ in range(MOST_RUNS):
            collected = _Collected()
            lost = self._pass(blocks, earlier, collected, progress)
            cut = {place: one_by_one(self._source, blocks[place]) for place in sorted(lost)}
            singles = [each for block in cut.values() for each in block]
            ended = self._pass(singles, earlier, collected, progress) if singles else set[int]()
            left_out = set()
            for place in sorted(ended):  # each alone: what ends a process takes others along
                if self._pass([singles[place]], earlier, collected, progress):
                    left_out.add(singles[place])
                    fatal.append(Rejected(where_of(singles[place]), _FATAL))
                if len(fatal) > MOST_FATAL:
                    raise DependencyUnavailable(
                        f"Ray has lost more than {MOST_FATAL} records of {part.name}, each of them again and"
                        " again: see the memory, the disks and the logs of its nodes."
                    )
            if (keys := collected.keys()) is not None:
                counts = collected.counts
                again = min(indexed, counts.unchanged)  # by an earlier run of this loop
                counts.indexed, counts.unchanged = counts.indexed + again, counts.unchanged - again
                counts.reject(fatal)
                return PartDone(counts, keys, tuple(collected.sample))
            indexed += collected.counts.indexed
            blocks = [
                each
                for place, block in enumerate(blocks)
                for each in cut.get(place, [block])
                if each not in left_out
            ]
        raise Internal(f"Actors were lost too often in {part.name}.")

    def _pass(
        self,
        blocks: Sequence[Block],
        earlier: Sequence[Any],
        collected: _Collected,
        progress: Callable[[int], None],
    ) -> set[int]:
        """Take blocks through the stages; the places of those that did not come back."""
        lost = set(range(len(blocks)))
        for index, written in self._rows(blocks, earlier):
            if written.failure is not None:
                raise written.failure
            lost.discard(index)
            collected.add(written)
            progress(collected.counts.records)
        return lost

    def _rows(self, blocks: Sequence[Block], earlier: Sequence[Any]) -> Iterator[tuple[int, Written]]:
        import ray.data
        from ray.data import ActorPoolStrategy as Pool

        rows = [{"index": index, "block": pickle.dumps(block)} for index, block in enumerate(blocks)]
        pools, most = self._pools, len(blocks)
        dataset = ray.data.from_items(rows, override_num_blocks=most)
        with warnings.catch_warnings():
            # Ray 2.60 warns of what it passes on to actors, and has no other way to say how often their tasks
            # are tried: for ever, if nothing is said, and a record that ends processes would never let go.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            dataset = dataset.map(
                Preparing,
                fn_constructor_args=(self._target.alias, self._source),
                compute=Pool(min_size=1, max_size=min(pools.preparing, most)),
                num_cpus=_SHARE,
                max_task_retries=TRIES,
            )
            dataset = dataset.map(
                First,
                fn_constructor_args=(list(earlier),),
                compute=Pool(size=1),
                num_cpus=_SHARE,
                max_task_retries=TRIES,
                allow_out_of_order_execution=False,
            )
            dataset = dataset.map(
                Writing,
                fn_constructor_args=(self._target, self._maker),
                compute=Pool(size=min(pools.writing, most)),
                num_cpus=_SHARE,
                num_gpus=pools.gpus or None,
                max_task_retries=TRIES,
            )
            # … and of actors that got nothing to do, where the one record before them ended its process.
            warnings.filterwarnings("ignore", "The minimum number of concurrent actors")
            for row in dataset.iter_rows():
                yield row["index"], pickle.loads(row["written"])
