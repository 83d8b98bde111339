"""Build training data from runs."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from bench.node import LLAMA_ON_VLLM_0_10_2, ServerTraits
from evaluation.data.model import AnswerType, Truth
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.verdicts import Case, Judgement
from evaluation.runs.store import RunError
from gateway.llm.reply_forms import in_lines
from tests.unit.training.asked_runs import Question, ask_run, jpeg
from training.data.building import DataSet, Plan, build
from training.data.referee import MEMORY, Need, NoJudgement, Referee
from training.samples import (
    INDEX,
    REJECTED,
    ConversationSample,
    Label,
    Part,
    QuestionSample,
    Task,
    UnreadableData,
    Wrong,
    read_samples,
)

RIGHT, WRONG = Question(1), Question(2, answered="It was built in 1802.")
REFUSED = Question(3, answered="I don't know.")
WITHOUT_FORMS = ServerTraits(json_schema=False, json_object=False)
ALL = (Task.QUERY, Task.RERANK, Task.ANSWER, Task.FILTER, Task.QUESTION, Task.DOMAIN, Task.PASSAGES)


class ScriptedReferee(Referee):
    """A judge that words labels anew, and may be silent; it counts what it is asked."""

    def __init__(self, folder: Path, words: tuple[str, ...] = (), *, silent_after: int = 10**9) -> None:
        super().__init__(RuleJudge(), folder)
        self.requests: list[str] = []
        self._words = words
        self._left = silent_after

    async def _ask_judge(self, case: Case) -> Judgement:
        self._count(f"{case.question} {case.answer}")
        return await super()._ask_judge(case)

    async def _marked(self, need: Need, piece: str) -> bool:
        self._count(f"{need.question} {piece}")
        return await super()._marked(need, piece)

    async def _reworded(self, question: str, gold: str, count: int) -> list[str]:
        self._count(gold)
        return list(self._words[:count])

    def _count(self, what: str) -> None:
        if self._left == 0:
            raise NoJudgement("it is asleep")
        self._left -= 1
        self.requests.append(what)


async def built(out: Path, *runs: Path, referee: Referee | None = None, **plan: Any) -> DataSet:
    await anyio.Path(out).mkdir(exist_ok=True)
    with referee or Referee(RuleJudge(), out) as remembering:
        every = Plan(tuple(map(str, runs)), out, **{"tasks": ALL, **plan})
        return await build(every, remembering, RuleJudge())


async def run_and_build(folder: Path, *questions: Question, **plan: Any) -> DataSet:
    """Run the questions, then build their data set in `folder / "data"`."""
    await ask_run(folder / "run", questions)
    return await built(folder / "data", folder / "run", **plan)


def conversations(folder: Path, task: Task) -> list[ConversationSample]:
    return list(read_samples(folder / "data", task).samples)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


@pytest.mark.parametrize(
    ("wrong", "sources"),
    [
        (Wrong.REFUSAL, [Label.OWN] + [Label.REFUSAL] * 4),
        (Wrong.GOLD, [Label.OWN] + [Label.GOLD] * 3),
        (Wrong.DROP, [Label.OWN]),
    ],
)
async def test_label_is_the_correct_answer_or_a_refusal_or_gold(
    tmp_path: Path, wrong: Wrong, sources: list[Label]
) -> None:
    unanswerable = Question(5, answerable=False, accepted=(), gold="I don't know.")
    questions = (RIGHT, WRONG, REFUSED, unanswerable, Question(4, gold=" ", answered="Never."))
    data = await run_and_build(tmp_path, *questions, wrong=wrong)
    result = conversations(tmp_path, Task.ANSWER)
    labels = {Label.OWN: RIGHT.answered, Label.REFUSAL: "I don't know."}
    assert [each.source for each in result] == sources
    assert [each.label for each in result] == [labels.get(each.source, each.gold) for each in result]
    assert [each.reply for each in result] == [each.answered for each in questions[: len(result)]]
    assert data.unused[Task.ANSWER]["there is no gold answer"] == (wrong is not Wrong.REFUSAL)


async def test_rewordings_are_kept_if_right(tmp_path: Path) -> None:
    await ask_run(tmp_path / "run", [RIGHT, WRONG])
    referee = ScriptedReferee(tmp_path / "data", ("1931.", "In 1931 it was built.", "It was built in 1999."))
    await built(tmp_path / "data", tmp_path / "run", referee=referee, augmented=10)
    result = conversations(tmp_path, Task.ANSWER)
    assert Counter(each.source for each in result) == {Label.OWN: 1, Label.AUGMENTED: 2, Label.REFUSAL: 1}
    augmented = {each.label for each in result if each.source is Label.AUGMENTED}
    assert augmented == {"1931.", "In 1931 it was built."}


@pytest.mark.parametrize("traits", [None, WITHOUT_FORMS, LLAMA_ON_VLLM_0_10_2])
async def test_rerank_label_lists_helpful_results(traits: ServerTraits | None, tmp_path: Path) -> None:
    helpful = ("The red tower was built in 1931.", "Work on the tower ended in 1931.")
    await ask_run(tmp_path / "run", [Question(1, helpful=helpful)], traits=traits)
    await built(tmp_path / "data", tmp_path / "run", tasks=(Task.RERANK, Task.QUERY))
    (sample,) = conversations(tmp_path, Task.RERANK)
    (query,) = conversations(tmp_path, Task.QUERY)
    listed = {"relevant": [2, 3]}
    in_words = traits is WITHOUT_FORMS
    spelled = in_lines if in_words else json.dumps
    assert (sample.label, query.label) == (spelled(listed), spelled({"query": RIGHT.query}))
    assert sample.source is Label.JUDGED


async def test_sample_equals_the_models_prompt(tmp_path: Path) -> None:
    run = await ask_run(tmp_path / "run", [Question(1, turn=1)])
    await built(tmp_path / "data", tmp_path / "run")
    (sample,) = conversations(tmp_path, Task.ANSWER)
    answer = run.records[0].answer
    assert answer
    assert answer.explanation
    (call,) = [call for call in answer.explanation.model_calls if call.prompt == "answer_briefly"]
    assert [(each.role, [part.text for part in each.content]) for each in sample.messages] == [
        (each.role, [part.text for part in each.content]) for each in call.messages
    ]
    assert "A red tower." in sample.messages[-1].content[1].text
    assert sample.messages[-1].content[0].type == "image"
    assert (tmp_path / "data" / sample.photo).is_file()
    assert (sample.origin.run, sample.origin.interaction_id, sample.origin.turn) == ("run", "i-1", 1)


async def test_filter_label_needs_form_and_right_answer(tmp_path: Path) -> None:
    loose = Question(4, knowledge="<answer>Built in 1931.</answer>")
    data = await run_and_build(tmp_path, RIGHT, WRONG, loose)
    (sample,) = conversations(tmp_path, Task.FILTER)
    assert sample.label == RIGHT.knowledge
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "user"]
    assert data.unused[Task.FILTER] == {"the answer was not right": 1, "the knowledge was not in form": 1}


async def test_questions_have_gold_article_and_history(tmp_path: Path) -> None:
    first, second = Question(1, session="s"), Question(2, session="s", turn=1)
    await run_and_build(
        tmp_path, first, second, Question(3, answerable=False, accepted=()), tasks=(Task.QUESTION,)
    )
    results: list[QuestionSample] = list(read_samples(tmp_path / "data", Task.QUESTION).samples)
    assert [each.question for each in results] == [first.text, second.text]
    assert results[1].history == ((first.text, first.answered),)
    assert (results[0].gold, results[0].accepted, results[0].article) == (first.gold, ("1931",), "Tower 1")


async def test_samples_of_a_photo_share_a_part(tmp_path: Path) -> None:
    questions = [Question(number, photo=number // 2) for number in range(40)]
    await run_and_build(tmp_path, *questions, tasks=(Task.ANSWER, Task.QUESTION))
    parts: dict[str, set[Part]] = {}
    for task in (Task.ANSWER, Task.QUESTION):
        for sample in read_samples(tmp_path / "data", task).samples:
            parts.setdefault(sample.photo, set()).add(sample.part)
    assert len(parts) == 20
    assert all(len(each) == 1 for each in parts.values())
    held_out = sum(each == {Part.HELD_OUT} for each in parts.values())
    assert 1 <= held_out <= 8


async def test_rebuilding_gives_the_same_bytes(tmp_path: Path) -> None:
    await ask_run(tmp_path / "run", [RIGHT, WRONG, REFUSED])
    first = ScriptedReferee(tmp_path / "data", ("1931.",))
    await built(tmp_path / "data", tmp_path / "run", referee=first, augmented=1)
    before = files(tmp_path / "data")
    again = ScriptedReferee(tmp_path / "data", ("1931.",))
    await built(tmp_path / "data", tmp_path / "run", referee=again, augmented=1)
    assert files(tmp_path / "data") == before
    assert first.requests
    assert again.requests == []


async def test_failing_judge_leaves_samples_for_later(tmp_path: Path) -> None:
    await ask_run(tmp_path / "run", [RIGHT, WRONG, REFUSED])
    half = await built(
        tmp_path / "data", tmp_path / "run", referee=ScriptedReferee(tmp_path / "data", silent_after=2)
    )
    assert half.unjudged > 0
    content = (tmp_path / "data" / MEMORY).read_text().splitlines()
    (tmp_path / "data" / MEMORY).write_text("\n".join([*content, '{"key": "half a li']))
    rest = ScriptedReferee(tmp_path / "data")
    whole = await built(tmp_path / "data", tmp_path / "run", referee=rest)
    straight = await built(tmp_path / "other", tmp_path / "run", referee=ScriptedReferee(tmp_path / "other"))
    assert whole.unjudged == 0
    assert len(set(rest.requests)) == len(rest.requests)
    different = {
        name for name, data in files(tmp_path / "data").items() if files(tmp_path / "other")[name] != data
    }
    assert different == {MEMORY}
    assert whole.samples == straight.samples


async def test_judgement_of_an_older_version_is_not_asked_again(tmp_path: Path) -> None:
    key = "2acf733401ec2b318105b3d62de728335ab5a44fad53669b31580dfa6523efc0"  # before `scorer`
    line = {"key": key, "said": {"verdict": "correct", "why": "stored"}}
    (tmp_path / MEMORY).write_text(json.dumps(line) + "\n")
    truth = Truth(interaction_id="x", answer_type=AnswerType.NAME, accepted=("Mira Holm",))
    referee = ScriptedReferee(tmp_path, silent_after=0)
    assert (await referee.verdict(Case("x", "Who?", "Mira Holm.", "Nobody.", truth))).why == "stored"


async def test_invalid_rows_are_reported_and_others_built(tmp_path: Path) -> None:
    questions = [
        RIGHT,
        Question(5, gold="word " * 10_000),
        Question(6),
        Question(7, record={"answer": None, "error": "timed_out"}),
        Question(8, record={"domain": "astrology"}),
    ]
    run = await ask_run(tmp_path / "run", questions)
    run.photo(run.records[2]).unlink()
    data = await built(tmp_path / "data", tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "data" / REJECTED).read_text().splitlines()]
    assert [row["where"] for row in rows] == [f"run, interaction i-{number}" for number in (5, 6, 7, 8)]
    for row, words in zip(rows, ("10000 words", "6.jpg", "timed_out", "astrology"), strict=True):
        assert words in row["why"]
    assert {each.origin.interaction_id for each in data.samples[Task.ANSWER]} == {"i-1", "i-8"}


async def test_uniform_labels_are_reported(tmp_path: Path) -> None:
    questions = [Question(number, answered="I don't know.") for number in range(10)]
    data = await run_and_build(tmp_path, *questions, tasks=(Task.ANSWER,))
    assert any('10 of 10 labels are "I don\'t know."' in fault for fault in data.faults)
    assert json.loads((tmp_path / "data" / INDEX).read_text())["faults"] == data.faults


async def test_run_without_model_calls_is_refused_with_advice(tmp_path: Path) -> None:
    await ask_run(tmp_path / "run", [RIGHT], model_calls=False)
    with pytest.raises(UnreadableData, match="--model-calls"):
        await built(tmp_path / "data", tmp_path / "run")
    await built(tmp_path / "data", tmp_path / "run", tasks=(Task.QUESTION,))


async def test_helpful_passage_has_negatives(tmp_path: Path) -> None:
    await run_and_build(tmp_path, RIGHT, tasks=(Task.PASSAGES,))
    (sample,) = read_samples(tmp_path / "data", Task.PASSAGES).samples
    assert "built in 1931" in sample.positive
    assert ["Rome is the capital" in text for text in sample.negatives] == [True]


async def test_question_in_two_runs_is_one_question(tmp_path: Path) -> None:
    """Both runs lie in folders of one name, as `eval run` calls them by the pipeline."""
    runs = [tmp_path / day / "three-step" for day in ("monday", "tuesday")]
    for at, run in enumerate(runs):
        await ask_run(run, [RIGHT], started_at=float(at))
    data = await built(tmp_path / "data", *runs, tasks=(Task.QUESTION, Task.ANSWER))
    assert len(read_samples(tmp_path / "data", Task.QUESTION).samples) == 1
    assert len(read_samples(tmp_path / "data", Task.ANSWER).samples) == 2
    counts = {task: len(samples) for task, samples in data.samples.items()}
    assert counts == {Task.QUESTION: 1, Task.ANSWER: 2}


async def test_questions_and_domains_need_no_run(tmp_path: Path) -> None:
    of_one = {"session_id": "s", "photo": "tower.jpg", "domain": "book"}
    rows = [
        {**of_one, "question": "Who wrote it?", "answer": "Ana Lind."},
        {**of_one, "question": "When?", "answer": "In 1931."},
        {"session_id": "t", "photo": "../elsewhere.jpg", "question": "What is it?", "answer": "A mill."},
    ]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tower.jpg").write_bytes(jpeg(1))
    (tmp_path / "own" / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    tasks = (Task.QUESTION, Task.DOMAIN)
    data = await built(tmp_path / "data", tmp_path / "own", tasks=tasks)
    samples = read_samples(tmp_path / "data", Task.QUESTION).samples
    assert [each.history for each in samples] == [(), (("Who wrote it?", "Ana Lind."),)]
    assert {each.domain for each in read_samples(tmp_path / "data", Task.DOMAIN).samples} == {"book"}
    assert [row.where for row in data.rejected] == ["own, questions.jsonl, line 3"], data.rejected
    with pytest.raises(RunError, match="run"):
        await built(tmp_path / "other", tmp_path / "own", tasks=(Task.ANSWER,))
