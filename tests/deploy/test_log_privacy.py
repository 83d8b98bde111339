"""What people ask, show and log in with is in no log and in no trace, whatever goes wrong."""

import base64
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx

from bench.ports import free_ports
from bench.processes import until_ready
from bench.settings import ROOT, environment
from chassis.keys import ApiKey
from clients.keys import entry
from tests.loopback import taking_posts
from tests.unit.chassis.pictures import encoded, scene

TRACE = "0af7651916cd43dd8448eb211c80319c"
QUESTION = "Whose is the zanzibarian umbrella?"
VLM_KEY, REDIS_PASSWORD, CALLERS_KEY = "vlm-key-quokka", "redis-password-axolotl", ApiKey.new()
PHOTO = encoded(scene(320, 240), "JPEG")
BROKEN_PHOTO = PHOTO[: len(PHOTO) // 2]
DATA_URL = "data:image/jpeg;base64," + base64.b64encode(PHOTO).decode()
SECRETS = {
    "the question": r"zanzibar|umbrella",
    "the model's key": "quokka",
    "the store's password": "axolotl",
    "the caller's key": CALLERS_KEY.text[-20:],
    "the key's digest": CALLERS_KEY.sha256,
    "an authorization": r"bearer|authorization",
    "a data URL": "data:image|base64",
    "the photo, encoded": re.escape(DATA_URL[60:100]),
    "the photo, as bytes": r"JFIF|\\xff\\xd8|\\ufffd",
}


def model_that_quotes() -> AbstractContextManager[str]:
    """A model's server that refuses every prompt and repeats it in the error."""

    def refuse(request: BaseHTTPRequestHandler, prompt: bytes) -> None:
        message = f"{QUESTION} {prompt.decode()[:2000]} {request.headers['Authorization']}"
        body = json.dumps({"error": {"message": message, "code": 400}}).encode()
        request.send_response(400)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return taking_posts(refuse)


@contextmanager
def platform(folder: Path, vlm_url: str) -> Iterator[str]:
    """`make serve` in a process of its own, which leaves its `log` and its `spans` in the folder; its URL."""
    port, closed = free_ports(2)
    keys = folder / "keys.toml"
    keys.write_text(entry(CALLERS_KEY, "wearers", "interactive"))
    store = f"redis://:{REDIS_PASSWORD}@127.0.0.1:{closed}/0"
    gateway = {"KEYS": str(keys), "SESSIONS": "redis", "REDIS_URL": store, "REASONING": "vlm"}
    gateway |= {"VLM_MODEL": "model", "VLM_URL": vlm_url, "VLM_KEY": VLM_KEY}
    variables = {f"LOREGLASS_GATEWAY_{name}": value for name, value in gateway.items()}
    variables |= {
        "LOREGLASS_PORT": str(port),
        "LOREGLASS_SERVICE_PORT": "0",
        "OTEL_TRACES_EXPORTER": "console",
    }
    variables["LOREGLASS_DATA_DIR"] = str(folder / "data")
    url, command = f"http://127.0.0.1:{port}", [sys.executable, "-m", "deploy.one_process"]
    with (folder / "log").open("wb") as log, (folder / "spans").open("wb") as spans:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(variables), stdout=spans, stderr=log)
        try:
            until_ready(url, process, path="/health/live", log=folder / "log")
            yield url
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()
            process.wait()


def ask_in_every_way(url: str) -> set[int]:
    """Questions that are answered, refused and broken; the statuses that came of them."""
    login = {"Authorization": f"Bearer {CALLERS_KEY.text}"}
    traced, streamed = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}, {"Accept": "text/event-stream"}
    form = {"question": QUESTION, "deadline_ms": "8000"}
    chat_content = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": DATA_URL}}]
    chat = {"model": "loreglass", "messages": [{"role": "user", "content": chat_content}]}
    image = {"base64": base64.b64encode(PHOTO).decode()}
    with httpx.Client(base_url=url, headers=login, timeout=60, params={"q": QUESTION}) as client:
        replies = [
            client.post("/answer", data=form, files={"image": PHOTO}, headers=traced),
            client.post("/answer", data=form, files={"image": PHOTO}, headers=streamed),
            client.post("/answer", data={**form, "deadline_ms": "150"}, files={"image": PHOTO}),
            client.post("/answer", data=form, files={"image": BROKEN_PHOTO}),
            client.post("/answer", data={**form, "session_id": QUESTION}, files={"image": PHOTO}),
            client.post("/answer", data={**form, "pipeline": QUESTION}, files={"image": PHOTO}),
            client.post("/answer", json={"question": QUESTION, "image": image, QUESTION: QUESTION}),
            client.post("/answer", json={"question": [QUESTION], "image": {"url": DATA_URL}}),
            client.post("/answer", content=f'{{"question": "{QUESTION}'.encode()),
            client.post("/v1/chat/completions", json=chat),
            client.post("/v1/chat/completions", json={**chat, "stream": True}),
            client.post("/v1/chat/completions", json={**chat, "model": QUESTION}),
            client.get(f"/traces/{QUESTION}"),
            client.delete(f"/sessions/{QUESTION}"),
            client.post("/answer", data=form, headers={"Authorization": f"Bearer {CALLERS_KEY.text}x"}),
            client.post("/answer", data=form, headers={"Authorization": f"Basic {QUESTION}"}),
        ]
    return {reply.status_code for reply in replies}


def test_logs_and_traces_contain_no_user_content(tmp_path: Path) -> None:
    with model_that_quotes() as vlm_url, platform(tmp_path, vlm_url) as url:
        statuses = ask_in_every_way(url)
        ready = httpx.get(f"{url}/health/ready", timeout=60)
    log, spans = (tmp_path / "log").read_text(), (tmp_path / "spans").read_text()
    results = {what for what, pattern in SECRETS.items() if re.search(pattern, log + spans, re.IGNORECASE)}
    assert results == set()
    assert {401, 422} <= statuses
    assert ready.status_code == 503
    assert {"vlm.request_refused", "question", "request"} <= set(re.findall(r'"event": "([^"]+)"', log))
    assert '"session"' in log  # the store was missed
    assert '"name": "POST /answer"' in spans
    greeting = f"Loreglass answers at {url} (Ctrl-C stops it)"
    assert [line for line in log.splitlines() if not line.startswith("{")] == [greeting]
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    of_question = [line for line in lines if line.get("trace_id") == TRACE]
    assert {line["service"] for line in of_question if line["event"] == "request"} >= {"gateway"}
    assert all("trace_id" in line for line in lines if line["event"].startswith(("vlm.", "question")))
