"""The operator's routes: who may use them, what is accepted, what is searched while it is indexed."""

import io
import threading
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from PIL import Image

from chassis.errors import InvalidRequest, UnsupportedMediaType
from chassis.keys import ApiKey
from clients.keys import entry
from corpus.ingest import ingest_photos
from deploy import indexing
from deploy.uploads import Uploads
from tests.deploy.operating import cover, operated, tiny_world

MILL = b"# The Old Mill\n\nThe Old Mill was built in 1887 by Ada Brook.\n"
ROUTES = ("GET /operator/photos", "GET /operator/pages", "GET /operator/uploads", "GET /operator/job")
ROUTES += ("POST /operator/uploads", "POST /operator/job", "DELETE /operator/uploads")


def counts(**given: int) -> dict[str, int]:
    return {"added": 0, "replaced": 0, "unchanged": 0, "rejected": 0, **given}


async def test_uploaded_photos_and_pages_are_listed_after_indexing(tmp_path: Path) -> None:
    files = {"salt_road-1.jpg": cover(3), "salt_road-2.jpg": cover(4), "Fair.jpg": cover(5), "mill.md": MILL}
    async with operated(tmp_path) as here:
        for name, content in files.items():
            assert (await here.hand_over(name, content)).status_code == 201
        assert (await here.listed("photos"))["total"] == 0
        events = await here.index()
        photos, pages = await here.listed("photos"), await here.listed("pages")
        uploads = (await here.client.get("/operator/uploads")).json()
    assert [data for event, data in events if event == "step"] == [
        {"step": "photos", "files": 3},
        {"step": "pages", "files": 1},
    ]
    outcomes = {data["name"]: data["outcome"] for event, data in events if event == "file"}
    assert outcomes == dict.fromkeys(files, "added")
    assert events[-1] == ("done", {**counts(added=4), "problem": None})
    assert [(each["name"], each["parts"]) for each in photos["items"]] == [("Fair", 1), ("Salt Road", 2)]
    assert all(each["picture"].startswith("data:image/jpeg;base64,") for each in photos["items"])
    assert (photos["total"], photos["parts"]) == (2, 3)
    [page] = pages["items"]
    assert (page["name"], page["url"], page["parts"]) == ("The Old Mill", "file:uploads/mill.md", 1)
    assert uploads == {"files": [], "running": False}


async def test_upload_that_replaces_an_indexed_document_is_announced(tmp_path: Path) -> None:
    async with operated(tmp_path) as here:
        first = await here.hand_over("hall/README.md", b"Elm Hall has 14 rooms.")
        await here.index()
        other = await here.hand_over("barn/README.md", b"The barn has no rooms.")
        again = await here.hand_over("hall/README.md", b"Elm Hall has 15 rooms.")
        waiting = (await here.client.get("/operator/uploads")).json()["files"]
        events = await here.index()
    assert [each.json()["replaces"] for each in (first, other, again)] == [False, False, True]
    assert {each["name"]: each["replaces"] for each in waiting} == {
        "barn/README.md": False,
        "hall/README.md": True,
    }
    assert events[-1][1] == {**counts(added=1, replaced=1), "problem": None}


async def test_unreadable_uploads_are_reported_and_others_indexed(
    tmp_path: Path,
) -> None:
    bomb = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(bomb, "PNG")
    bad = {"Torn.jpg": cover(6)[:400], "Web.png": b"<svg xmlns='http://www.w3.org/2000/svg'/>"}
    bad |= {"Bomb.png": bomb.getvalue(), "program.txt": b"\x7fELF" + bytes(400)}
    async with operated(tmp_path) as here:
        for name, content in {"Fair.jpg": cover(5), **bad}.items():
            await here.hand_over(name, content)
        events = await here.index()
        photos = await here.listed("photos")
    rejected = {data["name"]: data["reason"] for event, data in events if data.get("outcome") == "rejected"}
    assert rejected.keys() == bad.keys()
    assert "damaged" in rejected["Torn.jpg"]
    assert "megapixels" in rejected["Bomb.png"]
    assert str(tmp_path) not in str(rejected)
    assert [each["name"] for each in photos["items"]] == ["Fair"]


ODD_NAMES = ("tab\tin.md", "line\nbreak.md", "\ud800.md", "nul\0.md", "", "///", "../x.md", "a/../x.md")
ODD_NAMES += ("a/" * 20 + "x.md", ".hidden.md", "é" * 101 + ".md", "../metadata.jsonl/../../x.jsonl")
OTHER_KINDS = ("program.exe", "drawing.svg", "no-suffix")


@pytest.mark.parametrize("name", [*ODD_NAMES, *OTHER_KINDS])
def test_malicious_file_names_are_refused_and_not_stored(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsupportedMediaType if name in OTHER_KINDS else InvalidRequest) as refusal:
        Uploads(tmp_path / "uploads").keep(name, io.BytesIO(b"words"), 5)
    assert str(tmp_path) not in refusal.value.detail
    assert not (tmp_path / "uploads").exists()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/etc/passwd.txt", "etc/passwd.txt"),
        ("C:\\Users\\me\\Eiffel Tower.jpg", "Eiffel Tower.jpg"),
        ("a/b/c/README.md", "a/b/c/README.md"),
        ("Eiffel Tower/IMG_0001.jpg", "Eiffel Tower/IMG_0001.jpg"),
    ],
)
def test_upload_names_keep_their_folders(tmp_path: Path, name: str, path: str) -> None:
    assert Uploads(tmp_path / "uploads").keep(name, io.BytesIO(b"words"), 5) == path
    assert Uploads(tmp_path / "uploads").names() == [path]
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == [Path(path).name]


def test_unnamed_photo_is_refused_without_a_metadata_file(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path / "uploads")
    with pytest.raises(InvalidRequest, match="what it shows"):
        uploads.keep("photo/IMG_0001.jpg", io.BytesIO(b"x"), 1)
    uploads.keep("photo/metadata.jsonl", io.BytesIO(b"{}"), 2)
    assert uploads.keep("photo/IMG_0001.jpg", io.BytesIO(b"x"), 1) == "photo/IMG_0001.jpg"
    assert uploads.names() == ["photo/IMG_0001.jpg", "photo/metadata.jsonl"]


async def test_invalid_upload_form_is_refused(tmp_path: Path) -> None:
    cut_off = {"Content-Type": "multipart/form-data; boundary=x"}
    forms: tuple[tuple[int, dict[str, Any]], ...] = (
        (413, {"files": {"file": ("big.jpg", bytes(31 << 20))}}),
        (422, {"files": {"file": ("empty.jpg", b"")}}),
        (422, {"files": {"other": ("a.jpg", b"x")}}),
        (413, {"files": [("file", ("a.md", b"x")), ("file", ("b.md", b"x"))]}),
        (400, {"content": b"--x\r\n", "headers": cut_off}),
        (415, {"json": {"file": "x"}}),
    )
    async with operated(tmp_path) as here:
        for status, form in forms:
            reply = await here.client.post("/operator/uploads", **form)
            assert reply.status_code == status, reply.text
        assert (await here.client.get("/operator/uploads")).json()["files"] == []


@pytest.mark.parametrize("limit", [{"most_files": 2}, {"most_bytes": 14}])
async def test_uploads_are_limited_and_replaced_files_count_once(
    tmp_path: Path, limit: dict[str, Any]
) -> None:
    async with operated(tmp_path, **limit) as here:
        statuses = [
            (await here.hand_over(f"{name}.md", b"words")).status_code for name in ("a", "b", "b", "c")
        ]
        emptied = (await here.client.delete("/operator/uploads")).json()
    assert statuses == [201, 201, 201, 413]
    assert emptied == {"files": [], "running": False}


async def test_jobs_run_one_at_a_time_and_outlive_their_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_begin = anyio.Event()

    async def held(*arguments: Any) -> None:
        await may_begin.wait()
        await ingest_photos(*arguments)

    monkeypatch.setattr(indexing, "ingest_photos", held)
    async with operated(tmp_path, sample=tiny_world(tmp_path / "world")) as here:
        await here.client.post("/operator/job", json={"sample": True})
        busy = [
            await here.client.post("/operator/job", json={"sample": True}),
            await here.hand_over("mill.md", MILL),
            await here.client.delete("/operator/uploads"),
        ]
        with anyio.move_on_after(0.05):  # somebody looks on for a moment, and closes the page
            await here.client.get("/operator/job")
        may_begin.set()
        first, second = await here.followed(), await here.followed()
        pages = await here.listed("pages")
    assert [reply.status_code for reply in busy] == [409, 409, 409]
    assert first == second
    assert first[0] == ("step", {"step": "photos", "files": 1})
    assert first[-1] == ("done", {**counts(added=2), "problem": None})
    assert pages["total"] == 1


async def test_job_waits_for_a_running_upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end, keep = threading.Event(), threading.Event(), Uploads.keep

    def slow_keep(self: Uploads, name: str, content: BinaryIO, size: int) -> str:
        begun.set()
        assert may_end.wait(60)
        return keep(self, name, content, size)

    async with operated(tmp_path) as here, anyio.create_task_group() as group:
        await here.hand_over("mill.md", MILL)
        monkeypatch.setattr(Uploads, "keep", slow_keep)
        group.start_soon(here.hand_over, "pond.md", b"The pond is six metres deep.")
        await anyio.to_thread.run_sync(begun.wait)
        refused = await here.client.post("/operator/job", json={})
        may_end.set()
        with anyio.fail_after(60):
            while (await here.client.post("/operator/job", json={})).status_code == 409:
                await anyio.lowlevel.checkpoint()
        events = await here.followed()
    assert refused.status_code == 409
    assert {data["name"] for event, data in events if event == "file"} == {"mill.md", "pond.md"}


async def test_stopped_job_keeps_the_old_index_and_resumes(
    tmp_path: Path,
) -> None:
    async with operated(tmp_path) as here:
        await here.hand_over("mill.md", MILL)
        await here.index()
        await here.hand_over("pond.md", b"The pond is six metres deep.")
        await here.client.post("/operator/job", json={})
        here.indexing.stop()
        stopped = await here.followed()
        before = await here.listed("pages")
    async with operated(tmp_path) as here:
        events = await here.index()
        after = await here.listed("pages")
    assert stopped[-1][1]["problem"]["type"] == "urn:loreglass:problem:not_ready"
    assert (before["total"], after["total"]) == (1, 2)
    assert [data["name"] for event, data in events if event == "file"] == ["pond.md"]


@pytest.mark.parametrize(
    ("wrong", "kind", "word"),
    [
        ({"text_search_url": "http://127.0.0.1:9"}, "dependency_unavailable", "text_search"),
        ({"most_s": 0}, "deadline_exceeded", ""),
    ],
)
async def test_failed_or_late_job_is_explained_and_keeps_its_uploads(
    tmp_path: Path, wrong: dict[str, Any], kind: str, word: str
) -> None:
    async with operated(tmp_path, **wrong) as here:
        await here.hand_over("mill.md", MILL)
        events = await here.index()
        uploads = (await here.client.get("/operator/uploads")).json()
    assert events[-1][1]["problem"]["type"] == f"urn:loreglass:problem:{kind}"
    assert word in events[-1][1]["problem"]["detail"]
    waiting = {"name": "mill.md", "photo": False, "thing": "", "replaces": False}
    assert uploads == {"files": [waiting], "running": False}


def test_file_and_folder_with_the_same_name_are_refused(tmp_path: Path) -> None:
    for first, second in (("x.html/y.html", "x.html"), ("x.html", "x.html/y.html")):
        uploads = Uploads(tmp_path / first)
        uploads.keep(first, io.BytesIO(b"words"), 5)
        with pytest.raises(InvalidRequest, match="same name"):
            uploads.keep(second, io.BytesIO(b"words"), 5)
        assert uploads.names() == [first]


async def test_requests_without_uploads_job_or_sample_are_refused(tmp_path: Path) -> None:
    async with operated(tmp_path, sample=tmp_path / "nowhere") as here:
        assert (await here.client.post("/operator/job", json={})).status_code == 422
        assert (await here.client.get("/operator/job")).status_code == 404
        events = await here.index(sample=True)
    assert events[-1][1]["problem"]["type"] == "urn:loreglass:problem:not_configured"


async def test_a_listing_comes_in_pages_and_is_searched_by_name(tmp_path: Path) -> None:
    async with operated(tmp_path) as here:
        for name in ("Ash", "birch", "Cedar", "dog rose"):
            await here.hand_over(f"{name}.md", f"# {name}\n\nThe {name} has leaves.".encode())
        await here.index()
        second = await here.listed("pages", offset=1, limit=2)
        result = await here.listed("pages", q="CE")
        refused = await here.client.get("/operator/pages", params={"limit": 1000})
    assert [each["name"] for each in second["items"]] == ["birch", "Cedar"]
    assert (second["total"], second["found"]) == (4, 4)
    assert [each["name"] for each in result["items"]] == ["Cedar"]
    assert result["found"] == 1
    assert refused.status_code == 422


FORGED = (
    *({"Host": host} for host in ("rebound.example", "127.0.0.1.rebound.example", "[::1", "")),
    *({"Origin": origin} for origin in ("http://elsewhere.example", "null", "http://127.0.0.1:1")),
    *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
    *({"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}),
    *({"X-Real-IP": "127.0.0.1"}, {"Via": "1.1 proxy"}),
)


async def test_local_browser_alone_has_access_without_keys(tmp_path: Path) -> None:
    async with operated(tmp_path) as here:
        async with here.from_afar() as remote_client:
            for route in ROUTES:
                reply = await remote_client.request(*route.split(), json={})
                assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer"), route
        await here.hand_over("mill.md", MILL)
        for forged in FORGED:
            reply = await here.client.delete("/operator/uploads", headers=forged)
            assert reply.status_code in (401, 403), forged
        assert len((await here.client.get("/operator/uploads")).json()["files"]) == 1
        for peer in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
            async with here.from_afar(peer) as browser:
                for host in ("localhost:7100", "127.0.0.1:7100", "[::1]:7100", "127.8.8.8"):
                    sent = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
                    assert (await browser.get("/operator/uploads", headers=sent)).status_code == 200


async def test_with_keys_an_operator_key_is_required_and_sufficient(tmp_path: Path) -> None:
    wearer, operator = ApiKey.new(), ApiKey.new()
    keys = tmp_path / "keys.toml"
    entries = (entry(wearer, "acme", "interactive"), entry(operator, "acme", "standard", operator=True))
    keys.write_text("\n".join(entries))
    logins = [{}, *({"Authorization": f"Bearer {key.text}"} for key in (ApiKey.new(), wearer, operator))]
    async with operated(tmp_path, keys=keys) as here, here.from_afar() as remote_client:
        for client in (here.client, remote_client):
            replies = [await client.get("/operator/uploads", headers=login) for login in logins]
            assert [each.status_code for each in replies] == [401, 401, 401, 200]
