"""What the client makes of texts and tokens, without a server: repair, alignment, the event stream."""

import itertools
import json
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.llm.capabilities import EVERYTHING, Abilities, Thinking, without
from gateway.llm.completion import Completion, align
from gateway.llm.reply_forms import read_object
from gateway.llm.wire import Token, events, read_error

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
OBJECT = st.dictionaries(TEXT, VALUE, min_size=1, max_size=4)


@given(OBJECT, st.booleans(), st.sampled_from([None, 2]))
def test_valid_json_is_read_and_each_field_located(
    value: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    read_back = read_object(text)
    assert read_back is not None
    assert read_back.value == value
    assert read_back.complete
    for name, inner in value.items():
        start, end = read_back.spans[name]
        spelled = text[start:end]
        assert json.loads(f'"{spelled}"' if isinstance(inner, str) and inner else spelled) == inner


@given(OBJECT, st.data())
def test_truncated_json_keeps_complete_fields(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    read_back = read_object(text[:cut])
    if read_back is not None:
        assert not read_back.complete
        names = list(read_back.value)
        assert names == list(value)[: len(names)]
        assert all(read_back.value[name] == value[name] for name in names[:-1])


@given(st.text(alphabet="{}[]\"':,\\truefalsn0123u ", max_size=60))
def test_reading_never_raises(text: str) -> None:
    read_back = read_object(text)
    assert read_back is None or read_back.value


@settings(max_examples=30)
@given(st.text(min_size=1, max_size=40), st.data())
def test_tokens_given_as_bytes_align_exactly(text: str, data: st.DataObject) -> None:
    spelled = text.encode("utf-8", "replace")
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(spelled) - 1)), max_size=12)))
    edges = [0, *(cut for cut in cuts if cut < len(spelled)), len(spelled)]
    tokens = [spelled[start:end] for start, end in itertools.pairwise(edges)]
    assert align(spelled, tokens) == list(itertools.pairwise(edges))


LOST = "\ufffd".encode()


@pytest.mark.parametrize(
    ("text", "tokens", "spans"),
    [
        ("né", [b"n", LOST, LOST], [(0, 1), (1, 2), (2, 3)]),
        ("né!", [b"n", b"", "é".encode(), b"!"], [(0, 1), (1, 1), (1, 3), (3, 4)]),
        ("a é b", [b"a", b" " + LOST, LOST + b" b"], [(0, 1), (1, 3), (3, 6)]),
        ("ok", [b" ok", b"<|im_end|>"], [(0, 2), (2, 2)]),
        ("ok", [b"<think>", b"ok"], [(0, 0), (0, 2)]),
        ("yes", [b" yes\n"], [(0, 3)]),
        ("yes", [b"\n\n", b"yes", b"\n\n", b"\n"], [(0, 0), (0, 3), (3, 3), (3, 3)]),
        ("A b.", [b"A", b" b", b".<|im_end|>"], [(0, 1), (1, 3), (3, 4)]),
        ("A b.", [b"\n A", b" b", b".", b"</s>"], [(0, 1), (1, 3), (3, 4), (4, 4)]),
        ("\ufffd", [LOST], [(0, 3)]),
        ("", [], []),
    ],
)
def test_tokens_in_other_spellings_align_too(
    text: str, tokens: list[bytes], spans: list[tuple[int, int]]
) -> None:
    aligned = align(text.encode(), tokens)
    assert aligned is not None
    plain = [span for span, token in zip(aligned, tokens, strict=True) if LOST not in token]
    assert plain == [span for span, token in zip(spans, tokens, strict=True) if LOST not in token]
    assert [start for start, _ in aligned[1:]] == [end for _, end in aligned[:-1]]


@pytest.mark.parametrize("tokens", [[b"o", b"n"], [b"two"], [b"on", b"ex"], [b"on", b"e and"]])
def test_tokens_of_another_text_do_not_align(tokens: list[bytes]) -> None:
    assert align(b"one", tokens) is None


def completion(text: str, pieces: list[str]) -> Completion[str]:
    """A completion whose tokens have the probabilities 1, 1/2, 1/3, …"""
    tokens = tuple(Token(token=piece, logprob=-math.log(i + 1)) for i, piece in enumerate(pieces))
    read_back = read_object(text)
    return Completion(text, text, tokens, "stop", spans=read_back.spans if read_back else {})


PIECES = {
    "a token that ends the value and more": (['{"', "a", '": "', "yes", '"}'], (1 / 4,)),
    "a token that begins before the value": (['{"', "a", '": "ye', 's"}'], (1 / 3, 1 / 4)),
    "an empty value is its quotes": (['{"a": ', '""', "}"], (1 / 2,)),
    "the same name inside another field": (['{"b": {"a": ', "1", '}, "a": ', "2", "}"], (1 / 4,)),
    "escapes": (['{"a": "', "\\u", "00e9", "\\n", '"}'], (1 / 2, 1 / 3, 1 / 4)),
}


@pytest.mark.parametrize(("pieces", "probabilities"), PIECES.values(), ids=PIECES)
def test_a_field_has_the_probabilities_of_its_tokens(pieces: list[str], probabilities: Any) -> None:
    assert completion("".join(pieces), pieces).probabilities_of("a") == pytest.approx(probabilities)


def test_tokens_that_do_not_fit_the_text_give_none() -> None:
    assert completion('{"a": 1}', ['{"a"']).probabilities_of("a") is None


NAMED = {
    "logprobs are not supported": Abilities(logprobs=False),
    "body.stream_options extra fields not permitted": Abilities(usage=False),
    "Unsupported parameter: 'seed'": Abilities(seed=False),
    "guided_json is not available": Abilities(schema=False),
    "Prompting with images is incompatible with system messages. Prompting …": Abilities(system=False),
    "System role not supported": Abilities(system=False),
}
QUIET = Abilities(thinking=Thinking.SWITCHED_OFF)
OF_ONE_PHOTO = [
    *("Failed to load image: cannot identify image file", "Could not decode the image"),
    *("At most 1 image(s) may be provided in one prompt. None", "The image is too large: 90 megapixels"),
]


@pytest.mark.parametrize(("complaint", "less"), NAMED.items())
def test_error_message_names_the_field_to_leave_out(complaint: str, less: Abilities) -> None:
    for confirmed in (True, False):
        assert without(EVERYTHING, complaint, confirmed=confirmed) == less


def test_unspecific_error_blames_the_schema_until_it_works() -> None:
    assert without(EVERYTHING, "Bad Request", confirmed=False) == Abilities(schema=False)
    assert without(EVERYTHING, "Bad Request", confirmed=True) is None
    thinking = "unknown field chat_template_kwargs"
    assert without(QUIET, thinking, confirmed=True) == Abilities(thinking=Thinking.ON)


@pytest.mark.parametrize("complaint", OF_ONE_PHOTO)
def test_error_about_one_photo_removes_no_field(complaint: str) -> None:
    for confirmed in (True, False):
        assert without(EVERYTHING, complaint, confirmed=confirmed, with_photo=True) is None
    assert without(EVERYTHING, "images are not supported", confirmed=True) is None  # none was sent


async def chunks_of(content: bytes, size: int) -> AsyncIterator[bytes]:
    """As a socket might hand it over."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def read(content: bytes, size: int = 7) -> list[str]:
    """All events."""
    return [event async for event in events(chunks_of(content, size))]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_events_are_split_at_line_ends_only(size: int) -> None:
    stream = (
        ': hello\r\n\r\nevent: x\ndata: "a\u2028b\x85c"\n\nid: 1\ndata:one\ndata: two\n\ndata: [DONE]\n\nx'
    )
    assert await read(stream.encode(), size) == ['"a\u2028b\x85c"', "one\ntwo"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "m", "type": "t", "param": null, "code": 400}}', "m"),
        (b'{"object": "error", "message": "m", "code": 400}', "m"),
        (b'{"error": {"message": ["m"]}}', '{"error": {"message": ["m"]}}'),
        (b'{"detail": "m"}', '{"detail": "m"}'),
        (b"<html>", "<html>"),
        (b"\xff", "\ufffd"),
    ],
)
def test_error_bodies_of_all_shapes_are_read(body: bytes, message: str) -> None:
    assert read_error(body).message == message
