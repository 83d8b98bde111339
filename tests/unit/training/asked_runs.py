"""Make evaluation runs with the gateway's own prompts before a scripted model server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from bench.node import Says, ServerTraits, says
from contracts.answer import Explanation as Told
from evaluation.data.model import AnswerType, Truth
from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.store import Run, RunStore, load_run
from gateway.pipelines.wiki_prf.tool_plan import Material
from gateway.reasoning.port import counting_calls
from gateway.state import Evidence, GenerationBudget, Photo, Query, Turn
from loreglass_client.models import Explanation
from tests.unit.chassis.pictures import encoded
from tests.unit.evaluation.records import answered, turn_of
from tests.unit.gateway.llm.stage import Bench, bench, context, deadline, page

OTHER = page("Rome is the capital of Italy.", "Rome")


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and what the model says to it. `helpful`: pages that say the gold answer."""

    number: int
    gold: str = "It was built in 1931."
    accepted: tuple[str, ...] = ("1931",)
    answered: str = "It was built in 1931."
    query: str = "year the red tower was built"
    knowledge: str = "<think>Piece 1.</think><answer>Built in 1931.</answer>"
    helpful: tuple[str, ...] = ("The red tower was built in 1931.",)
    session: str = ""
    turn: int = 0
    photo: int | None = None
    answerable: bool = True
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return f"When was tower {self.number} built?"


def jpeg(number: int) -> bytes:
    colour = (number * 37 % 256, number * 91 % 256, number * 53 % 256)
    return encoded(Image.new("RGB", (64, 48), colour), "JPEG")


async def ask_run(
    folder: Path,
    questions: Sequence[Question],
    *,
    traits: ServerTraits | None = None,
    model_calls: bool = True,
    started_at: float = 0.0,
) -> Run:
    """A run of `three-step` and of `wiki-prf`'s filter at once: their calls stand side by side."""
    settings = {"explain": True, "model_calls": model_calls}
    header = RunHeader(
        name="three-step", dataset="towers", fingerprint="x", started_at=started_at, settings=settings
    )
    (folder / "photos").mkdir(parents=True)
    with RunStore(folder, header) as store:
        for place, question in enumerate(questions):
            store.add(await _record(folder, place, question, traits))
    return load_run(folder)


async def _record(folder: Path, place: int, question: Question, traits: ServerTraits | None) -> TurnRecord:
    photo = folder / "photos" / f"{question.photo if question.photo is not None else question.number}.jpg"
    photo.write_bytes(jpeg(int(photo.stem)))
    script: dict[str, Says] = {
        "sample_query": says({"query": question.query}),
        "rank_evidence": says({"relevant": [1]}),
        "answer_briefly": says(question.answered),
        "plan_tools": says("<think>x</think><tool>\n1. flip\n</tool>"),
        "filter_knowledge": says(question.knowledge),
        "answer_from_knowledge": says(question.answered),
    }
    pages = [page(text, f"Tower {question.number}") for text in question.helpful]
    with counting_calls(keep=True) as calls:
        async with bench(script, traits=traits) as it:
            await _ask(it, question, photo.read_bytes(), [OTHER, *pages])
    results = [{"title": each.title, "url": each.url, "text": each.text} for each in (OTHER, *pages)]
    run_facts = Told(
        notes=[{"stage": "text_search", "text": f"2 results: x; kept: {question.query}"}],
        found=[{"stage": "text_search", **each} for each in results],
        model_calls=calls.words or [],
    )
    truth = Truth(
        interaction_id=f"i-{question.number}",
        answer_type=AnswerType.DATE if question.answerable else AnswerType.UNANSWERABLE,
        accepted=question.accepted,
        value=question.accepted[0] if question.accepted else None,
        entity=f"Tower {question.number}",
    )
    explanation = Explanation.model_validate(run_facts.model_dump(mode="json"))
    session = question.session or f"session-{question.number}"
    answer = answered(question.answered, explanation=explanation, session_id=session)
    where = {"session_id": session, "turn": question.turn, "place": place, "photo": str(photo.resolve())}
    words = {"question": question.text, "gold": question.gold, "domain": "other", "truth": truth}
    record = turn_of(truth.interaction_id, answer, **where, **words)
    return record.model_copy(update=dict(question.record))


async def _ask(it: Bench, question: Question, photo: bytes, pages: Sequence[Evidence]) -> None:
    history = (Turn("What is this?", "A red tower.", False),) if question.turn else ()
    query = Query(question.text, Photo(photo, 64, 48, "digest"), history=history)
    enough, gathered = GenerationBudget(), Material(tuple(pages))
    await it.three_step.sample_queries(query, 2, deadline())
    await it.three_step.rank(query, pages, 10, deadline())
    await it.three_step.answer(query, context(*pages), enough, deadline())
    plan = await it.wiki_prf.plan_tools(query, deadline())
    knowledge = await it.wiki_prf.filter(query, plan, gathered, deadline())
    await it.wiki_prf.answer(query, knowledge, context(*pages), enough, deadline())
