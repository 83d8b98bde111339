"""Whether every prompt of every pipeline fits into every preset's context: `python -m capacity.contexts`.

Each reasoner is asked for every call that it makes, with a client that keeps the prompt and answers nothing:
once with the longest of everything in the script that costs most, which tells the fullest prompt; once with
plain English, which tells how much is read of the evidence that the pipeline gives.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn, cast

import anyio

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Route
from contracts.domain_router import Domain
from gateway.llm.client import VlmClient
from gateway.llm.delimiting import harmless
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.options import VlmOptions, Window
from gateway.llm.prompt import Prompt, TextPart, TextPrompt
from gateway.llm.reasoner import VlmReasoner
from gateway.llm.tokens import within_tokens
from gateway.pipelines.baselines.crag_mm import IMAGE_CONTEXT_TOKENS, WEB_CONTEXT_TOKENS
from gateway.pipelines.baselines.direct_rag import IMAGE_SHARE
from gateway.pipelines.baselines.model import VlmBaselines
from gateway.pipelines.baselines.port import Retrieved
from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
from gateway.pipelines.three_step.model import ThreeStepVlmReasoner
from gateway.pipelines.three_step.pipeline import IMAGE_CHARS, LIST_CHARS
from gateway.pipelines.wiki_prf.model import KNOWLEDGE_CHARS, PLAN_TOKENS, WikiPrfVlmReasoner
from gateway.pipelines.wiki_prf.pipeline import EVIDENCE_CHARS
from gateway.pipelines.wiki_prf.port import Gathered, ToolPlan
from gateway.planning.stage_graph import CHARS_A_TOKEN
from gateway.reasoning.photo_context import PhotoContext
from gateway.reasoning.pieces import first_pieces
from gateway.settings import GatewaySettings
from gateway.state import (
    Context,
    Draft,
    Entity,
    Evidence,
    GenerationBudget,
    Photo,
    PhotoText,
    Query,
    Reply,
    TextLine,
    Turn,
)
from services.vlm.presets import PRESETS, Preset

COSTLIEST = "\U0001d160"
"""A musical note: one character, four bytes, and twelve once Qwen's tokenizer has normalised it."""
PLAIN = "The bridge was built of stone in the summer of that year, and people cross it still. "

Asked = Prompt[Any] | TextPrompt
Calls = Callable[["Material", VlmClient, VlmOptions], Iterator[Awaitable[object]]]


@dataclass(frozen=True, slots=True)
class Row:
    """The fullest prompt of a pipeline. `reads`: its tokens at most, with the photo; `reply`: the longest.

    `shown`: characters of English evidence in its longest prompt, of `given`.
    """

    pipeline: str
    preset: str
    prompt: str
    reads: int
    reply: int
    context: int
    shown: int
    given: int


class _Listening:
    """In place of a `VlmClient`: keeps each prompt, and has no reply."""

    sees_photos = True

    def __init__(self) -> None:
        self.prompts: list[Asked] = []

    async def complete(self, prompt: Asked, deadline: Deadline) -> NoReturn:
        self.prompts.append(prompt)
        raise VlmReplyUnusable("Nobody is there to answer.")

    write = complete


@dataclass(frozen=True, slots=True)
class Material:
    """The most that callers, services and earlier replies put into a prompt, all of it made of `unit`."""

    unit: str
    settings: GatewaySettings = field(default_factory=GatewaySettings.model_construct)

    def text(self, chars: int) -> str:
        """So many characters."""
        return (self.unit * (chars // len(self.unit) + 1))[:chars]

    @property
    def query(self) -> Query:
        """The longest question after the longest conversation, with a photo and wishes."""
        said = self.text(self.settings.max_question_chars)
        turns = (Turn(said, said, abstained=False, entity=self.thing),) * 12
        return Query(said, Photo(b"", 1, 1, ""), history=turns, instructions=said)

    @property
    def thing(self) -> Entity:
        """With attributes."""
        return Entity(self.text(300), 1.0, (("k" * 80, self.text(400)),) * 12)

    @property
    def draft(self) -> Draft:
        """Every field as long as its schema lets it be."""
        text, empty = self.text, frozenset[Any]()
        return Draft(
            text(48),
            text(120),
            text(1_500),
            text(400),
            0.5,
            self_contained=False,
            tools=empty,
            sub_queries=(),
        )

    def pieces(self, chars: int, kind: CitationKind = CitationKind.PAGE) -> tuple[Evidence, ...]:
        """At least so many characters, in passages of 600."""
        return (Evidence(self.text(600), self.text(200), "", kind),) * (chars // 600 + 2)

    @property
    def printed(self) -> PhotoText:
        """A photo full of print."""
        return PhotoText((TextLine(self.text(2_000), 1.0, (0, 0, 1, 1)),))

    def context(self, chars: int) -> Context:
        """What is known when the answer is written."""
        return Context(Route.RAG, self.thing, self.printed, first_pieces(self.pieces(chars), chars))

    def reply(self, options: VlmOptions) -> Reply:
        """As long an answer as the model may write."""
        return Reply(within_tokens(harmless(self.text(400)), options.tokens.answer), 0.5)

    def photo_context(self) -> PhotoContext:
        """The query, and what nobody who sees waits for."""

        async def read() -> PhotoText:
            return self.printed

        async def recognise() -> tuple[Entity, ...]:
            return (self.thing,)

        return PhotoContext(self.query, read, recognise)

    def retrieved(self, image_chars: int, page_chars: int) -> Retrieved:
        """Both searches' results within their budgets."""
        records = self.pieces(image_chars, CitationKind.IMAGE)
        found = Retrieved((self.thing,) * 30, records, self.pieces(page_chars) if page_chars else ())
        return found.within(image_chars, page_chars)


_SOON = Deadline.after_ms(60_000)
_GENERATION = GenerationBudget()


def _unheard(_: str) -> None:
    """Nobody searches here."""


def _loreglass(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
    reasoner, context = VlmReasoner(client, options), it.context(20_000)
    for domain in (None, *Domain):
        yield reasoner.draft(it.query, domain, it.photo_context().read_photo, _unheard, _SOON)
    yield reasoner.answer(it.query, it.draft, context, _GENERATION, _SOON)
    yield reasoner.judge(it.query, it.reply(options), context, _GENERATION, _SOON)
    yield reasoner.rewrite(it.query, _SOON)


def _qa_dragon(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
    steps, texts = StepwiseVlmReasoner(client, options), [it.text(200)] * 6
    yield steps.chain_of_thought(it.query, None, it.photo_context().read_photo, _SOON)
    yield steps.choose_tools(it.query, it.draft, _SOON)
    yield steps.list_objects(it.query, _SOON)
    yield steps.select_object(it.query, [it.text(48)] * 8, _SOON)
    yield steps.match_entity(it.query, it.draft, [it.thing] * 8, it.printed, _SOON)
    yield steps.split_query(it.query, it.draft, _SOON)
    yield steps.enhance_queries(it.query, texts, it.thing, _SOON)
    yield steps.answer(it.query, it.draft, it.context(20_000), _GENERATION, _SOON)
    yield steps.judge(it.query, it.reply(options), it.context(20_000), _GENERATION, _SOON)


def _three_step(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
    steps, found = ThreeStepVlmReasoner(client, options), first_pieces(it.pieces(LIST_CHARS), LIST_CHARS)
    known = first_pieces(it.pieces(IMAGE_CHARS, CitationKind.IMAGE), IMAGE_CHARS)
    yield steps.sample_queries(it.photo_context(), 1, _SOON)
    yield steps.rank(it.query, found, 10, _SOON)
    context = Context(Route.RAG, it.thing, it.printed, (*known, *found[:10]))
    yield steps.answer(it.photo_context(), context, _GENERATION, _SOON)


def _wiki_prf(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
    steps = WikiPrfVlmReasoner(client, options)
    sections = tuple(Evidence(f"{n} {each.text}", each.title, "", each.kind) for n, each in _numbered(it))
    gathered = Gathered(sections[::2], sections[1::2]).within(EVIDENCE_CHARS)
    context = Context(Route.RAG, it.thing, PhotoText(), gathered.evidence)
    yield steps.plan_tools(it.photo_context(), _SOON)
    yield steps.describe(it.query, it.text(250), _SOON)
    for written in ("", it.text(4 * PLAN_TOKENS)):
        yield steps.filter(it.query, ToolPlan(written=written), gathered, _SOON)
    for knowledge in (None, it.text(KNOWLEDGE_CHARS)):
        yield steps.answer(it.photo_context(), knowledge, context, _GENERATION, _SOON)


def _numbered(it: Material) -> Iterator[tuple[int, Evidence]]:
    return enumerate(it.pieces(2 * EVIDENCE_CHARS))


def _searched(image_chars: int, page_chars: int) -> Calls:
    def calls(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
        reader, found = VlmBaselines(client, options), it.retrieved(image_chars, page_chars)
        printed = it.photo_context().read_photo
        yield reader.rewrite_query(it.query, found, printed, _SOON)
        yield reader.answer_from(it.query, found, printed, _GENERATION, _SOON)

    return calls


def _alone(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
    yield VlmBaselines(client, options).answer_alone(it.query, it.photo_context().read_photo, _SOON)


def _in_steps(it: Material, client: VlmClient, options: VlmOptions) -> Iterator[Awaitable[object]]:
    yield VlmBaselines(client, options).answer_in_steps(it.query, it.photo_context().read_photo, _SOON)


_DIRECT = _GENERATION.evidence_chars
_IMAGES, _WEB = IMAGE_CONTEXT_TOKENS * CHARS_A_TOKEN, WEB_CONTEXT_TOKENS * CHARS_A_TOKEN
CALLS: Mapping[str, Calls] = {
    "loreglass": _loreglass,
    "qa-dragon": _qa_dragon,
    "three-step": _three_step,
    "wiki-prf": _wiki_prf,
    "crag-mm-task-1": _searched(_IMAGES, 0),
    "crag-mm-task-2": _searched(_IMAGES, _WEB),
    "crag-mm-task-3": _searched(_IMAGES, _WEB),
    "direct-rag": _searched(round(_DIRECT * IMAGE_SHARE), round(_DIRECT * (1 - IMAGE_SHARE))),
    "llm-only": _alone,
    "cot": _in_steps,
}
"""The model calls of each pipeline."""
_ENDLESS = Window(10**6)


def window_of(preset: Preset) -> Window:
    """What the gateway is told of a preset."""
    return Window(preset.context, preset.prompt_photo_tokens)


def prompts(pipeline: str, material: Material, window: Window) -> list[Asked]:
    """Every prompt of a pipeline."""
    listening = _Listening()
    client, options = cast(VlmClient, listening), VlmOptions(window=window)

    async def ask() -> None:
        for call in CALLS[pipeline](material, client, options):
            with suppress(VlmReplyUnusable):
                await call

    anyio.run(ask)
    return listening.prompts


@lru_cache
def fullest(pipeline: str, window: Window) -> Asked:
    """The prompt that leaves least, of the longest of everything in the costliest script."""
    return min(prompts(pipeline, Material(COSTLIEST), window), key=window.left)


@lru_cache
def evidence_shown(pipeline: str, window: Window) -> int:
    """Characters of English evidence that its longest prompt reads."""
    return max(map(_evidence_chars, prompts(pipeline, _Usual(PLAIN), window)))


def row(pipeline: str, preset: Preset) -> Row:
    """Of one pipeline with one preset."""
    window = window_of(preset)
    prompt = fullest(pipeline, window)
    shown, given = evidence_shown(pipeline, window), evidence_shown(pipeline, _ENDLESS)
    reads, reply = window.reads(prompt), prompt.max_tokens
    return Row(pipeline, preset.name, prompt.name, reads, reply, window.context, shown, given)


class _Usual(Material):
    """Everything short but the evidence."""

    __slots__ = ()

    @property
    def query(self) -> Query:
        """A short one."""
        return Query(PLAIN[:60], Photo(b"", 1, 1, ""))

    @property
    def draft(self) -> Draft:
        """One that knows nothing."""
        none = frozenset[Any]()
        return Draft(None, None, "", None, 0.5, self_contained=False, tools=none, sub_queries=())

    @property
    def thing(self) -> Entity:
        """A name."""
        return Entity(PLAIN[:20], 1.0)

    @property
    def printed(self) -> PhotoText:
        """None."""
        return PhotoText()


def _evidence_chars(prompt: Asked) -> int:
    """Characters of the plain sentence in the last part, which holds the evidence."""
    last = prompt.user[-1]
    return last.text.count(PLAIN.strip()) * len(PLAIN) if isinstance(last, TextPart) else 0


def table(rows: Sequence[Row]) -> str:
    """As text."""
    head = (
        "pipeline",
        "preset",
        "fullest prompt",
        "tokens",
        "reply",
        "context",
        "evidence shown",
    )
    lines = [
        (
            each.pipeline,
            each.preset,
            each.prompt,
            f"{each.reads:,}",
            str(each.reply),
            f"{each.context:,}",
            f"{each.shown:,} of {each.given:,}" if each.given else "",
        )
        for each in rows
    ]
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    padded = [
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in (head, *lines)
    ]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def main() -> None:
    """Print it."""
    rows = [row(pipeline, preset) for pipeline in CALLS for preset in PRESETS.values()]
    sys.stdout.write(table(rows) + "\n")


if __name__ == "__main__":
    main()
