"""What one tenant's flood does to another: `python -m bench.tenants` over the pocket platform, on loopback.

Prints what a quiet tenant's questions take alone and beside callers of another tenant who ask with photos
without a pause, how many of either are answered, what becomes of the quiet tenant's session and trace, and
how long a photo is read that the other tenant has sent before.
"""

import argparse
import asyncio
import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
from PIL import Image

from bench.figures import number, percentile
from bench.pocket import index_sample, one_process
from chassis.keys import ApiKey
from contracts.answer import Reason
from deploy.sample import SAMPLE
from evaluation.data.model import Conversation
from evaluation.data.world import load_world

_DEADLINE_MS = 20_000
_PASSED = (Reason.TIMED_OUT, Reason.OVERLOADED, Reason.UNAVAILABLE)
_TENANTS = ("quiet", "noisy")
_ENTRY = '[[key]]\nprefix = "{}"\nsha256 = "{}"\ntenant = "{}"\npriority = "interactive"\n'


@dataclass
class _Asker:
    """One tenant's questions, each with a photo of which there is no second."""

    client: httpx.AsyncClient
    key: str
    conversations: list[Conversation]
    numbers: Iterator[int]
    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    async def ask(self, jpeg: bytes | None = None) -> httpx.Response | None:
        """Ask, with `jpeg` if given; None where there was no reply."""
        number = next(self.numbers)
        conversation = self.conversations[number % len(self.conversations)]
        if jpeg is None:
            assert conversation.photo is not None
            jpeg = await asyncio.to_thread(_unlike_others, conversation.photo, number)
        began = time.monotonic()
        try:
            reply = await self.client.post(
                "/answer",
                files={"image": ("photo.jpg", jpeg, "image/jpeg")},
                data={"question": conversation.turns[0].question, "deadline_ms": str(_DEADLINE_MS)},
                headers=self.headers,
            )
        except httpx.HTTPError as error:
            self.statuses[type(error).__name__] += 1
            return None
        self.seconds.append(time.monotonic() - began)
        known = reply.status_code == httpx.codes.OK
        self.statuses[reply.json()["reason"] if known else str(reply.status_code)] += 1
        return reply

    @property
    def headers(self) -> dict[str, str]:
        """Who asks."""
        return {"Authorization": f"Bearer {self.key}"}

    def told(self) -> str:
        """In one line."""
        p50, p95, most = (percentile(self.seconds, share) for share in (0.5, 0.95, 1.0))
        figures = f"p50 {number(p50)} s, p95 {number(p95)} s, most {number(most)} s"
        replies = ", ".join(f"{status}: {times}" for status, times in sorted(self.statuses.items()))
        return f"{figures}; {replies}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _unlike_others(photo: Path, number: int) -> bytes:
    """The photo with a corner of its own."""
    with Image.open(photo) as opened:
        picture = opened.convert("RGB")
    colour = (number % 256, number // 256 % 256, 128)
    picture.paste(colour, (0, 0, 16, 16))
    encoded = io.BytesIO()
    picture.save(encoded, "JPEG", quality=88)
    return encoded.getvalue()


async def _measure(url: str, keys: dict[str, str], callers: int, questions: int) -> None:
    world = load_world(SAMPLE)
    conversations = [each for each in (*world.single, *world.multi) if each.photo]
    limits = httpx.Limits(max_connections=callers + 8)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        numbers = count()

        def asker(tenant: str) -> _Asker:
            return _Asker(client, keys[tenant], conversations, numbers)

        warm, alone, beside, flood = asker("quiet"), asker("quiet"), asker("quiet"), asker("noisy")
        for _ in range(6):
            await warm.ask()
        for _ in range(questions):
            await alone.ask()
        _say(f"quiet, alone: {alone.told()}")
        await _same_photo(asker("noisy"), asker("quiet"))
        kept = await asker("quiet").ask()
        assert kept is not None
        await _many_cheap(asker("noisy"), 1_010)
        trace = await client.get(f"/traces/{kept.json()['trace_id']}", headers=warm.headers)
        session = await client.post(
            "/answer",
            json={"question": "Who?", "session_id": kept.json()["session_id"]},
            headers=warm.headers,
        )
        _say(f"quiet's trace: {trace.status_code}, its session: {session.status_code}")
        await _beside(beside, flood, callers, questions)


async def _same_photo(first: _Asker, second: _Asker) -> None:
    jpeg = await asyncio.to_thread(_unlike_others, first.conversations[0].photo or Path(), 77_777)
    for who, asker in (("one tenant", first), ("the same again", first), ("another tenant", second)):
        reply = await asker.ask(jpeg)
        if reply is not None:
            _say(f"a photo is read for {who}: {reply.json()['timings_ms'].get('ocr')} ms")


async def _beside(beside: _Asker, flood: _Asker, callers: int, questions: int) -> None:
    async def flooding() -> None:
        while True:
            reply = await flood.ask()
            if reply is None or reply.status_code != httpx.codes.OK:
                await asyncio.sleep(0.2)

    began = time.monotonic()
    tasks = [asyncio.create_task(flooding()) for _ in range(callers)]
    await asyncio.sleep(3)
    for _ in range(questions):
        await beside.ask()
    lasted = time.monotonic() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    _say(f"quiet, beside {callers} callers of noisy: {beside.told()}")
    _say(f"noisy: {flood.told()}")
    done = sum(
        each.statuses[reason] for each in (flood, beside) for reason in Reason if reason not in _PASSED
    )
    _say(f"worked out in all: {done / lasted:.2f} a second")


async def _many_cheap(asker: _Asker, times: int) -> None:
    """Questions without a photo, eight at once."""
    statuses: Counter[int] = Counter()
    left = iter(range(times))

    async def ask_on() -> None:
        for nth in left:
            body = {"question": f"Who are you, number {nth}?"}
            reply = await asker.client.post("/answer", json=body, headers=asker.headers)
            statuses[reply.status_code] += 1

    await asyncio.gather(*(ask_on() for _ in range(8)))
    _say(f"noisy asks {times} cheap questions: {dict(statuses)}")


@contextmanager
def _keys() -> Iterator[tuple[Path, dict[str, str]]]:
    made = {tenant: ApiKey.new() for tenant in _TENANTS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.toml"
        path.write_text(
            "".join(_ENTRY.format(key.prefix, key.sha256, tenant) for tenant, key in made.items())
        )
        yield path, {tenant: key.text for tenant, key in made.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--callers", type=int, default=60, help="of the noisy tenant, each in a closed loop")
    parser.add_argument("--questions", type=int, default=15, help="of the quiet tenant, alone and beside")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _keys() as (path, keys):
        with one_process(Path(folder)) as (_, urls, _):
            index_sample(urls)
        settings = {"LOREGLASS_GATEWAY_KEYS": str(path)}
        with one_process(Path(folder), settings) as (_, urls, _):
            asyncio.run(_measure(urls["gateway"], keys, given.callers, given.questions))


if __name__ == "__main__":
    main()
