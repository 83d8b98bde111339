"""Forms come whole, or are refused."""

import pytest
from fastapi import FastAPI, Request
from httpx import ASGITransport, AsyncClient

from chassis.errors import LoreglassError, problem_of
from chassis.http.forms import read_form

pytestmark = pytest.mark.anyio

PART = b'--XX\r\nContent-Disposition: form-data; name="question"\r\n\r\nhow high is it?\r\n'
PHOTO = b'--XX\r\nContent-Disposition: form-data; name="image"; filename="a.jpg"\r\n\r\n\xff\xd8\xff\r\n'
END = b"--XX--\r\n"


async def sent(body: bytes, boundary: str = "XX") -> tuple[int, list[str]]:
    app = FastAPI()

    @app.post("/")
    async def names(request: Request) -> list[str]:
        async with read_form(request, max_files=1, max_fields=2, max_part_size=64) as form:
            return list(form)

    async with AsyncClient(transport=ASGITransport(app), base_url="http://here") as client:
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        try:
            reply = await client.post("/", content=body, headers=kind)
        except LoreglassError as error:
            return problem_of(error).status, []
    return reply.status_code, reply.json()


async def test_a_whole_form_has_its_parts() -> None:
    assert await sent(PART + PHOTO + END) == (200, ["question", "image"])


@pytest.mark.parametrize(
    "body",
    [
        PART + PHOTO,
        PART + PHOTO[:-4],
        PART + PHOTO[:30],
        PART + PHOTO + b"--XX",
        PART,
        b"",
        PART.replace(b"XX", b"YY") + b"--YY--\r\n",
    ],
)
async def test_a_form_that_broke_off_is_refused_and_not_read_without_its_last_part(body: bytes) -> None:
    assert await sent(body) == (400, [])


@pytest.mark.parametrize("body", [PHOTO + PHOTO, PART * 3, PART.replace(b"how", b"how" * 99)])
async def test_a_form_beyond_its_bounds_is_too_large(body: bytes) -> None:
    assert await sent(body + END) == (413, [])
