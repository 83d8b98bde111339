"""Training the builtin reader and the sentence encoder."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from typer.testing import CliRunner

from chassis.models import encoders as served
from chassis.models.encoders import CrossEncoder
from evaluation.data.model import DatasetError
from services.reader.engine import Passage
from tests.models.tiny_bge import tiny_bge
from training import cli, onnx_export
from training import onnx_export as exported
from training.reader.clauses import loss
from training.reader.measure import Outcome, figures_of
from training.reader.rows import Row, near_misses, read_rows
from training.reader.tasks import read_tasks

COLOURS = ("red", "blue", "green", "old")


def rows(folder: Path) -> Path:
    """Scenes of which each knows a colour and no year."""
    path = folder / "rows.jsonl"
    scenes = [
        {
            "subject": f"tower {place}",
            "passages": [{"text": f"the tower {place} is {colour} and tall .", "title": "tower"}],
            "questions": [
                {"question": "what colour is it ?", "answers": [colour]},
                {"question": "what year is it ?", "answers": []},
            ],
        }
        for place, colour in enumerate(COLOURS * 3)
    ]
    path.write_text("".join(json.dumps(scene) + "\n" for scene in scenes), "utf-8")
    return path


def squad(folder: Path) -> Path:
    """One article of two paragraphs; the second question has no answer."""
    texts = ("the harbour is blue and old .", "the tower is red and tall .")
    questions = [
        {"id": "1", "question": "what is blue ?", "is_impossible": False}
        | {"answers": [{"text": "harbour", "answer_start": 4}]},
        {"id": "2", "question": "who built it ?", "is_impossible": True, "answers": []},
    ]
    paragraphs = [{"context": texts[0], "qas": questions}, {"context": texts[1], "qas": []}]
    path = folder / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "Harbour", "paragraphs": paragraphs}]}), "utf-8")
    return path


def clauses(folder: Path) -> Path:
    """Write two training rows: the first labels half its sentence as the clause, the second has no clause."""
    path = folder / "clauses.jsonl"
    sentence = "the tower is red and tall and the harbour is blue ."
    entry = {"question": "what is red ?", "subject": "", "sentence": sentence, "answer": [4, 9]}
    rows = (entry | {"clause": [0, 16]}, entry | {"answer": [34, 41], "clause": None})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def spans_of(model: CrossEncoder) -> Any:
    (reading,) = model.read(model.windows("what colour is it ?", ["the tower is red ."]))
    return reading.spans


@pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
def test_reader_is_trained_exported_calibrated_and_measured(tmp_path: Path) -> None:
    base, out, learnt, tuned = tiny_bge(tmp_path / "base"), tmp_path / "run", rows(tmp_path), squad(tmp_path)
    command = ["reader", str(learnt), "--base", str(base), "--out", str(out), "--epochs", "2"]
    command += ["--tune", str(learnt), "--tune", str(tuned), "--clauses", str(clauses(tmp_path))]
    result = CliRunner().invoke(cli.app, command)
    assert result.exit_code == 0, result.output
    assert "rows.jsonl" in result.output
    report = json.loads((out / "report.json").read_text("utf-8"))
    assert list(report) == [str(learnt), str(tuned)]
    assert report[str(tuned)]["answerable"] == 1
    assert report[str(tuned)]["frontier"][0]["unanswerable_answered"] == 1.0
    model = CrossEncoder(out / "weights")
    assert model.card["reader"]["coefficients"].keys() >= {"margin", "named", "record", "print"}
    first = spans_of(model)
    shutil.rmtree(out / "weights")
    assert CliRunner().invoke(cli.app, command).exit_code == 0
    assert np.array_equal(spans_of(CrossEncoder(out / "weights")), first)
    again = [*command[:4], "--out", str(tmp_path / "again"), "--after", str(out), "--keep", "1"]
    result = CliRunner().invoke(cli.app, [*again, *command[6:]])
    assert result.exit_code == 0, result.output
    assert np.array_equal(spans_of(CrossEncoder(tmp_path / "again/weights")), first)


def test_clause_loss_covers_answer_clauses_and_no_answer() -> None:
    torch.manual_seed(1)
    outputs, kinds = torch.randn(2, 8, 66), torch.tensor([[0, 0, 1, 1, 2, 2, 1, 0], [0, 0, 0, 2, 1, 1, 0, 0]])
    clauses, possible = (
        [(3, 5), (0, 0)],
        [[(s, e) for s in (2, 3, 4) for e in (5, 6)], [(3, 3), (3, 4), (3, 5)]],
    )
    expected = 0.0
    for row, places in zip(outputs, possible, strict=True):
        scores = {
            (s, e): float(row[s, 0] + row[e, 1] + row[s, 2:34] @ row[e, 34:] / 32**0.5)
            for s, e in [*places, (0, 0)]
        }
        expected -= scores[clauses[possible.index(places)]] / 2
        expected += float(torch.tensor(list(scores.values())).logsumexp(0)) / 2
    assert float(loss(outputs, kinds, clauses)) == pytest.approx(expected, abs=1e-5)


def test_tasks_have_read_passages_and_other_questions_answers(tmp_path: Path) -> None:
    answered, unanswered = sorted(read_tasks(squad(tmp_path), 2, 1, seed=1), key=lambda each: not each.golds)
    assert (answered.golds, answered.other_answers) == (("harbour",), ())
    assert [each.text for each in answered.passages] == ["the harbour is blue and old ."]
    assert unanswered.golds == ()
    scene = next(each for each in read_tasks(rows(tmp_path), 99, 5, seed=1) if each.golds == ("red",))
    assert str(scene.subject).startswith("tower")
    assert scene.passages == (Passage(scene.passages[0].text, "tower"),)


def test_only_the_chosen_articles_are_asked_about_and_searched(tmp_path: Path) -> None:
    content = json.loads(squad(tmp_path).read_text("utf-8"))
    content["data"].append(json.loads(json.dumps(content["data"][0])) | {"title": "Old_Mill"})
    (tmp_path / "two.json").write_text(json.dumps(content), "utf-8")
    assert len(read_tasks(tmp_path / "two.json", 9, 9, seed=1)) == 4
    tasks = read_tasks(tmp_path / "two.json", 9, 9, seed=1, articles=["old mill"])
    assert len(tasks) == 2
    assert {each.title for task in tasks for each in task.passages} == {"Old Mill"}
    with pytest.raises(DatasetError, match="There are: Harbour, Old Mill"):
        read_tasks(tmp_path / "two.json", 9, 9, seed=1, articles=["Tower"])
    with pytest.raises(DatasetError, match="not in SQuAD's format"):
        read_tasks(rows(tmp_path), 9, 9, seed=1, articles=["Tower"])


def test_figures_are_shares_of_the_answerable_and_of_the_unanswerable_questions() -> None:
    outcomes = [
        Outcome(answerable=True, right=True, held=True, probability=0.9, words=4),
        Outcome(answerable=True, right=False, held=True, probability=0.62, words=2),
        Outcome(answerable=True, right=True, held=False, probability=0.3, words=1),
        Outcome(answerable=False, right=False, held=False, probability=0.5, words=1),
    ]
    figures = figures_of(outcomes)
    points = {point.pop("least_probability"): point for point in figures["frontier"]}
    assert points[0.5] == {
        "right": 0.3333,
        "wrong": 0.3333,
        "unanswerable_answered": 1.0,
        "median_words": 3,
    }
    assert points[0.65]["unanswerable_answered"] == 0.0
    assert (figures["questions"], figures["answerable"], figures["held"]) == (4, 3, 0.6667)
    assert figures["calibration_error"] == pytest.approx((0.1 + 0.62 + 0.7 + 0.5) / 4)
    assert figures["brier_score"] == pytest.approx((0.1**2 + 0.62**2 + 0.7**2 + 0.5**2) / 4, abs=1e-4)
    assert figures_of(outcomes[3:])["held"] is None


def test_subject_finds_passages_of_questions_without_a_name(tmp_path: Path) -> None:
    content = json.loads(squad(tmp_path).read_text("utf-8"))
    question = content["data"][0]["paragraphs"][0]["qas"][1]
    question |= {"question": "how tall is it ?", "subject": "harbour"}
    (tmp_path / "named.json").write_text(json.dumps(content), "utf-8")
    (task,) = (each for each in read_tasks(tmp_path / "named.json", 2, 1, seed=1) if not each.golds)
    assert (task.subject, [each.text for each in task.passages]) == (
        "harbour",
        ["the harbour is blue and old ."],
    )


def test_near_misses_are_similar_passages_without_the_answer() -> None:
    mill, tower, dam = "The mill is red.", "The tower is 9 m tall.", "The dam is 9 m tall and red."
    rows = [
        Row("How tall is the mill?", mill, title="Mill"),
        Row("How tall is the tower?", tower, spans=((13, 16),), title="Tower"),
        Row("Is the dam tall?", dam, sentence=(0, 28), title="Dam"),
    ]
    misses = list(near_misses(rows, 1.0, Random(1)))
    assert {each.question for each in misses} == {"How tall is the mill?", "How tall is the tower?"}
    assert not any(each.has_answer for each in misses)
    passages = {each.question: each.passage for each in misses}
    assert passages["How tall is the mill?"] in (tower, dam)
    assert passages["How tall is the tower?"] == mill  # the dam's passage has "9 m" too


def test_titles_are_kept_for_pages_only(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    passages = [{"text": "red", "title": "Mill", "kind": kind} for kind in ("page", "attribute", "photo")]
    file.write_text(json.dumps({"question": "colour?", "answers": ["red"], "passages": passages}), "utf-8")
    assert [row.title for row in read_rows([file])] == ["Mill", "", ""]


MAX_TOKENS = 32


@pytest.mark.filterwarnings("ignore")  # torch's exporter warns of itself
def test_int8_weights_keep_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "_SMALL", 16)  # the model is so small that nothing would be quantised
    base, out = tiny_bge(tmp_path / "base"), tmp_path / "out"
    exported.main(base, out, "tiny", MAX_TOKENS)
    texts = ["the tower is tall", "harbour", "the tower of the harbour is tall " * 20]
    model, tokenizer = exported.SentenceEncoder(base).eval(), Tokenizer.from_file(str(out / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    for text, vector in zip(texts, served.SentenceEncoder(out).queries(texts), strict=True):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            whole = model(ids, torch.zeros_like(ids), torch.ones_like(ids))[0].numpy()
        assert vector @ (whole / np.linalg.norm(whole)) == pytest.approx(1, abs=1e-2)
        assert not np.array_equal(vector, whole / np.linalg.norm(whole))
