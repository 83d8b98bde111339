"""Make the samples of each task from one turn of a run, with the labels of the papers.

BlackPearl (arXiv 2507.21520), sections 2.2 and 3.3: the query is the base model's own; results that help are
marked one by one; an answer is the base model's own where it is right, else a refusal (in the tables' rows
without refusals: the gold answer), and where wanted the gold answer in other words that were found right.
Wiki-PRF, table 6: the filter by supervised fine-tuning, here on the base model's own knowledge where it is in
form and the answer made from it was right.
"""

from collections.abc import Sequence
from dataclasses import replace

from contracts.domain_router import Domain
from evaluation.data.model import is_answerable
from evaluation.judging.text import APPROXIMATE
from evaluation.judging.verdicts import RIGHT
from evaluation.scoring.protocols import case_of
from gateway.llm.completion import read_reply
from gateway.llm.delimiting import pieces_in
from gateway.llm.reading import answer_of
from gateway.llm.reply_forms import LINES
from gateway.llm.schemas import Structured
from gateway.pipelines.three_step.model import MOST_NUMBERS, Ranking, SearchPhrase
from gateway.pipelines.wiki_prf.tool_plan import knowledge_in_form
from loreglass_client.models import ModelCall
from training.data.referee import Need, Referee
from training.data.turns import BrokenTurn, RunTurn, messages_of, run_identity
from training.samples import (
    ConversationSample,
    DomainSample,
    Label,
    PassagesSample,
    QuestionSample,
    Sample,
    Task,
    Wrong,
    digest,
)

REFUSAL = "I don't know."
_MOST_NEGATIVES = 8
OF_THE_DATA_SET = frozenset({Task.QUESTION, Task.DOMAIN})
"""Tasks whose samples are the same in every run, and need no run."""
_PAGES, _RANKED = "text_search", "rank_evidence"


class NothingToLearn(Exception):
    """A valid turn gives no sample of this task; the message says why, briefly."""


class Tasks:
    """Makes samples of turns. `augmented`: other wordings of a right answer, at most so many; 0: none.

    `wrong`: the label of an answer that is not right.
    """

    def __init__(self, referee: Referee, augmented: int = 0, wrong: Wrong = Wrong.REFUSAL) -> None:
        self._referee = referee
        self._augmented = augmented
        self._wrong = wrong
        self._makers = {
            Task.QUERY: self._query,
            Task.RERANK: self._rerank,
            Task.ANSWER: self._answer,
            Task.FILTER: self._filter,
            Task.QUESTION: self._question,
            Task.DOMAIN: self._domain,
            Task.PASSAGES: self._passages,
        }

    async def samples(self, task: Task, turn: RunTurn) -> list[Sample]:
        """Raises `NothingToLearn`, `BrokenTurn` and `NoJudgement`."""
        if turn.record.answer is None and task not in OF_THE_DATA_SET:
            raise BrokenTurn(f"there is no answer ({turn.record.error or 'nobody was asked'})")
        return await self._makers[task](turn)

    async def _query(self, turn: RunTurn) -> list[Sample]:
        """Label the draw that the search used: the paper does not say which of several is learnt."""
        used, calls = turn.note(_PAGES, "kept: "), dict[str, ModelCall]()
        for call in _required(turn, "sample_query"):
            read = read_reply(call.reply, SearchPhrase)
            if read is not None:
                calls.setdefault(read[0].query, call)
        if not calls:
            raise NothingToLearn("no draw could be read")
        query = used if used in calls else next(iter(calls))
        label = spell(calls[query], SearchPhrase(query=query))
        return [_conversation(turn, Task.QUERY, calls[query], label, Label.OWN)]

    async def _rerank(self, turn: RunTurn) -> list[Sample]:
        call = _required(turn, _RANKED)[-1]
        pieces = pieces_in(_last_text(call))
        if not pieces:
            raise NothingToLearn("no result was shown")
        helpful = await self._helpful(turn, list(pieces.values()))
        numbers = [number for number, helps in zip(pieces, helpful, strict=True) if helps]
        label = spell(call, Ranking(relevant=numbers[:MOST_NUMBERS]))
        return [_conversation(turn, Task.RERANK, call, label, Label.JUDGED)]

    async def _answer(self, turn: RunTurn) -> list[Sample]:
        call, record = _required(turn, "answer_briefly")[-1], turn.record
        answer = answer_of(call.reply)
        if answer is None or not await self._is_right(turn, answer):
            if self._wrong is Wrong.REFUSAL:
                return [_conversation(turn, Task.ANSWER, call, REFUSAL, Label.REFUSAL)]
            gold = record.gold.strip()
            if self._wrong is Wrong.DROP or not gold:
                raise NothingToLearn("the answer was not right" if gold else "there is no gold answer")
            return [_conversation(turn, Task.ANSWER, call, gold, Label.GOLD)]
        samples: list[Sample] = [_conversation(turn, Task.ANSWER, call, answer, Label.OWN)]
        if self._augmented:
            worded = await self._referee.rewordings(record.question, record.gold, self._augmented)
            right = [text for text in worded if await self._is_right(turn, text)]
            samples += [_conversation(turn, Task.ANSWER, call, text, Label.AUGMENTED) for text in right]
        return samples

    async def _filter(self, turn: RunTurn) -> list[Sample]:
        call = _required(turn, "filter_knowledge")[-1]
        if knowledge_in_form(call.reply) is None:
            raise NothingToLearn("the knowledge was not in form")
        answered = turn.calls("answer_from_knowledge") or turn.calls("answer_in_short")
        answer = answer_of(answered[-1].reply) if answered else None
        if answer is None or not await self._is_right(turn, answer):
            raise NothingToLearn("the answer was not right")
        return [_conversation(turn, Task.FILTER, call, call.reply.strip(), Label.OWN)]

    async def _question(self, turn: RunTurn) -> list[Sample]:
        record = turn.record
        if not record.gold.strip() or not record.answerable:
            raise NothingToLearn("there is no answer")
        truth = record.truth
        return [
            QuestionSample(
                task=Task.QUESTION,
                question=record.question,
                history=turn.history,
                gold=record.gold,
                accepted=truth.accepted if truth else (),
                truth=truth.model_dump(mode="json") if truth else None,
                article=(truth.photographed or truth.entity) if truth else "",
                **_place(turn, Task.QUESTION),
            )
        ]

    async def _domain(self, turn: RunTurn) -> list[Sample]:
        if not turn.record.domain:
            raise NothingToLearn("no domain is known")
        if turn.record.domain not in set(Domain):
            raise BrokenTurn(f"{turn.record.domain!r} is no domain of the contract")
        return [
            DomainSample(
                task=Task.DOMAIN,
                question=turn.record.question,
                domain=turn.record.domain,
                **_place(turn, Task.DOMAIN),
            )
        ]

    async def _passages(self, turn: RunTurn) -> list[Sample]:
        """Make a sample for each result that helps, with those that do not."""
        explanation = turn.record.answer.explanation if turn.record.answer else None
        pages = [each for each in explanation.found if each.stage == _PAGES] if explanation else []
        texts = list(dict.fromkeys(f"{each.title}\n{each.text}".strip() for each in pages if each.text))
        if not texts or not turn.photo:
            raise NothingToLearn("no page was found" if turn.photo else "there is no photo")
        helpful = await self._helpful(turn, texts)
        good = [text for text, helps in zip(texts, helpful, strict=True) if helps]
        others = tuple(text for text, helps in zip(texts, helpful, strict=True) if not helps)
        if not good:
            raise NothingToLearn("no page helped")
        return [
            PassagesSample(
                task=Task.PASSAGES,
                question=turn.record.question,
                positive=text,
                negatives=others[:_MOST_NEGATIVES],
                **_place(turn, Task.PASSAGES, text),
            )
            for text in good
        ]

    async def _helpful(self, turn: RunTurn, pieces: Sequence[str]) -> list[bool]:
        record = turn.record
        search = turn.note(_PAGES, "kept: ") or record.question
        need = Need(record.question, search, record.gold, record.truth)
        return [await self._referee.helps(need, piece) for piece in pieces]

    async def _is_right(self, turn: RunTurn, answer: str) -> bool:
        """Return whether an answer is right. Any answer to an unanswerable question is wrong."""
        if not is_answerable(turn.record.truth) or not turn.record.gold.strip():
            return False
        case = replace(case_of(turn.record), answer=APPROXIMATE(answer), abstained=False, failed=False)
        return (await self._referee.verdict(case)).verdict in RIGHT


def spell(call: ModelCall, reply: Structured) -> str:
    """Return a reply in the form that the call asked for."""
    return reply.as_lines().strip() if call.form == LINES else reply.as_json()


def _required(turn: RunTurn, prompt: str) -> list[ModelCall]:
    calls = turn.calls(prompt)
    if not calls:
        raise NothingToLearn(f"the model was not asked {prompt}")
    return calls


def _last_text(call: ModelCall) -> str:
    return "\n".join(part.text for part in call.messages[-1].content) if call.messages else ""


def _conversation(
    turn: RunTurn, task: Task, call: ModelCall, label: str, source: Label
) -> ConversationSample:
    messages, record = messages_of(call), turn.record
    try:
        return ConversationSample(
            task=task,
            messages=messages,
            label=label,
            source=source,
            question=record.question,
            gold=record.gold,
            truth=record.truth.model_dump(mode="json") if record.truth else None,
            reply=call.reply,
            **_place(turn, task, label),
        )
    except ValueError as error:
        raise BrokenTurn(f"its {call.prompt} call is no sample: {str(error).splitlines()[-1]}") from error


def _place(turn: RunTurn, task: Task, text: str = "") -> dict[str, object]:
    """Return the fields that every sample has."""
    record, dataset = turn.record, turn.run.header.dataset
    source = (dataset, record.question) if task in OF_THE_DATA_SET else run_identity(turn.run)
    return {
        "id": digest(task.value, *source, record.interaction_id, text),
        "part": turn.part,
        "origin": turn.origin,
        "photo": turn.photo,
    }
