"""`POST /answer` as a form: fields, parts, boundaries."""

import random

from tests.attacks.inputs import AttackClass, Input, Part, Scene, form, photo_part, text_parts
from tests.attacks.words import NUMBERS, damaged, text

_PATH = "/answer"
_GOOD = {"question": "what is this?", "deadline_ms": "3000"}


def _a_field(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(("question", "session_id", "deadline_ms", "pipeline", "experiment"))
    value = draw.choice(NUMBERS) if name == "deadline_ms" else text(draw)
    parts = [*text_parts(_GOOD | {name: value}), photo_part(scene.photo)]
    return Input(f"field {name}", scene.post_form(_PATH, parts))


def _an_unknown_field(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(
        ("x", "question[]", "image_url", "audio", "image", "__proto__", "\x00", "a" * 9_000, 'q"; x="')
    )
    return Input(
        "unknown field",
        scene.post_form(_PATH, [*text_parts(_GOOD), Part(name, text(draw).encode("utf-8", "replace"))]),
    )


def _a_field_twice(draw: random.Random, scene: Scene) -> Input:
    parts = [*text_parts(_GOOD), *text_parts({draw.choice(("question", "deadline_ms", "session_id")): "2"})]
    parts += [photo_part(scene.photo)] * draw.choice((1, 2, 3))
    draw.shuffle(parts)
    return Input("a part twice", scene.post_form(_PATH, parts))


def _many_parts(draw: random.Random, scene: Scene) -> Input:
    count = draw.choice((17, 100, 1_000, 10_000))
    file = draw.random() < 0.5
    parts = [Part(f"p{place}", b"x", "f" if file else None) for place in range(count)]
    return Input(f"{count} parts", scene.post_form(_PATH, parts))


def _a_file_that_is_none(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(("question", "deadline_ms", "image", "audio"))
    kind = draw.choice(
        (None, "text/html", "image/svg+xml", "application/x-sh", "multipart/mixed", "\x00", "a" * 3_000)
    )
    odd = Part(
        name, damaged(draw, scene.photo), draw.choice((None, "", "../../x", "a" * 2_000, "\x00")), kind
    )
    return Input(f"{name} as another part", scene.post_form(_PATH, [*text_parts(_GOOD), odd]))


def _an_odd_boundary(draw: random.Random, scene: Scene) -> Input:
    boundary = draw.choice(("", "a" * 71, "a" * 5_000, '"', "--", "x y", "\t", "=", "é", "a;b"))
    body = form(text_parts(_GOOD), boundary)
    return Input("boundary", scene.post(_PATH, f"multipart/form-data; boundary={boundary}", body))


def _another_kind(draw: random.Random, scene: Scene) -> Input:
    kinds = (
        "multipart/form-data",
        "multipart/mixed; boundary=x",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/xml",
        "",
        "*/*",
        "application/json; charset=utf-7",
        "multipart/form-data; boundary=x; charset=\x7f",
    )
    return Input(
        "content type", scene.post(_PATH, draw.choice(kinds), damaged(draw, form(text_parts(_GOOD))))
    )


def _damaged_form(draw: random.Random, scene: Scene) -> Input:
    body = damaged(draw, form([*text_parts(_GOOD), photo_part(scene.photo)]))
    return Input("damaged form", scene.post(_PATH, "multipart/form-data; boundary=attack-7d1f4c", body))


def _long_part_heads(draw: random.Random, scene: Scene) -> Input:
    many, long = draw.choice(((1, 100_000), (2_000, 20), (20, 4_000)))
    lines = "".join(f"X-{place}: {'a' * long}\r\n" for place in range(many))
    body = f'--b\r\nContent-Disposition: form-data; name="question"\r\n{lines}\r\nhi\r\n--b--\r\n'.encode()
    return Input("head of a part", scene.post(_PATH, "multipart/form-data; boundary=b", body))


def _a_field_of_megabytes(draw: random.Random, scene: Scene) -> Input:
    size = draw.choice((2**20 - 1, 2**20 + 1, 3 * 2**20))
    return Input("long field", scene.post_form(_PATH, text_parts({"question": "a" * size})))


def _good(draw: random.Random, scene: Scene) -> Input:
    question = draw.choice(("what is this?", "what colour is it?", "how much is it in total?"))
    parts = [*text_parts(_GOOD | {"question": question}), photo_part(scene.photo)]
    return Input("good", scene.post_form(_PATH, parts))


CLASS = AttackClass(
    "answer-form",
    "/answer, multipart",
    {
        _a_field: 8,
        _an_unknown_field: 3,
        _a_field_twice: 2,
        _many_parts: 0.5,
        _a_file_that_is_none: 3,
        _an_odd_boundary: 1,
        _another_kind: 1,
        _damaged_form: 6,
        _long_part_heads: 1,
        _a_field_of_megabytes: 0.5,
        _good: 0.5,
    },
)
