"""Whoever types what the documents say finds it: commands, options, files, settings, services."""

import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic_settings import BaseSettings
from typer.main import get_command

import deploy.command  # noqa: F401 - adds `plan` to the command
from chassis.settings import ServiceAccess
from clients.cli import app as loreglass
from clients.settings import ClientSettings
from corpus.settings import CorpusSettings
from deploy.inventory import APPS
from deploy.settings import LiteSettings
from deploy.weights.__main__ import WeightsSettings
from services.vlm.settings import ServeSettings
from tests.deploy.compose_file import ROOT, SERVICES

PAGES = sorted(
    page
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "k8s/*.md",
        "corpus/*.md",
        "deploy/*/*.md",
        "services/*/*.md",
        "training/*/*.md",
    )
    for page in ROOT.glob(pattern)
    if page.name != "CHANGELOG.md" and page.parent.name != "decisions"  # which tell of what was
)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
_FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4,}(.*)$", re.MULTILINE)
_INLINE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)#\s]+)")
_PATH = re.compile(r"[\w.-]+(/[\w.*-]+)+/?")
_VARIABLE = re.compile(r"\bLOREGLASS_[A-Z0-9_]*[A-Z0-9]\b(?!_|…)")
_MADE = {"var", "data", "backup"}
_FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."} - _MADE
_WORDS_FOR = {"BENCH": "bench", "LOAD": "bench.load", "ATTACK": "tests.attacks"}
_NAMING = {"up", "logs", "exec", "stop", "restart"}
"""What compose takes names of services after."""


def code(page: Path) -> list[str]:
    """What is set as code, one line each; inline code may go on in the next line of the text."""
    text = page.read_text()
    blocks = [block for code in _FENCED.findall(text) for block in code.splitlines()]
    prose = _FENCED.sub("", text)
    inline = [" ".join(code.split()) for code in _INLINE.findall(_INDENTED.sub("", prose))]
    return blocks + _INDENTED.findall(prose) + inline


def commands(page: Path) -> Iterator[list[str]]:
    """Each command as words, without what it sets before and what it writes to after."""
    for line in code(page):
        plain = re.sub(r"(^|\s)#.*", "", line).replace(" …", "").rstrip("\\")
        for part in re.split(r"&&|\|\||[|;]", plain):
            try:
                words = shlex.split(part)
            except ValueError:  # a piece of another language
                continue
            while words and ("=" in words[0] or words[0] in ("export", "sudo", "nice", "(")):
                words.pop(0)
            if words:
                yield [words[0].removeprefix(".venv/bin/"), *words[1:]]


@cache
def source(module: str) -> str:
    """All of the package that a module of ours is run from, or nothing."""
    path = ROOT / module.replace(".", "/")
    files = [*path.rglob("*.py")] if (path / "__main__.py").exists() else [path.with_suffix(".py")]
    return "".join(file.read_text() for file in files if file.exists())


def options(words: list[str]) -> set[str]:
    """Those for the command itself: after `--` they are for another."""
    own = words[: words.index("--")] if "--" in words else words
    return {word.partition("=")[0] for word in own if word.startswith("--")}


def declares(text: str, option: str) -> bool:
    """To argparse by its name, to typer by a parameter's."""
    return f'"{option}"' in text or bool(re.search(rf"\b{option[2:].replace('-', '_')}: ", text))


def each_of(find: Callable[[Path], Iterator[Any]]) -> pytest.MarkDecorator:
    """A case for each thing that the pages tell, so that no test passes by finding nothing."""
    mentions = [(page, mention) for page in PAGES for mention in find(page)]
    ids = [f"{page.relative_to(ROOT)} {number}" for number, (page, _) in enumerate(mentions)]
    return pytest.mark.parametrize("mention", [mention for _, mention in mentions], ids=ids)


def our_modules(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the modules that the page's commands run, directly or through make, with their arguments."""
    for name, *words in commands(page):
        if name.startswith("python") and words[:1] == ["-m"] and words[1].partition(".")[0] in _FOLDERS:
            yield words[1], words[2:]
        for variable, module in _WORDS_FOR.items():
            arguments = [word for word in words if word.startswith(f"{variable}=")]
            yield from ((module, word.partition("=")[2].split()) for word in arguments)
    if named := re.findall(r"--wearers-[a-z-]+", page.read_text()):
        yield "bench.load.locustfile", named


@each_of(our_modules)
def test_modules_in_docs_exist_and_have_the_shown_options(mention: tuple[str, list[str]]) -> None:
    module, words = mention
    assert source(module), module
    assert [each for each in options(words) if not declares(source(module), each)] == [], module


def loreglass_words(page: Path) -> Iterator[list[str]]:
    """What the command is given, on its own or in its container."""
    for name, *words in commands(page):
        if name == "loreglass":
            yield words
        if "corpus" in words and name in ("docker", "podman-compose") and "run" in words:
            yield words[words.index("corpus") + 1 :]


@each_of(loreglass_words)
def test_command_has_the_documented_subcommands_and_options(mention: list[str]) -> None:
    command: Any = get_command(loreglass)
    words = mention
    while (below := getattr(command, "commands", {})) and words and words[0].isalpha():
        assert words[0] in below, f"loreglass has no {words[0]}"
        command, words = below[words[0]], words[1:]
    parameters = [each for one in (command, *below.values()) for each in one.params]
    names = {name for each in parameters for name in (*each.opts, *each.secondary_opts)} | {"--help"}
    assert not options(words) - names, f"loreglass {command.name}"


@each_of(lambda page: (words for name, *words in commands(page) if name == "make"))
def test_make_has_the_documented_targets(mention: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {word for word in mention if word[:1] not in "-." and "=" not in word} <= targets


def is_there(word: str, page: Path) -> bool:
    """A path from the root or from the page; the beginning of a name will do, capitals stand for any."""
    pattern = re.sub(r"\b([A-Z]{2,}|x)\b(?!\.md)", "*", word.rstrip("/")) + "*"
    return any(ROOT.glob(pattern)) or any(page.parent.glob(pattern))


@each_page
def test_links_and_paths_exist(page: Path) -> None:
    for link in _LINK.findall(page.read_text()):
        assert "://" in link or (page.parent / link).exists(), link
    for word in (word.rstrip(".,:") for line in code(page) for word in line.split()):
        if _PATH.fullmatch(word) and word.partition("/")[0] in _FOLDERS:
            assert word.startswith("deploy/compose/secrets/") or is_there(word, page), word


def settings() -> Iterator[type[BaseSettings]]:
    """Of the apps, the tools and the command."""
    yield from (app.settings for app in APPS)
    yield from (ServeSettings, WeightsSettings, ClientSettings, CorpusSettings, LiteSettings, ServiceAccess)


@cache
def variables() -> set[str]:
    """What settings read, and what other code and compose call by its whole name."""
    names = {
        f"{each.model_config.get('env_prefix', '')}{name.upper()}"
        for each in settings()
        for name in each.model_fields
    }
    code = [path for top in _FOLDERS - {"docs"} for path in (ROOT / top).rglob("*.py")]
    files = [ROOT / ".env", ROOT / "docker-compose.yml", ROOT / "deploy/compose/dashboards.yml"]
    return names.union(*(_VARIABLE.findall(path.read_text()) for path in (*code, *files)))


@each_page
def test_documented_variables_are_read_by_code(page: Path) -> None:
    assert not set(_VARIABLE.findall(page.read_text())) - variables()


def compose_services(page: Path) -> Iterator[str]:
    """The services that `docker compose` is told to do something with."""
    for name, *words in commands(page):
        verb = next((word for word in words if word in _NAMING), "")
        if (name, words[:1]) == ("docker", ["compose"]) and verb:
            named = [
                word for word in words[words.index(verb) + 1 :] if re.fullmatch(r"[a-z][a-z0-9-]+", word)
            ]
            yield from named[:1] if verb == "exec" else named


@each_of(compose_services)
def test_compose_has_the_documented_services(mention: str) -> None:
    assert mention in SERVICES
