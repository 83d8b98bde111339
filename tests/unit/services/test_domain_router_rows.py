"""Rows in CRAG-MM's schema: what is read, and what is named as malformed."""

import base64
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from chassis.training_rows import UnreadableRows
from contracts.domain_router import Domain
from services.domain_router.tuning.labels import domain_names, domain_number
from services.domain_router.tuning.rows import Example, pixels, read_rows
from services.domain_router.tuning.splitting import Shares, stratified

DOMAINS = list(Domain)
CODES = ["other", "food", "math & science"]
COLUMNS = {"interaction_id": ["i1"], "domain": ["book"], "query": ["Who wrote it?"], "dynamism": ["static"]}


def png(colour: str = "green") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (32, 24), colour).save(buffer, "PNG")
    return buffer.getvalue()


def row(turns: Any = COLUMNS, image: Any = None, **others: Any) -> dict[str, Any]:
    return {"session_id": "s1", "image": image, "image_url": None, "turns": turns, "answers": {}, **others}


def write(folder: Path, *rows: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    return path


def problems(path: Path) -> list[str]:
    reading = read_rows([path])
    assert reading.examples == ()
    return [each.problem for each in reading.malformed]


def test_columns_and_lists_of_turns_are_read_alike(tmp_path: Path) -> None:
    turns = [{"interaction_id": "i1", "domain": "book", "query": "Who wrote it?"}]
    both = read_rows([write(tmp_path, row(), row(turns))])
    assert both.malformed == ()
    assert both.examples == (Example("s1", "Who wrote it?", DOMAINS.index(Domain.BOOK), None),) * 2


def test_every_turn_of_a_session_is_an_example(tmp_path: Path) -> None:
    turns = {"domain": ["book", "vehicle"], "query": ["Who wrote it?", " What drives there? "]}
    examples = read_rows([write(tmp_path, row(turns))]).examples
    assert [(each.question, DOMAINS[each.domain]) for each in examples] == [
        ("Who wrote it?", Domain.BOOK),
        ("What drives there?", Domain.VEHICLE),
    ]


@pytest.mark.parametrize("wrap", [lambda f: {"feature": f, "_type": "Sequence"}, lambda f: [f], lambda f: f])
@pytest.mark.parametrize("file", ["features.json", "dataset_info.json"])
def test_codes_mean_what_the_features_beside_them_say(tmp_path: Path, file: str, wrap: Any) -> None:
    turns = wrap({"domain": {"names": CODES, "_type": "ClassLabel"}, "query": {"dtype": "string"}})
    features: dict[str, Any] = {"session_id": {"dtype": "string"}, "turns": turns}
    described = features if file == "features.json" else {"features": features}
    (tmp_path / file).write_text(json.dumps(described), "utf-8")
    path = write(tmp_path, *(row({"domain": [code], "query": ["What?"]}) for code in (1, 0, 2, 3, -1)))
    reading = read_rows([path])
    assert [DOMAINS[each.domain] for each in reading.examples] == [
        Domain.FOOD,
        Domain.OTHER,
        Domain.MATH_AND_SCIENCE,
    ]
    assert [(each.place, each.problem) for each in reading.malformed] == [
        ("rows.jsonl, row 4", "the domain's code 3 is not among the 3 of the features"),
        ("rows.jsonl, row 5", "the domain's code -1 is not among the 3 of the features"),
    ]


def test_a_code_without_features_is_not_guessed(tmp_path: Path) -> None:
    (problem,) = problems(write(tmp_path, row({"domain": [4], "query": ["What?"]})))
    assert problem == "the domain is the code 4, and no features say what it means"


@pytest.mark.parametrize("name", ["Math and Science", "math_and_science", "math & science"])
def test_a_domain_may_be_spelled_in_several_ways(name: str) -> None:
    assert DOMAINS[domain_number(name, None)] is Domain.MATH_AND_SCIENCE


@pytest.mark.parametrize("features", [{}, {"turns": {}}, {"turns": {"domain": "x"}}, {"turns": [1, 2]}])
def test_features_without_domains_are_refused(features: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no column"):
        domain_names(features)


def test_a_list_may_be_around_each_column() -> None:
    label = {"feature": {"names": CODES, "_type": "ClassLabel"}, "length": -1, "_type": "List"}
    assert domain_names({"turns": {"domain": label, "query": {"feature": {}}}}) == tuple(CODES)


def test_domains_that_are_strings_need_no_names() -> None:
    assert domain_names({"turns": [{"domain": {"dtype": "string", "_type": "Value"}}]}) is None


def test_a_photo_is_a_file_or_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "1.png").write_bytes(png())
    encoded = base64.b64encode(png()).decode()
    images = [
        "photos/1.png",
        {"path": "photos/1.png"},
        {"bytes": encoded, "path": "elsewhere.png"},
        f"data:image/png;base64,{encoded}",
    ]
    reading = read_rows([write(tmp_path, *(row(image=image) for image in images))])
    assert reading.malformed == ()
    for example in reading.examples:
        assert example.photo is not None
        assert np.array_equal(pixels(example.photo), np.full((24, 32, 3), (0, 128, 0)))


@pytest.mark.parametrize("image", [None, "", {"bytes": None, "path": None}])
def test_a_row_with_only_a_url_teaches_its_question(tmp_path: Path, image: Any) -> None:
    reading = read_rows([write(tmp_path, row(image=image, image_url="http://localhost/photo.jpg"))])
    assert [example.photo for example in reading.examples] == [None]


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (row(session_id=""), "session_id: String should have at least 1 character"),
        (row(session_id=7), "session_id: Input should be a valid string"),
        (row([]), "turns: Tuple should have at least 1 item"),
        (row({"domain": ["book"], "query": []}), "turns: Value error, the columns domain and query must be"),
        (row({"query": ["What?"]}), "turns: Value error, the columns domain and query must be there"),
        (row({"domain": ["book"], "query": ["  "]}), "turns.0.query: String should match pattern"),
        (row({"domain": [True], "query": ["What?"]}), "turns.0.domain"),
        (row({"domain": ["novel"], "query": ["What?"]}), "'novel' is no domain of CRAG-MM"),
        (row(image="absent.png"), "the image 'absent.png' is not there"),
        (row(image="../secret.png"), "the image '../secret.png' does not lie beside the rows"),
        (row(image="/etc/hostname"), "the image '/etc/hostname' does not lie beside the rows"),
        (row(image="http://localhost/x.png"), "the image 'http://localhost/x.png' is not there"),
        (row(image={"bytes": "no base64!"}), "Only base64 data is allowed"),
        (row(image={"bytes": base64.b64encode(b"GIF89a").decode()}), "Send a JPEG, PNG"),
        (row(image={"bytes": base64.b64encode(png()[:-30]).decode()}), "The image is damaged or incomplete"),
        (["no", "object"], ": Input should be a valid dictionary"),
    ],
)
def test_a_malformed_row_is_named_with_its_problem(tmp_path: Path, broken: Any, problem: str) -> None:
    reading = read_rows([write(tmp_path, row(), broken, row())])
    assert len(reading.examples) == 2
    (malformed,) = reading.malformed
    assert malformed.place == "rows.jsonl, row 2"
    assert malformed.problem.startswith(problem)


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"session_id": \n\n\xff\xfe\n')
    assert [each.place for each in read_rows([path]).malformed] == ["rows.jsonl, row 1", "rows.jsonl, row 2"]


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl"):
        (tmp_path / name).write_text(json.dumps(row(session_id=name)), "utf-8")
    assert [each.session for each in read_rows([tmp_path]).examples] == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize("name", ["absent.jsonl", "rows.csv", "empty"])
def test_a_source_that_holds_no_rows_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "rows.csv").write_text("x")
    with pytest.raises(UnreadableRows, match=name.partition(".")[0]):
        read_rows([tmp_path / name])


@pytest.mark.parametrize("text", ["no json", "[]", '{"turns": {}}', '{"features": {"image": {}}}'])
def test_features_that_do_not_fit_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "features.json").write_text(text, "utf-8")
    with pytest.raises(UnreadableRows, match=r"features\.json does not describe"):
        read_rows([write(tmp_path, row())])


def test_without_pyarrow_parquet_is_refused_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnreadableRows, match="needs pyarrow"):
        read_rows([tmp_path / "rows.parquet"])


def test_parquet_brings_its_own_names_and_pictures(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet is read with pyarrow, where it is installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    turns = {"interaction_id": ["i1"], "domain": [1], "query": ["What?"]}
    rows = [row(turns, {"bytes": png(), "path": None}), row({**turns, "domain": [9]})]
    features = {"turns": {"feature": {"domain": {"names": CODES, "_type": "ClassLabel"}}, "_type": "List"}}
    described = {"huggingface": json.dumps({"info": {"features": features}})}
    columns = [{name: each[name] for name in ("session_id", "image", "turns")} for each in rows]
    table = pyarrow.Table.from_pylist(columns).replace_schema_metadata(described)
    parquet.write_table(table, tmp_path / "train-00000.parquet")
    reading = read_rows([tmp_path])
    (example,) = reading.examples
    assert DOMAINS[example.domain] is Domain.FOOD
    assert example.photo == png()
    assert [each.place for each in reading.malformed] == ["train-00000.parquet, row 2"]
    (tmp_path / "train-00000.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(UnreadableRows, match="is no Parquet file"):
        read_rows([tmp_path])


@st.composite
def sessions(draw: st.DrawFn) -> list[Example]:
    """Sessions of one or two questions, in some domains."""
    domains = draw(st.lists(st.integers(0, 4), min_size=1, max_size=40))
    turns = draw(st.lists(st.integers(1, 2), min_size=len(domains), max_size=len(domains)))
    return [
        Example(str(number), "What?", domain, None)
        for number, (domain, count) in enumerate(zip(domains, turns, strict=True))
        for _ in range(count)
    ]


def domains_of(examples: Sequence[Example], places: Sequence[int]) -> set[int]:
    return {examples[place].domain for place in places}


@given(sessions(), st.integers(0, 5), st.sampled_from([Shares(), Shares(0.3, 0.0), Shares(0.5, 0.45)]))
def test_parts_share_no_session_and_leave_nothing_out(
    examples: list[Example], seed: int, shares: Shares
) -> None:
    split = stratified(examples, shares, seed)
    parts = (split.training, split.validation, split.held_out)
    assert sorted(place for part in parts for place in part) == list(range(len(examples)))
    owners = [{examples[place].session for place in part} for part in parts]
    assert sum(map(len, owners)) == len({example.session for example in examples})
    assert domains_of(examples, split.training) == {example.domain for example in examples}
    frequent = {d for d in range(5) if len({e.session for e in examples if e.domain == d}) >= 3}
    assert domains_of(examples, split.validation) == frequent
    if shares.held_out:
        assert domains_of(examples, split.held_out) == frequent
    assert split == stratified(examples, shares, seed)
