"""Rollouts: the platform's own `wiki-prf` pipeline answers, and the trained model takes two of its steps.

The plan and the filter are the trained model's, captions and the answer the frozen base's; search, grounding
and reranking are calls to running services (Wiki-PRF, sections 3.2 to 3.4). What is trained is therefore what
is served, prompts included. The two steps are turns of one chat: its tokens are one sequence, of which only
what the model wrote carries loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from PIL import Image

from chassis.errors import Internal, LoreglassError
from chassis.resilience.deadlines import Deadline
from evaluation.data.model import Truth
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import APPROXIMATE, exact_match
from evaluation.judging.verdicts import Case, Verdict
from gateway.clients.services import Services
from gateway.llm.completion import Completion
from gateway.llm.prompt import ImagePart, Prompt, TextPart, Value, VlmOptions
from gateway.llm.reasoner import Model
from gateway.llm.wire import Token
from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner, plan_prompt
from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline
from gateway.pipelines.wiki_prf.tool_plan import knowledge_in_form, plan_in_form, read_plan
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Photo, Query
from gateway.state import Turn as Said
from gateway.thresholds import Thresholds
from training.chat import Chats, Turn
from training.grpo.writing import Ask, Continuation, Together, Writer
from training.samples import Message, Piece, QuestionSample

NAMES = ("answer", "tool_format", "filter_format", "tool_use")
"""The rewards."""
PLAN, FILTER = "plan_tools", "filter_knowledge"
ANSWERS = ("answer_from_knowledge", "answer_in_short")
_OWN = frozenset({Stage.TOOL_PLAN, Stage.KNOWLEDGE_FILTER})
_HERE = "[the reply]"
"""Stands in a rendered chat for the model's own tokens."""


class ServicesDown(Exception):
    """No question could be answered, or no model writes; the message names what failed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its photo."""

    sample: QuestionSample
    photo: Path | None

    @property
    def query(self) -> Query:
        history = tuple(Said(question, answer, False) for question, answer in self.sample.history)
        return Query(self.sample.question, self._photo, history=history)

    @property
    def _photo(self) -> Photo | None:
        """Return the photo as it is: the data set's photos are cleaned and scaled by the gateway's code."""
        if self.photo is None:
            return None
        with Image.open(self.photo) as opened:
            width, height = opened.size
        return Photo(self.photo.read_bytes(), width, height, self.photo.stem)


@dataclass(slots=True)
class Trajectory:
    """The texts of one rollout. `plan`, `knowledge`: written by the trained model, None if it was not asked.

    `answer`: written by the frozen base, empty for a refusal; `confidence`: of the answer, in 0..1, 0 for a
    refusal; None where the base tells no log probabilities. `ids`: the chat's tokens after its `prompt`; 1 in
    `mask` where the model wrote them itself.
    """

    plan: str | None = None
    knowledge: str | None = None
    answer: str = ""
    prompt: tuple[int, ...] = ()
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    confidence: float | None = 0.0
    failed: tuple[str, ...] = ()

    def add(self, ids: Sequence[int], *, own: bool) -> None:
        """Tokens of the model, or of others, which carry no loss."""
        self.ids += ids
        self.mask += [int(own)] * len(ids)


@dataclass(frozen=True, slots=True)
class Platform:
    """Services and models for rollouts. `base`: captions and answers; None: the model without its LoRA.

    `missing`: modules that the pipeline leaves out.
    """

    services: Services
    thresholds: Thresholds
    options: VlmOptions
    base: Model | None = None
    missing: frozenset[str] = frozenset()


class Roller:
    """Makes rollouts of questions, all at once."""

    def __init__(self, chats: Chats, writer: Writer, rollout_s: float) -> None:
        self._chats = chats
        self._writer = writer
        self._rollout_s = rollout_s

    async def roll_out(self, platform: Platform, questions: Sequence[Question]) -> list[Trajectory]:
        """Return one trajectory for each question. Raises `ServicesDown`, and what the writer raises."""
        together = Together[Ask, Continuation](self._writer, len(questions))
        slots: list[Trajectory | None] = [None] * len(questions)

        async def work(place: int) -> None:
            try:
                slots[place] = await self._one(platform, questions[place], place, together)
            finally:
                together.leave()

        async with anyio.create_task_group() as tasks:
            for place in range(len(questions)):
                tasks.start_soon(work, place)
        if together.failure is not None:
            raise together.failure
        trajectories = [each for each in slots if each is not None]
        if all(each.failed for each in trajectories):
            stages = ", ".join(sorted({stage for each in trajectories for stage in each.failed}))
            raise ServicesDown(f"Every rollout did without {stages}. Do the services run, with an index?")
        return trajectories

    async def _one(
        self,
        platform: Platform,
        question: Question,
        place: int,
        together: Together[Ask, Continuation],
    ) -> Trajectory:
        query = question.query
        chat = messages_of(plan_prompt(query, platform.options))
        ids = self._chats.inputs([Turn(chat, question.photo)])["input_ids"][0].tolist()
        trajectory = Trajectory(prompt=tuple(ids))
        member = Member(self._chats, question, place, together, trajectory, platform.base)
        pipeline = WikiPrfPipeline(
            platform.services,
            WikiPrfVlmReasoner(member, platform.options),
            platform.thresholds,
            missing=platform.missing,
        )
        run = Run(f"rollout-{place}", Deadline.after_ms(self._rollout_s * 1000))
        try:
            outcome = await pipeline.answer(query, run)
            if not outcome.abstained:
                trajectory.answer = outcome.answer
                trajectory.confidence = outcome.confidence if member.measured else None
        except LoreglassError as error:
            trajectory.failed = (error.kind.value,)
        trajectory.failed += tuple(stage.value for stage in run.failures if stage not in _OWN)
        return trajectory


@dataclass(slots=True)
class Member:
    """A `Model` for one rollout: the trained one for plan and filter, the frozen base for the rest.

    `base`: None is the trained one without its LoRA. `measured`: whether log probabilities of the answer were
    told.
    """

    chats: Chats
    question: Question
    place: int
    together: Together[Ask, Continuation]
    trajectory: Trajectory
    base: Model | None
    measured: bool = False

    @property
    def sees_photos(self) -> bool:
        """See `Model`."""
        return self.base is None or self.base.sees_photos

    async def complete(self, prompt: Prompt[Value], deadline: Deadline) -> Completion[Value]:
        """See `Model`."""
        if not prompt.is_text:
            raise Internal(f"{prompt.name} asks for an object, which no step of wiki-prf does")
        if prompt.name == PLAN:
            self.trajectory.plan = await self._plan(prompt)
            return _written(self.trajectory.plan)
        if prompt.name == FILTER:
            self.trajectory.knowledge = await self._filter(prompt)
            return _written(self.trajectory.knowledge)
        reply = await (self._frozen(prompt) if self.base is None else self.base.complete(prompt, deadline))
        if prompt.name in ANSWERS:
            self.measured = reply.tokens is not None
        return reply

    async def _frozen(self, prompt: Prompt[Any]) -> Completion[Any]:
        chat = Turn(messages_of(prompt), self.question.photo if shows_photo(prompt) else None)
        ids = self.chats.inputs([chat])["input_ids"][0].tolist()
        reply = await self._written(prompt, ids, chat.photo, frozen=True)
        return _written(self._text(reply.ids), tuple(reply.tokens(self.chats.tokenizer)))

    async def _plan(self, prompt: Prompt[Any]) -> str:
        ids = (await self._written(prompt, self.trajectory.prompt, self.question.photo)).ids
        self.trajectory.add(ids, own=True)
        return self._text(ids)

    async def _filter(self, prompt: Prompt[Any]) -> str:
        """Continue the chat with the search results as the user's next turn, whose tokens carry no loss."""
        self.trajectory.add(self._between(prompt), own=False)
        so_far = (*self.trajectory.prompt, *self.trajectory.ids)
        ids = (await self._written(prompt, so_far, self.question.photo)).ids
        self.trajectory.add(ids, own=True)
        return self._text(ids)

    def _between(self, prompt: Prompt[Any]) -> list[int]:
        """Return the tokens from the end of the model's turn to the beginning of its next one."""
        task = prompt.user[-1]
        user = Message(role="user", content=_pieces((task,)))
        reply = Message(role="assistant", content=(Piece(type="text", text=_HERE),))
        text = self.chats.prompt(Turn((user, reply, user), None)).rpartition(_HERE)[2]
        end = self.chats.tokenizer.eos_token
        ended = self.trajectory.ids[-1:] == [self.chats.tokenizer.eos_token_id]
        return self.chats.ids(text.removeprefix(end) if ended else text)

    async def _written(
        self, prompt: Prompt[Any], ids: Sequence[int], photo: Path | None, *, frozen: bool = False
    ) -> Continuation:
        image = None if photo is None else self.chats.photo(photo)
        ask = Ask(tuple(ids), image, prompt.max_tokens, prompt.ends_with, frozen)
        return await self.together.ask(self.place, ask)

    def _text(self, ids: Sequence[int]) -> str:
        text: str = self.chats.tokenizer.decode(ids, skip_special_tokens=True)
        return text


def messages_of(prompt: Prompt[Any]) -> tuple[Message, ...]:
    chat = [Message(role="system", content=(Piece(type="text", text=prompt.system),))]
    if prompt.earlier is not None:
        chat.append(Message(role="user", content=_pieces(prompt.earlier.user)))
        reply = Piece(type="text", text=prompt.earlier.reply)
        chat.append(Message(role="assistant", content=(reply,)))
    return (*chat, Message(role="user", content=_pieces(prompt.user)))


def shows_photo(prompt: Prompt[Any]) -> bool:
    return any(isinstance(part, ImagePart) for part in prompt.user)


def _pieces(parts: Sequence[TextPart | ImagePart]) -> tuple[Piece, ...]:
    return tuple(
        Piece(type="image") if isinstance(part, ImagePart) else Piece(type="text", text=part.text)
        for part in parts
    )


def _written(text: str, tokens: tuple[Token, ...] | None = None) -> Completion[Any]:
    return Completion(text, text, tokens, "stop")


def rewards(written: Trajectory, sample: QuestionSample, *, by_scorer: bool = False) -> dict[str, float]:
    """Return the rewards by name, each 0 or 1 (Wiki-PRF, section 3.5, equations 12 and 13), before weights.

    The form that is checked is the strict one of `wiki_prf.tool_plan`; serving reads leniently.
    """
    return {
        "answer": answer_reward(written.answer, sample, by_scorer=by_scorer),
        "tool_format": float(written.plan is not None and plan_in_form(written.plan) is not None),
        "filter_format": float(
            written.knowledge is not None and knowledge_in_form(written.knowledge) is not None
        ),
        "tool_use": float(written.plan is not None and read_plan(written.plan) is not None),
    }


def answer_reward(answer: str, sample: QuestionSample, *, by_scorer: bool = False) -> float:
    """Return 1 for a right answer, by exact match with an accepted answer or by the evaluation's rules."""
    if not answer.strip():
        return 0.0
    if not by_scorer:
        return exact_match(answer, [sample.gold, *sample.accepted])
    truth = Truth.model_validate(sample.truth) if sample.truth else None
    case = Case(sample.id, sample.question, sample.gold, APPROXIMATE(answer), truth)
    return float(judge_by_rules(case).verdict in (Verdict.CORRECT, Verdict.ACCEPTABLE))
