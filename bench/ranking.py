"""Rank the answering paragraphs: `python -m bench.ranking SQUAD.json [QUESTIONS]`."""

import json
import random
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chassis.models.sentence_encoder import shared_sentence_encoder
from chassis.vectors.edge import EdgeStore
from services.text_search.app import BUILTIN_RANK_CONSTANT
from services.text_search.engine import Passage, TextSearchEngine
from services.text_search.engines.indexed import IndexedTextSearch

_PLACES = (1, 3, 5, 10)
_PASSAGES_A_CALL = 64
_SEED = 5


def main(file: Path, questions: int) -> None:
    """Print for each engine how many answering paragraphs are among the first 1, 3, 5 and 10 found."""
    paragraphs: dict[str, Passage] = {}
    choices: list[tuple[str, str]] = []
    for title, text, qas in _paragraphs(json.loads(file.read_text("utf-8"))):
        passage_id = str(uuid.uuid5(uuid.NAMESPACE_URL, text))
        paragraphs[passage_id] = Passage(passage_id, f"https://a.example/{passage_id}", title, text)
        choices += [(each["question"], passage_id) for each in qas if not each.get("is_impossible")]
    sample = random.Random(_SEED).sample(choices, min(questions, len(choices)))
    encoder = shared_sentence_encoder()
    kinds: dict[str, dict[str, Any]] = {
        "BM25": {},
        "MiniLM": {"encoder": encoder, "terms": False},
        "both, constant 60": {"encoder": encoder},
        f"both, constant {BUILTIN_RANK_CONSTANT}": {
            "encoder": encoder,
            "rank_constant": BUILTIN_RANK_CONSTANT,
        },
    }
    for name, options in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            store = EdgeStore(Path(folder))
            engine = IndexedTextSearch(store, **options)
            places = [_place(ids, passage_id) for ids, passage_id in _search(engine, paragraphs, sample)]
            store.close()
        shares = (sum(place <= most for place in places) / len(places) for most in _PLACES)
        sys.stdout.write(f"{name:20}" + "".join(f"{share:8.1%}" for share in shares) + "\n")


def _paragraphs(content: Mapping[str, Any]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            yield article["title"].replace("_", " "), paragraph["context"], paragraph["qas"]


def _search(
    engine: TextSearchEngine, paragraphs: Mapping[str, Passage], questions: list[tuple[str, str]]
) -> Iterator[tuple[list[str], str]]:
    """Index the paragraphs and yield, of each question, what is found and what should be."""
    engine.store.create("measured", engine.schema)
    passages = list(paragraphs.values())
    for start in range(0, len(passages), _PASSAGES_A_CALL):
        engine.index("measured", passages[start : start + _PASSAGES_A_CALL])
    for question, passage_id in questions:
        yield [hit.passage.id for hit in engine.search([question], max(_PLACES), "measured")], passage_id


def _place(ids: list[str], passage_id: str) -> float:
    return ids.index(passage_id) + 1 if passage_id in ids else float("inf")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400)
