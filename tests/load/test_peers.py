"""The other gateways of the benchmark: they answer the question that they are measured with."""

from collections.abc import Iterator

import httpx
import pytest
import typer
from typer.testing import CliRunner

from bench import __main__ as command
from bench.peers import FASTAPI, HAYSTACK, OPEA, ask, installed, peer, peer_bodies
from bench.processes import running


@pytest.fixture(scope="module")
def services_url() -> Iterator[str]:
    with running("bench.node") as services:
        yield services.url


def _calls(services_url: str) -> dict[str, int]:
    counts = httpx.get(f"{services_url}/node/counts").json()
    return {name: count["received"] for name, count in counts.items()}


@pytest.mark.parametrize("name", [FASTAPI, OPEA, HAYSTACK])
def test_a_peer_asks_the_three_services_and_answers_with_what_they_said(name: str, services_url: str) -> None:
    environment = {OPEA: "opea", HAYSTACK: "haystack"}.get(name)
    if environment and not installed(environment):
        pytest.skip(f'{name} is not installed: make bench BENCH="--only peers" does that')
    with peer(name, services_url) as subject:
        for kind in ("upload", "follow-up"):
            before = _calls(services_url)
            said = ask(subject.url, peer_bodies(name)[kind])
            for told in ("Direct line every 12 minutes", "local", "Marrow Quay Bridge"):
                assert told in said
            after = _calls(services_url)
            more = {name: after[name] - before[name] for name in after if after[name] > before[name]}
            assert more == {"ocr": 1, "image_search": 1, "domain_router": 1}


@pytest.mark.parametrize(
    "words", [["peers", "faults"], ["--only", "peers", "faults"], ["--only", "peers", "--only", "faults"]]
)
def test_several_benchmarks_are_named_at_once(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(command, "_measured", lambda benchmark, *_: ran.append(benchmark.about.name) or [])
    app = typer.Typer()
    app.command()(command.main)
    ended = CliRunner().invoke(app, [*words, "--quick"])
    assert ended.exit_code == 0, ended.output
    assert ran == ["peers", "faults"]
