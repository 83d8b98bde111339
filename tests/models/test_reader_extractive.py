"""The extractive reader on tiny weights: its numbers against direct computations, and its service."""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights
from services.reader.app import create_app
from services.reader.engine import Answer, Passage, PassageKind, Query, Span
from services.reader.engines.extractive import ExtractiveReader, ReadingOptions
from services.reader.engines.features import uncalibrated
from services.reader.engines.windows import Logits, QuestionAnsweringModel, Window, WindowLimits
from services.reader.settings import ReaderSettings
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_bge import tiny_bge
from tests.models.tiny_reader import POSITIONS, tiny_reader, tiny_roberta_reader

CPU = Accelerator("cpu", "float32")
QUESTION = "Who built the red tower?"
TEXTS = [
    "The red tower 7 was built by Ada in 1907. It is not a book! Is it a dog?",
    "Ada",
    "a dog or a book, " * 40 + "the tower was built in 1931 by Émile 🗼 Núñez.",
    "No 🐕 is a tower; “Ada” built it — in 1907.\nRED TOWER\nOpen 10:00",
]
PASSAGES = [Passage(text) for text in TEXTS]
HOT = 20.0
SHORT_ANSWERS = ReadingOptions(answer_tokens=6, curve=uncalibrated(HOT))
"""Random weights give margins far below 0: a high temperature keeps every answer worth sending."""
STRIDE = 16


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_reader(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def folders(bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"BERT": bert_folder, "RoBERTa": tiny_roberta_reader(tmp_path_factory.mktemp("roberta"))}


@pytest.fixture(scope="module")
def model(bert_folder: Path) -> QuestionAnsweringModel:
    return opened(bert_folder)


def opened(folder: Path, most: int = 256) -> QuestionAnsweringModel:
    limits = WindowLimits(stride=STRIDE, most=most)
    return QuestionAnsweringModel.from_pretrained(str(folder), CPU, limits)


def _direct_windows(folder: Path, question: str, text: str) -> list[tuple[Any, list[Any], np.ndarray, int]]:
    """For each window: character offsets, which part each token is of, logits, and where [CLS] is.

    Transformers alone, one window at a time, nothing padded.
    """
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    head: Any = AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    encoded = tokenizer(
        question,
        text,
        truncation="only_second",
        max_length=POSITIONS,
        stride=STRIDE,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    results = []
    for row, ids in enumerate(encoded["input_ids"]):
        named = {
            name: torch.tensor([encoded[name][row]])
            for name in tokenizer.model_input_names
            if name in encoded
        }
        with torch.inference_mode():
            given = head(**named)
        logits = torch.cat([given.start_logits, given.end_logits]).double().numpy()
        parts = encoded.sequence_ids(row)
        results.append((encoded["offset_mapping"][row], parts, logits, ids.index(tokenizer.cls_token_id)))
    return results


def _every_span(folder: Path, question: str, texts: Sequence[str]) -> list[tuple[float, int, int, int]]:
    """(margin, passage, start, end) of every span of up to six tokens in every window, best first.

    RoBERTa's tokens of a line break stand for no character; they do not count.
    """
    spans = []
    for passage, text in enumerate(texts):
        for offsets, parts, logits, null in _direct_windows(folder, question, text):
            nothing = logits[0, null] + logits[1, null]
            answers = [
                place
                for place, part in enumerate(parts)
                if part == 1 and offsets[place][0] < offsets[place][1]
            ]
            for number, first in enumerate(answers):
                for last in answers[number : number + 6]:
                    margin = logits[0, first] + logits[1, last] - nothing
                    spans.append((float(margin), passage, offsets[first][0], offsets[last][1]))
    return sorted(spans, key=lambda span: (-span[0], span[1:]))


def _margin(answer: Answer) -> float:
    return HOT * math.log(answer.probability / (1 - answer.probability))


@pytest.mark.parametrize("kind", ["BERT", "RoBERTa"])
def test_best_span_equals_exhaustive_search(folders: dict[str, Path], kind: str, parity: Parity) -> None:
    reader = ExtractiveReader(opened(folders[kind]), options=SHORT_ANSWERS)
    apart = 0.0
    for texts in (*([text] for text in TEXTS), TEXTS):
        margin, passage, start, end = _every_span(folders[kind], QUESTION, texts)[0]
        (answer,) = reader.read(Query(QUESTION), [Passage(text) for text in texts])
        assert (answer.passage, answer.span.start, answer.span.end) == (passage, start, end)
        apart = max(apart, abs(_margin(answer) - margin))
    parity(f"reader, margins of a {kind}", "every span counted out", apart)


def test_answers_are_from_different_sentences_best_first(model: QuestionAnsweringModel) -> None:
    answers = ExtractiveReader(model, options=SHORT_ANSWERS).read(Query(QUESTION), PASSAGES, 16)
    assert len(answers) > 4
    probabilities = [answer.probability for answer in answers]
    assert probabilities == sorted(probabilities, reverse=True)
    for one, other in itertools.combinations(answers, 2):
        assert (
            one.passage != other.passage
            or one.sentence.end <= other.sentence.start
            or other.sentence.end <= one.sentence.start
        )
    for answer in answers:
        assert answer.sentence.start <= answer.span.start < answer.span.end <= answer.sentence.end
        assert TEXTS[answer.passage][answer.span.start : answer.span.end].strip()
        assert answer.spoken


def test_scores_do_not_depend_on_the_rest_of_the_batch(model: QuestionAnsweringModel) -> None:
    mine = model.windows(QUESTION, TEXTS)
    strangers = model.windows("is it a dog?", ["dog " * 200, "yes", "a book"])
    alone = [model.forward([window])[0] for window in mine]
    together = model.forward([*strangers, *mine])[len(strangers) :]
    assert max(float(np.abs(a - b).max()) for a, b in zip(alone, together, strict=True)) < 1e-5


def _pointing_at(model: QuestionAnsweringModel, first: str, last: str, height: float) -> Any:
    """A forward that has its highest logits, each half of `height` above [CLS], at these words' tokens."""
    tokenizer: Any = model._tokenizer
    start, end = (tokenizer.convert_tokens_to_ids(word) for word in (first, last))

    def forward(windows: Sequence[Window]) -> list[Logits]:
        rows = []
        for window in windows:
            row = np.full((2, len(window.ids)), -50.0, np.float32)
            row[:, window.null] = 0.0
            row[0, np.array(window.ids) == start] = height / 2
            row[1, np.array(window.ids) == end] = height / 2
            rows.append(row)
        return rows

    return forward


FIVE, TITLED = Passage("ada red tower dog book"), Passage("A book about a dog.", title="Built by Ada")
RUNNING_ON = "It was a book. The red tower\nwas built by Ada. It was a dog."
PRINT = Passage(RUNNING_ON, kind=PassageKind.PHOTO)


@pytest.mark.parametrize(
    ("first", "last", "passage", "longest", "span", "sentence"),
    [
        ("ada", "book", FIVE, 5, FIVE.text, FIVE.text),
        ("ada", "book", FIVE, 4, None, None),
        ("book", "ada", FIVE, 5, None, None),  # the span would end before it starts
        ("ada", "ada", TITLED, 5, None, None),  # "ada" is in the title
        ("tower", "tower", TITLED, 5, None, None),  # "tower" is in the question
        ("dog", "dog", TITLED, 5, "dog", TITLED.text),
        ("red", "ada", Passage(RUNNING_ON), 6, None, None),
        ("red", "ada", PRINT, 6, "red tower\nwas built by Ada", "The red tower\nwas built by Ada."),
    ],
)
def test_an_answer_is_a_span_of_the_passage_with_its_sentences(
    model: QuestionAnsweringModel,
    first: str,
    last: str,
    passage: Passage,
    longest: int,
    span: str | None,
    sentence: str | None,
) -> None:
    options = ReadingOptions(answer_tokens=longest)
    reader = ExtractiveReader(model, _pointing_at(model, first, last, 4.0), options)
    answers = reader.read(Query(QUESTION), [passage])
    parts = [(_part(passage, answer.span), _part(passage, answer.sentence)) for answer in answers]
    assert parts == ([] if span is None else [(span, sentence)])


def _part(passage: Passage, span: Span) -> str:
    return passage.text[span.start : span.end]


def test_clear_no_answer_score_gives_no_answer(model: QuestionAnsweringModel) -> None:
    unwilling = ExtractiveReader(model, _pointing_at(model, "ada", "ada", -20.0))
    assert unwilling.read(Query(QUESTION), PASSAGES[:1]) == []
    assert ExtractiveReader(model).read(Query(QUESTION), []) == []
    assert ExtractiveReader(model).read(Query(QUESTION), [Passage(""), Passage(" \n ")]) == []


def test_titles_are_read_for_pages_only(model: QuestionAnsweringModel) -> None:
    reader = ExtractiveReader(model, options=SHORT_ANSWERS)
    untitled, titled, printed = (
        reader.read(Query(QUESTION), [passage])[0].probability
        for passage in (
            Passage("Ada built it."),
            Passage("Ada built it.", title="The red tower"),
            Passage("Ada built it.", title="The red tower", kind=PassageKind.PHOTO),
        )
    )
    assert titled != untitled
    assert printed == untitled


@pytest.mark.parametrize("kind", ["BERT", "RoBERTa"])
def test_windows_cover_long_passages_with_the_stride(folders: dict[str, Path], kind: str) -> None:
    text = " ".join(f"tower{number}" for number in range(200))
    windows = opened(folders[kind]).windows(QUESTION, [text])
    assert len(windows) > 3
    assert max(len(window.ids) for window in windows) <= POSITIONS
    spans = [window.offsets[window.offsets[:, 0] >= 0] for window in windows]
    read = {place for offsets in spans for start, end in offsets for place in range(start, end)}
    assert {place for place, letter in enumerate(text) if letter != " "} <= read
    for one, other in itertools.pairwise(spans):
        assert len({tuple(each) for each in one} & {tuple(each) for each in other}) == STRIDE


def test_windows_are_limited_with_passage_starts_first(bert_folder: Path) -> None:
    few = opened(bert_folder, most=5)
    windows = few.windows(QUESTION, ["dog " * 500, "book " * 500, "yes"])
    assert [window.passage for window in windows] == [0, 1, 2, 0, 1]


def test_a_question_that_would_fill_its_window_leaves_room_for_the_passage(
    model: QuestionAnsweringModel,
) -> None:
    (window,) = model.windows("tower " * 2000, ["It was built by Ada."])
    assert int((window.offsets[:, 0] >= 0).sum()) == 6
    assert len(window.ids) == POSITIONS // 2 + 3 + 6


@pytest.mark.parametrize(("kind", "mark"), [("BERT", "[SEP]"), ("BERT", "[CLS]"), ("RoBERTa", "</s>")])
def test_special_tokens_in_a_page_are_text(folders: dict[str, Path], kind: str, mark: str) -> None:
    reading = opened(folders[kind])
    (plain,), (marked,) = (reading.windows(QUESTION, [text]) for text in ("Ada.", f"Ada. {mark}"))
    tokenizer: Any = AutoTokenizer.from_pretrained(folders[kind])
    number = tokenizer.convert_tokens_to_ids(mark)
    assert marked.ids.count(number) == plain.ids.count(number)
    assert marked.null == plain.null == 0


def test_subject_is_prepended_to_questions_that_lack_it(model: QuestionAnsweringModel) -> None:
    reader = ExtractiveReader(model, options=SHORT_ANSWERS)
    pointing, named, unnamed = (
        reader.read(query, PASSAGES)[0].probability
        for query in (
            Query("Who built it?", "the red tower"),
            Query("the red tower: Who built it?", "the red tower"),
            Query("Who built it?"),
        )
    )
    assert pointing == named != unnamed


def test_weights_without_a_head_for_questions_are_refused(tmp_path: Path, bert_folder: Path) -> None:
    with pytest.raises(WrongWeights, match=r"weights are missing.*qa_outputs"):
        opened(tiny_bge(tmp_path / "bge"))
    head = AutoModelForQuestionAnswering.from_pretrained(bert_folder).eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(bert_folder)
    tokenizer.add_tokens(["<more>"])
    with pytest.raises(WrongWeights, match="the tokenizer has"):
        QuestionAnsweringModel(head, tokenizer, CPU, "tiny")
    tokenizer.cls_token = None
    with pytest.raises(WrongWeights, match="needs a fast tokenizer"):
        QuestionAnsweringModel(head, tokenizer, CPU, "tiny")


async def test_reader_service_equals_its_engine(bert_folder: Path) -> None:
    engine = QuestionAnsweringModel.from_pretrained(str(bert_folder), CPU)
    bare = ExtractiveReader(engine, options=ReadingOptions(curve=uncalibrated(HOT)))
    settings = ReaderSettings(
        port=0, engine="extractive", model=str(bert_folder), device="cpu", temperature=HOT
    )
    body = {"question": QUESTION, "passages": [{"text": text} for text in TEXTS], "top_n": 3}
    async with live(create_app(settings)) as client:
        assert (await client.get("/health/ready")).status_code == 200
        info = (await client.get("/info")).json()
        reply = (await client.post("/v1/read", json=body)).json()
    assert (info["engine"], info["device"], info["dtype"]) == ("extractive", "cpu", "float32")
    assert reply["model"] == bert_folder.name
    for sent, expected in zip(reply["answers"], bare.read(Query(QUESTION), PASSAGES, 3), strict=True):
        assert (sent["passage_index"], sent["span"]["start"]) == (expected.passage, expected.span.start)
        assert sent["probability"] == pytest.approx(expected.probability, abs=1e-5)
