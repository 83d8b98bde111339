"""`python -m bench.draws [CHUNKS] [QUESTIONS]`: which draw of `three-step` wins, what of it the model ranks.

A synthetic corpus is indexed by the pocket text search and searched as the pipeline does, three draws a
question. Each draw words the question with the same rule, so that none of the three is better by itself.
"""

import asyncio
import random
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from chassis.http.calls import ServiceClient, http_client
from chassis.http.serving import BoundApp, listen, running
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.logs import configure_logging
from contracts.collections import Collection, CreateCollection, Indexed, PublishAlias
from contracts.text_search import Chunk, Chunks
from gateway.clients.services import Services
from gateway.llm.delimiting import Budget, evidence_blocks
from gateway.pipelines.three_step.pipeline import LIST_CHARS
from gateway.pipelines.three_step.query_groups import Group, largest, search_groups
from gateway.reasoning.pieces import shortened
from services.text_search.app import create_app
from services.text_search.settings import TextSearchSettings

DRAWS, DEPTH = 3, 30
_ATTRIBUTES = ("height", "price", "origin", "weight", "opening", "author", "colour", "length", "age", "owner")
_PASSAGES = (1, 1, 2, 2, 3, 4, 6, 9, 14)
"""Of a page: few pages are long, and those have many of the passages."""
_WORDS = 130
_CHUNKS_A_CALL = 500
_HOUR_MS = 3_600_000.0
_TOKENS = 10**6  # the list is bounded in characters here


@dataclass(frozen=True, slots=True)
class Thing:
    """What a page is about; other things share its kind, maker and town."""

    name: str
    kind: str
    maker: str
    town: str

    def asked(self, draw: random.Random, attribute: str) -> str:
        """The attribute and some of what tells the thing from others, in any order."""
        facets = (self.name, self.kind, self.maker, self.town)
        words = [attribute, *draw.sample(facets, draw.randint(1, 3))]
        draw.shuffle(words)
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's groups, and what of the largest the model's list holds: pieces, and characters in all."""

    groups: tuple[Group, ...]
    shown: int
    chars: int

    @property
    def sizes(self) -> list[int]:
        """Results of each draw."""
        return [len(group.results) for group in self.groups]

    @property
    def winner(self) -> int:
        """Which draw is kept."""
        return self.groups.index(largest(self.groups))


def corpus(chunks: int, draw: random.Random) -> tuple[list[Thing], list[Chunk]]:
    """So many passages of words with natural frequencies (Zipf), some of them words of their page's thing."""

    def coined(parts: int = 1) -> str:
        return " ".join("".join(draw.choices("etaoinshrdlu", k=draw.randint(5, 9))) for _ in range(parts))

    kinds, makers, towns = ([coined() for _ in range(many)] for many in (40, 800, 400))
    vocabulary = [coined() for _ in range(20_000)]
    weights = [1 / (rank + 3) for rank in range(len(vocabulary))]
    things: list[Thing] = []
    passages: list[Chunk] = []
    while len(passages) < chunks:
        thing = Thing(coined(2), draw.choice(kinds), draw.choice(makers), draw.choice(towns))
        things.append(thing)
        for position in range(min(draw.choice(_PASSAGES), chunks - len(passages))):
            said = [each for each in (thing.name, thing.kind, thing.maker, thing.town) if draw.random() < 0.5]
            told = draw.choices(vocabulary, weights, k=_WORDS) + said + draw.sample(_ATTRIBUTES, 2)
            draw.shuffle(told)
            passages.append(
                Chunk(
                    id=str(uuid.UUID(int=len(passages))),
                    url=f"https://a.example/{len(things)}",
                    title=thing.name,
                    text=". ".join(" ".join(told[at : at + 12]).capitalize() for at in range(0, _WORDS, 12)),
                    position=position,
                )
            )
    return things, passages


async def measure(chunks: int, questions: int, folder: Path) -> list[Asked]:
    """Index so many passages in `folder`, then ask so many questions."""
    draw = random.Random(0)
    things, passages = corpus(chunks, draw)
    bound = BoundApp(create_app(TextSearchSettings(port=0, data_dir=folder)), listen("127.0.0.1", 0))
    deadline = Deadline.after_ms(_HOUR_MS)
    async with running([bound]), http_client() as http:
        clients: dict[str, Any] = {name: ServiceClient(http, name, bound.url) for name in Services.names()}
        services = Services(**clients)
        await _index(services.text_search, passages, deadline)
        return [await _ask(services, draw, draw.choice(things), deadline) for _ in range(questions)]


async def _index(text_search: ServiceClient, passages: Sequence[Chunk], deadline: Deadline) -> None:
    await text_search.send_json(
        "POST", "/v1/collections", CreateCollection(name="drawn"), Collection, deadline
    )
    for start in range(0, len(passages), _CHUNKS_A_CALL):
        body = Chunks(chunks=list(passages[start : start + _CHUNKS_A_CALL]))
        await text_search.send_json("PUT", "/v1/collections/drawn/chunks", body, Indexed, deadline)
    alias = PublishAlias(alias="pages", collection="drawn")
    await text_search.send_json("POST", "/v1/aliases", alias, Collection, deadline)


async def _ask(services: Services, draw: random.Random, thing: Thing, deadline: Deadline) -> Asked:
    attribute = draw.choice(_ATTRIBUTES)
    queries = [thing.asked(draw, attribute) for _ in range(DRAWS)]
    groups = await search_groups(services, queries, DEPTH, deadline)
    best = largest(groups)
    listed = shortened(best.results, LIST_CHARS, f"what is the {attribute} of this? {best.query}")
    blocks = evidence_blocks(listed, Budget.whole(listed, _TOKENS))
    return Asked(groups, len(blocks.places), len(blocks.text))


def report(asked: Sequence[Asked]) -> str:
    """The figures, a line each."""
    wins = Counter(each.winner for each in asked)
    sizes = sorted(size for each in asked for size in each.sizes)
    shown = sorted(each.shown for each in asked)
    lines = (
        *(f"draw {place + 1} is kept: {wins[place] / len(asked):.0%}" for place in range(DRAWS)),
        f"draws that find equally many: {sum(len(set(each.sizes)) == 1 for each in asked) / len(asked):.0%}",
        f"results of a draw: {sizes[0]} to {sizes[-1]}, median {median(sizes):g}",
        f"results that the model ranks: {shown[0]} to {shown[-1]}, median {median(shown):g};"
        f" left out: {sum(max(each.sizes) - each.shown for each in asked)}",
        f"characters of the list: {max(each.chars for each in asked)} at most, of {LIST_CHARS}",
    )
    return "\n".join(lines)


def main(chunks: int = 20_000, questions: int = 300) -> None:
    """Measure and print."""
    configure_logging("warning")
    with tempfile.TemporaryDirectory() as folder:
        asked = asyncio.run(measure(chunks, questions, Path(folder)))
    sys.stdout.write(f"{chunks} chunks, {questions} questions, {DEPTH} chunks a draw\n{report(asked)}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
