"""`make test-llama`: ask the platform about a photo, with a tiny model of random weights that sees.

The replies are noise; the test is that llama.cpp accepts the platform's requests, photo included.
"""

import sys
import tempfile
from pathlib import Path

import anyio

from chassis.telemetry.logs import configure_logging
from deploy.one_process import platform
from deploy.settings import LiteSettings
from loreglass_client import AsyncLoreglass
from tests.real_models.llama import CACHE, build_server, run, serving, tool_environment
from tests.unit.chassis.pictures import encoded, scene

QUESTIONS = ("What is this?", "Who made it?", "How old is it?")
PHOTO = encoded(scene(320, 240), "JPEG")


def main() -> None:
    """Build, serve, ask. Exit with 1 if the model did not read every question."""
    configure_logging("error")
    build_server()
    run(str(tool_environment("gguf==0.19.0")), str(Path(__file__).with_name("tiny_files.py")), str(CACHE))
    with serving(CACHE / "tiny.gguf", "--mmproj", str(CACHE / "eye.gguf"), "--ctx-size", "8192") as url:
        count = anyio.run(_ask, url)
    sys.stderr.write(f"The model read {count} of {len(QUESTIONS)} questions.\n")
    sys.exit(0 if count == len(QUESTIONS) else 1)


async def _ask(url: str) -> int:
    """Return how many questions the model read with their photo and replied to."""
    count = 0
    with tempfile.TemporaryDirectory() as data:
        settings = LiteSettings(port=0, service_port=0, data_dir=Path(data), model=url, log_level="error")
        async with platform(settings) as running, AsyncLoreglass(running.gateway_url) as client:
            for question in QUESTIONS:
                answer = await client.ask(question, PHOTO, deadline_ms=60_000)
                usage = answer.model_usage
                sys.stderr.write(f"{question} {answer.answer} ({usage.calls} calls, {answer.degraded})\n")
                count += bool(usage.prompt_tokens and usage.completion_tokens)
    return count


if __name__ == "__main__":
    main()
