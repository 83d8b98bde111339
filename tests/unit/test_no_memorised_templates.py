"""The product does not know its examination: its phrases are no more frequent there than elsewhere.

Every literal of the product's English is cut into phrases of at least two words: string constants (not
docstrings) and TOML keys and values, regular expressions spelled out. Counted is how many of them stand
verbatim in the words of any split of the world, and, as the control, in as many words of ordinary English
that has nothing to do with it: the documentation of Python's standard library, which is wherever Python is.
A phrase is taken without the question words that it opens with, and needs a word of content: documentation
hardly ever asks, and how English puts a question is no secret of the world's.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import sqrt
from pathlib import Path
from pydoc_data.topics import topics

import pytest

from evaluation.world import text as world_text

ROOT = Path(__file__).parents[2]
ENGLISH = (
    "language",
    "services/reader",
    "services/verifier",
    "services/reranker",
    "services/domain_router",
    "gateway/reasoning",
    "gateway/steps/routing",
)
NO_ENGLISH = {"prompts", "__pycache__"}
"""Prompts are English for a model, written at length; what they say of a question is their subject."""

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words(text: str) -> list[str]:
    return WORD.findall(text.casefold())


OPENING = frozenset(
    words(
        "who whom whose what which when where why how many much long old far often is are was were am be "
        "been do does did has have had can could may might shall should will would must I you it he she we "
        "they there"
    )
)
FUNCTION = OPENING | frozenset(
    words(
        "a an the this that these those of in on at by for to from with and or not no as but if so than then "
        "into about over under its his her their my your our me him them us each any some all"
    )
)
DEVIATIONS = 3
"""Standard deviations of a binomial count above the control's: by chance less than once in 700 times."""
SAMPLES, PASSAGE = 20, 40
"""The control is the mean of so many draws, each of passages of so many words."""

PATTERN = re.compile(r"\\[bsSwWdD]|\(\?|[|\[\]^$]|\)[?*+]|\.[*+]")
BREAK = "|"
MOST_SPELLINGS = 64


@dataclass(frozen=True)
class Count:
    """How many of `phrases` different phrases stand in the world, and how many in the control on average."""

    phrases: int
    world: int
    control: float

    @property
    def limit(self) -> float:
        share = self.control / self.phrases
        return self.control + DEVIATIONS * sqrt(self.phrases * share * (1 - share))

    def __str__(self) -> str:
        world, control, limit = (each / self.phrases for each in (self.world, self.control, self.limit))
        return (
            f"{self.phrases} phrases: {self.world} in the world ({world:.1%}), {self.control:.1f} in ordinary"
            f" English ({control:.1%}); at most {self.limit:.1f} ({limit:.1%}) would be chance"
        )


def spellings(parsed: Iterable[tuple[object, object]]) -> list[str]:
    """What a parsed regular expression matches, as far as that is words; a break for all else."""
    found = [""]
    for operation, argument in parsed:
        found = [before + each for before in found for each in _spelled(str(operation), argument)]
        found = found[:MOST_SPELLINGS]
    return found


def _spelled(operation: str, argument: object) -> list[str]:
    match operation, argument:
        case "LITERAL", int(code):
            return [chr(code)]
        case "BRANCH", (_, branches):
            return [each for branch in branches for each in spellings(branch)]
        case "SUBPATTERN", (_, _, _, inside):
            return spellings(inside)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT", (least, _, inside):
            return [*([""] if least == 0 else []), *spellings(inside)]
        case "AT" | "ASSERT" | "ASSERT_NOT", _:
            return [""]
        case "IN", list(members) if any("SPACE" in str(each) or each[1] == ord(" ") for each in members):
            return [" "]
    return [BREAK]


def phrases_of(literal: str) -> Iterator[str]:
    """The phrases of one literal: cut at punctuation and placeholders, without their question words."""
    variants = [literal]
    if PATTERN.search(literal):
        try:
            variants = spellings(re._parser.parse(literal))
        except re.error:
            variants = [re.sub(r"\\.|[][()?*+^$.]", BREAK, literal)]
    for part in (part for each in variants for part in re.split(r"[|\n,;:/]|\{[^{}]*\}", each)):
        said = words(part)
        while said and said[0] in OPENING:
            said.pop(0)
        if len(said) > 1 and any(not word.isdigit() and word not in FUNCTION for word in said):
            yield " ".join(said)


def literals(path: Path) -> Iterator[str]:
    """String constants of a Python file but its docstrings; keys and values of a TOML file."""
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        yield from strings(tomllib.loads(text))
        return
    tree = ast.parse(text)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def strings(found: object) -> Iterator[str]:
    """Every string in nested tables and arrays, keys too."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield key
            yield from strings(value)
    elif isinstance(found, list):
        for each in found:
            yield from strings(each)


def english_of(folder: Path) -> set[str]:
    """The phrases of a folder of the product."""
    files = [path for path in folder.rglob("*") if path.suffix in {".py", ".toml"}]
    assert files, f"{folder} has moved"
    return {
        phrase
        for path in files
        if not NO_ENGLISH & set(path.relative_to(folder).parts)
        for literal in literals(path)
        for phrase in phrases_of(literal)
    }


@cache
def passages_of_the_world() -> tuple[tuple[str, ...], ...]:
    """The words of every template and wording of every split, between its placeholders."""
    folder = Path(world_text.__file__).parent
    templates = [each for path in folder.rglob("*.toml") for each in strings(tomllib.loads(path.read_text()))]
    return tuple(tuple(words(part)) for each in templates for part in re.split(r"\{\w*\}", each))


@cache
def passages_of_ordinary_english() -> tuple[tuple[str, ...], ...]:
    """The documentation of the standard library, cut into passages of equal length."""
    texts = list(topics.values())
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (SyntaxWarning, DeprecationWarning))
            tree = ast.parse(path.read_text("utf-8"))
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts += [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
    said = [words(text) for text in texts]
    return tuple(
        tuple(each[start : start + PASSAGE]) for each in said for start in range(0, len(each), PASSAGE)
    )


def standing_in(phrases: Iterable[str], passages: Iterable[Sequence[str]]) -> list[str]:
    """The phrases that stand in the passages as they are."""
    sought = set(phrases)
    lengths = {phrase.count(" ") + 1 for phrase in sought}
    return sorted(
        sought.intersection(
            " ".join(passage[start : start + length])
            for passage in passages
            for length in lengths
            for start in range(len(passage) - length + 1)
        )
    )


@cache
def controls() -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Draws from ordinary English, each with as many words as the world has."""
    size, chance = sum(map(len, passages_of_the_world())), random.Random(0)
    drawn = []
    for _ in range(SAMPLES):
        passages = list(passages_of_ordinary_english())
        chance.shuffle(passages)
        ends = accumulate(map(len, passages))
        drawn.append(tuple(passage for passage, end in zip(passages, ends, strict=True) if end <= size))
    return tuple(drawn)


def counted(phrases: set[str]) -> Count:
    world = len(standing_in(phrases, passages_of_the_world()))
    control = sum(len(standing_in(phrases, each)) for each in controls()) / SAMPLES
    return Count(len(phrases), world, control)


@cache
def product() -> frozenset[str]:
    return frozenset().union(*(english_of(ROOT / folder) for folder in ENGLISH))


def memorised(every: int) -> set[str]:
    """What a rule learnt by heart would hold: four words of every n-th template."""
    long = [each for each in passages_of_the_world() if len(each) >= 4]
    return {phrase for each in long[::every] for phrase in phrases_of(" ".join(each[:4]))}


def test_phrases_of_the_product_stand_in_the_world_no_oftener_than_in_ordinary_english() -> None:
    count = counted(set(product()))
    parts = (f"{folder}: {counted(english_of(ROOT / folder))}" for folder in ENGLISH)
    print("", *parts, f"all: {count}", sep="\n")  # noqa: T201
    found = standing_in(product(), passages_of_the_world())
    assert count.world <= count.limit, f"{count}: {', '.join(found)}"


def test_the_control_has_as_many_words_as_the_world() -> None:
    size = sum(map(len, passages_of_the_world()))
    assert size > 10_000
    for each in controls():
        assert size - PASSAGE <= sum(map(len, each)) <= size


def test_general_english_with_memorised_phrases_among_it_is_caught() -> None:
    # At every word of the documentation: a count of every twentieth would be another one after each edit.
    said = [word for path in sorted((ROOT / "docs").rglob("*.md")) for word in words(path.read_text("utf-8"))]
    general = {
        phrase for start in range(len(said)) for phrase in phrases_of(" ".join(said[start : start + 3]))
    }
    honest, learnt = counted(general), counted(general | memorised(every=8))
    print(f"\nhonest: {honest}\nlearnt: {learnt}")  # noqa: T201
    assert honest.world <= honest.limit
    assert learnt.world > learnt.limit


def test_a_rule_file_learnt_from_the_world_is_caught(tmp_path: Path) -> None:
    cues = sorted(memorised(every=40))
    (tmp_path / "cues.py").write_text(
        f'"""Not counted: a docstring."""\nCUES = re.compile({"|".join(cues)!r})\n'
    )
    (tmp_path / "cues.toml").write_text(f'"{cues[0]}" = ["said of a book"]\n')
    found = english_of(tmp_path)
    assert set(cues) <= found
    assert counted(found).world > counted(found).limit


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("comes from the pen of", {"comes from the pen of"}),
        ("{s} was written by {v} in three winters", {"written by", "in three winters"}),
        (r"\bpen of|three\s+winters\b", {"pen of", "three winters"}),
        (r"(?:cut|set) by (?:the )?sea", {"cut by sea", "cut by the sea", "set by sea", "set by the sea"}),
        (r"left the \w+ at home", {"left the", "at home"}),
        ("how many pages", set()),
        ("who reads the audiobook of", {"reads the audiobook of"}),
        ("of the", set()),
        ("word", set()),
    ],
)  # fmt: skip
def test_literals_are_cut_into_phrases(literal: str, expected: set[str]) -> None:
    assert set(phrases_of(literal)) == expected


def test_a_phrase_must_stand_there_as_whole_words() -> None:
    assert standing_in({"ten by"}, [("written", "by")]) == []
    assert standing_in({"written by", "by v"}, [("written", "by"), ("v",)]) == ["written by"]
