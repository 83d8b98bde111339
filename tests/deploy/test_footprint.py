"""What is counted of a question's way through the code."""

from deploy.footprint import Footprint, size_of
from gateway.steps import evidence
from language.words import tokens


def test_functions_of_ours_and_the_frames_above_one_of_them_are_counted() -> None:
    counted = Footprint(above=evidence._words.__code__)
    with counted.counting():
        evidence.chunk_text("One sentence. Another one.")
        tokens("not counted: language is neither gateway nor chassis")
    assert {evidence.chunk_text.__code__, evidence._words.__code__} <= counted.functions
    assert counted.files == {evidence.__file__}
    assert counted.depth == 1


def test_nothing_is_counted_outside() -> None:
    counted = Footprint(above=evidence.chunk_text.__code__)
    with counted.counting():
        pass
    evidence.chunk_text("One sentence.")
    assert (counted.functions, counted.depth) == (set(), 0)


def test_the_gateway_has_modules_with_lines() -> None:
    modules, lines = size_of("gateway")
    assert lines > modules > 50
