"""The published baselines: what each searches, what it shows its reader, how it says it does not know."""

from dataclasses import replace
from typing import Any

import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from contracts.image_search import ImageSearchReply
from contracts.text_search import TextSearchReply
from gateway.pipelines.baselines import crag_mm
from gateway.pipelines.baselines.crag_mm import CragMmPipeline
from gateway.pipelines.baselines.retrieved import Retrieved
from gateway.planning.plan import FULL
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Entity, Photo, Query, Quote, Reply, Turn
from tests.unit.gateway.baselines import CLOSED, SEARCHING, ScriptedReader, asked, baseline
from tests.unit.gateway.fakes import AUTHOR, BOOK, PAGES, FakeServices, Mood, image_hit, text_hit
from tests.unit.gateway.stepwise import PHOTO, WHO_WROTE, clients_of

pytestmark = pytest.mark.anyio

EVERY = (*CLOSED, *SEARCHING)
WITH_WEB = ("direct-rag", "crag-mm-task-2", "crag-mm-task-3")
HISTORY = (Turn("What is this?", BOOK, False, Entity(BOOK, 0.9)),)


def many_things(*scores: float, **attributes: str) -> FakeServices:
    """Services that find a thing for each score."""
    services = FakeServices()
    hits = [image_hit(f"Thing {place}", score, **attributes) for place, score in enumerate(scores)]
    services.image_search.reply = ImageSearchReply(hits=hits, collection="images")
    return services


def many_pages(count: int, text: str = PAGES) -> FakeServices:
    """Services that find so many pages."""
    services = FakeServices()
    hits = [text_hit(f"{place}. {text}") for place in range(count)]
    services.text_search.reply = TextSearchReply(hits=hits, collection="pages")
    return services


# How many calls, and of what


@pytest.mark.parametrize(
    ("name", "calls", "stages"),
    [
        ("llm-only", ["answer_alone"], ["answer"]),
        ("cot", ["answer_in_steps"], ["draft"]),
        ("direct-rag", ["answer_from"], ["image_search", "text_search", "answer"]),
        ("crag-mm-task-1", ["answer_from"], ["image_search", "answer"]),
        *(
            (
                f"crag-mm-task-{task}",
                ["rewrite_query", "answer_from"],
                ["image_search", "query_rewrite", "text_search", "answer"],
            )
            for task in (2, 3)
        ),
    ],
)
async def test_each_baseline_takes_its_own_steps_and_no_other(
    name: str, calls: list[str], stages: list[str]
) -> None:
    result = await asked(name)
    assert result.reader.calls() == calls
    assert sorted(result.stages) == sorted(stages)
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == []
    spared = ("cropper", "reranker", "domain_router", "verifier", "ocr")
    assert [result.services[each].calls for each in spared] == [[]] * len(spared)


@pytest.mark.parametrize("name", EVERY)
async def test_only_what_searched_took_the_rag_route(name: str) -> None:
    outcome = (await asked(name)).outcome
    assert outcome.route is (Route.DIRECT if name in CLOSED else Route.RAG)


# What is searched


async def test_direct_rag_searches_the_whole_photo_and_the_question_as_it_is() -> None:
    services = (await asked("direct-rag")).services
    assert services.image_search.calls == [([PHOTO.jpeg], 5)]
    (request,) = services.text_search.calls
    assert (request.queries, request.k) == ([WHO_WROTE], 10)


async def test_task_1_searches_thirty_pictures_and_no_page() -> None:
    services = (await asked("crag-mm-task-1")).services
    assert services.image_search.calls == [([PHOTO.jpeg], 30)]
    assert services.text_search.calls == []


@pytest.mark.parametrize("name", ["crag-mm-task-2", "crag-mm-task-3"])
async def test_tasks_2_and_3_search_fifty_pages_for_the_rewritten_question(name: str) -> None:
    result = await asked(name)
    (request,) = result.services.text_search.calls
    assert (request.queries, request.k) == (["who wrote The Salt Road"], 50)
    told = result.run.explain.to_explanation(None)
    assert told is not None
    notes = [(note.stage, note.text) for note in told.notes]
    assert notes == [("image_search", f"{BOOK} 0.970"), ("query_rewrite", "who wrote The Salt Road")]
    assert told.proposed == AUTHOR
    assert [piece.text for piece in told.evidence] == [AUTHOR, PAGES]


@pytest.mark.parametrize("name", ["crag-mm-task-2", "crag-mm-task-3"])
async def test_who_rewrites_the_question_knows_what_image_search_found(name: str) -> None:
    _, found = (await asked(name)).reader.given("rewrite_query")
    assert [thing.name for thing in found.things] == [BOOK]
    assert [record.text for record in found.records] == [AUTHOR]
    assert found.pages == ()


@pytest.mark.parametrize("task", crag_mm.TASKS)
async def test_things_count_from_three_quarters_on(task: int) -> None:
    services = many_things(0.9, 0.75, 0.749, 0.1)
    _, found = (await asked(f"crag-mm-task-{task}", services=services)).reader.given("answer_from")
    assert [thing.name for thing in found.things] == ["Thing 0", "Thing 1"]
    assert [record.score for record in found.records] == [0.9, 0.75]


def test_the_cut_is_a_part_of_the_pipeline_and_no_threshold() -> None:
    fields = CragMmPipeline.__dataclass_fields__
    assert (fields["similar_from"].default, fields["images"].default, fields["pages"].default) == (
        0.75,
        30,
        50,
    )


async def test_direct_rag_cuts_nothing_off() -> None:
    result = await asked("direct-rag", services=many_things(0.9, 0.1))
    _, found = result.reader.given("answer_from")
    assert [thing.name for thing in found.things] == ["Thing 0", "Thing 1"]
    told = result.run.explain.to_explanation(None)
    assert told is not None
    assert ("image_search", "Thing 0 0.900; Thing 1 0.100") in [(n.stage, n.text) for n in told.notes]
    assert told.signals == {"image_top": 0.9, "answer_confidence": 0.9}


@pytest.mark.parametrize("name", WITH_WEB)
async def test_pages_come_in_search_order(name: str) -> None:
    result = await asked(name, services=many_pages(3))
    _, found = result.reader.given("answer_from")
    assert [page.text[0] for page in found.pages] == ["0", "1", "2"]
    assert [page.score for page in found.pages] == [1 / 2, 1 / 3, 1 / 4]
    assert result.services.reranker.calls == []


@pytest.mark.parametrize("name", SEARCHING)
async def test_without_a_photo_no_picture_is_searched(name: str) -> None:
    result = await asked(name, photo=None)
    assert result.services.image_search.calls == []
    assert result.reader.given("answer_from")[1].things == ()


# What the reader is shown


@pytest.mark.parametrize("task", [1, 2])
async def test_the_single_turn_tasks_know_nothing_of_the_conversation(task: int) -> None:
    result = await asked(f"crag-mm-task-{task}", history=HISTORY, photo_is_new=False)
    for _, ask, _ in result.reader.asked:
        assert (ask.history, ask.photo_is_new, ask.question) == ((), True, WHO_WROTE)


@pytest.mark.parametrize("name", [*CLOSED, "direct-rag", "crag-mm-task-3"])
async def test_every_other_baseline_reads_the_conversation(name: str) -> None:
    result = await asked(name, history=HISTORY, photo_is_new=False)
    assert result.reader.asked
    assert all(ask.history == HISTORY and not ask.photo_is_new for _, ask, _ in result.reader.asked)


@pytest.mark.parametrize("name", ["crag-mm-task-1", "crag-mm-task-2"])
async def test_what_image_search_found_takes_two_thousand_tokens_at_most(name: str) -> None:
    services = many_things(*[0.9] * 30, about="a very long story about it. " * 40)
    _, found = (await asked(name, services=services)).reader.given("answer_from")
    assert len(found.things) == 30
    assert 6_000 < found.image_chars <= 2_000 * 4


async def test_what_web_search_found_takes_eight_thousand_tokens_at_most() -> None:
    services = many_pages(50, f"{BOOK} is long. " * 100)
    _, found = (await asked("crag-mm-task-2", services=services)).reader.given("answer_from")
    assert 30_000 < found.page_chars <= 8_000 * 4
    assert len(found.pages) > 12  # passages stay whole: none of it is there twice


async def test_direct_rag_keeps_within_the_evidence_of_the_plan() -> None:
    services = many_pages(10, f"{BOOK} is long. " * 100)
    _, found = (await asked("direct-rag", services=services)).reader.given("answer_from")
    assert FULL.evidence_chars / 2 < found.image_chars + found.page_chars <= FULL.evidence_chars


async def test_a_plan_with_less_evidence_takes_its_share_of_their_own_budgets() -> None:
    services = many_pages(50, f"{BOOK} is long. " * 100)
    plan = replace(FULL, evidence_chars=1_200, text_hits=5)
    result = await asked("crag-mm-task-2", services=services, plan=plan)
    assert result.services.text_search.calls[0].k == 25
    _, found = result.reader.given("answer_from")
    assert 18_000 < found.page_chars <= 8_000 * 4 * 3 // 5


# What is said


@pytest.mark.parametrize("name", EVERY)
async def test_an_answer_is_given_as_it_was_said_however_unsure(name: str) -> None:
    unsure = Reply("Mira Holm, perhaps.", 0.05)
    result = await asked(name, ScriptedReader(alone=unsure, say=lambda _: unsure))
    outcome = result.outcome
    assert (outcome.answer, outcome.confidence, outcome.citations) == ("Mira Holm, perhaps.", 0.05, ())
    assert outcome.reason is Reason.ANSWERED


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("said", [None, "", "  ", "I don’t know.", "I'm not sure what this is."])
async def test_who_says_that_he_does_not_know_has_refused(name: str, said: str | None) -> None:
    unsure = Reply(said, 0.9)
    outcome = (await asked(name, ScriptedReader(alone=unsure, say=lambda _: unsure))).outcome
    assert (outcome.reason, outcome.abstained) == (Reason.MODEL_UNSURE, True)
    assert outcome.answer.startswith("I don't know")


@pytest.mark.parametrize("name", SEARCHING)
async def test_a_refusal_for_want_of_anything_found_says_so(name: str) -> None:
    services = many_things()
    services.text_search.reply = TextSearchReply(hits=[], collection="pages")
    outcome = (await asked(name, services=services)).outcome
    assert (outcome.reason, outcome.route) == (Reason.NO_EVIDENCE, Route.RAG)


@pytest.mark.parametrize("name", SEARCHING)
async def test_cited_is_what_stands_in_the_pieces_that_were_shown(name: str) -> None:
    quotes = (Quote(0, AUTHOR), Quote(0, "made up"), Quote(9, AUTHOR))
    outcome = (await asked(name, ScriptedReader(say=lambda _: Reply(AUTHOR, 0.9, quotes)))).outcome
    (citation,) = outcome.citations
    assert (citation.snippet, citation.kind, citation.score) == (AUTHOR, CitationKind.IMAGE, 0.97)


# What may fail


@pytest.mark.parametrize("mood", [Mood.CRASHES, Mood.BUSY, Mood.TALKS_NONSENSE])
@pytest.mark.parametrize("name", SEARCHING)
async def test_without_image_search_the_rest_is_read(name: str, mood: Mood) -> None:
    services = FakeServices()
    services.image_search.mood = mood
    result = await asked(name, services=services)
    _, found = result.reader.given("answer_from")
    assert found.things == ()
    assert result.run.degraded == ["image_search"]
    assert result.outcome.abstained == (name == "crag-mm-task-1")


@pytest.mark.parametrize("mood", [Mood.CRASHES, Mood.BUSY, Mood.TALKS_NONSENSE])
@pytest.mark.parametrize("name", WITH_WEB)
async def test_without_web_search_the_rest_is_read(name: str, mood: Mood) -> None:
    services = FakeServices()
    services.text_search.mood = mood
    result = await asked(name, services=services)
    assert result.run.degraded == ["text_search"]
    assert result.outcome.answer == AUTHOR


class CannotRewrite(ScriptedReader):
    """Answers, but rewrites nothing."""

    async def rewrite_query(self, *_: Any) -> str:
        """See the port."""
        raise DependencyUnavailable


@pytest.mark.parametrize("name", ["crag-mm-task-2", "crag-mm-task-3"])
async def test_a_question_that_nobody_rewrites_is_searched_as_it_is(name: str) -> None:
    result = await asked(name, CannotRewrite())
    assert result.services.text_search.calls[0].queries == [WHO_WROTE]
    assert result.run.degraded == ["query_rewrite"]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("error", [DependencyUnavailable(), Overloaded(), DeadlineExceeded()])
async def test_a_model_that_is_away_is_named_and_raised(name: str, error: LoreglassError) -> None:
    reader, services = ScriptedReader(error=error), FakeServices()
    run = Run("trace", Deadline.after_ms(30_000))
    async with clients_of(services) as clients:
        with pytest.raises(type(error)):
            await baseline(name, clients, reader).answer(Query(WHO_WROTE, PHOTO), run)
    assert run.degraded[-1] == ("draft" if name == "cot" else "answer")


@pytest.mark.parametrize("name", EVERY)
async def test_a_fault_of_ours_is_raised(name: str) -> None:
    with pytest.raises(Internal):
        await asked(name, ScriptedReader(error=Internal()))


async def test_a_page_without_a_space_is_no_longer_than_a_word_may_be() -> None:
    services = many_pages(1, "x" * 50_000)
    _, found = (await asked("crag-mm-task-2", services=services)).reader.given("answer_from")
    assert found.page_chars < 1_000


async def test_stages_have_their_budgets_and_the_answer_its_work() -> None:
    result = await asked("crag-mm-task-3", photo=Photo(b"other", 1, 1, "d"))
    assert {Stage(stage) for stage in result.stages} <= set(Stage)
    assert result.services.image_search.calls == [([b"other"], 30)]


def test_nothing_found_is_nothing_to_show() -> None:
    assert Retrieved().evidence == ()
    assert (Retrieved().image_chars, Retrieved().page_chars) == (0, 0)
