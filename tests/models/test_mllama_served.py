"""The VLM client before a real server of the card's default architecture, Llama-3.2-Vision (Mllama).

The server is `transformers serve`: it heeds neither the schema nor the wish for log probabilities. The
weights are random and tiny, so its words are noise; the mechanics are not.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from pydantic import BaseModel

from chassis.http.calls import http_client
from chassis.http.serving import listen
from chassis.resilience.deadlines import Deadline
from gateway.llm.call import VlmCall, VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.llm.failures import VlmReplyUnusable
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from tests.training.tiny_models import tiny_mllama
from tests.unit.chassis.pictures import encoded, scene

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
PHOTO = encoded(scene(320, 240), "JPEG", quality=90)
LOOKS, BETWEEN_LOOKS_S = 900, 0.2


class Colour(BaseModel):
    """What a sighted model would say."""

    colour: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of the server and the name of its model."""
    folder = tiny_mllama(tmp_path_factory.mktemp("mllama"))
    cache = tmp_path_factory.mktemp("hub")
    with listen("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.models.transformers_serve", str(folder), str(port)]
    environment = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
    with (cache / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        _wait_until_up(process, f"http://127.0.0.1:{port}/health", cache / "log")
        yield f"http://127.0.0.1:{port}", str(folder)
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_up(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    for _ in range(LOOKS):
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            with suppress(subprocess.TimeoutExpired):
                process.wait(BETWEEN_LOOKS_S)
                break
    raise RuntimeError(log.read_text("utf-8", "replace")[-2000:])


async def test_a_photo_reaches_a_real_mllama_and_its_noise_is_an_honest_error(
    served: tuple[str, str],
) -> None:
    url, model = served
    calls: list[VlmCall] = []
    prompt = Prompt("colour", "You see.", (ImagePart(PHOTO), TextPart("Which colour?")), Colour, 8)
    async with http_client() as http:
        client = VlmClient(http, VlmEndpoint(url, model), calls.append)
        with pytest.raises(VlmReplyUnusable):
            await client.complete(prompt, Deadline.after_ms(120_000))
    assert calls[0].first_token_s is not None
    assert calls[0].requests == 1
