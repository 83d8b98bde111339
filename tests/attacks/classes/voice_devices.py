"""Sound, in and out, and the routes of devices."""

import base64
import io
import random
import struct
import wave
from functools import cache

from tests.attacks.inputs import AttackClass, Input, Part, Scene, form, photo_part, request, text_parts
from tests.attacks.mutations import changed, dumped
from tests.attacks.words import NUMBERS, VALUES, damaged, text

_WORDS = "/v1/audio/transcriptions"


@cache
def _wav(rate: int = 16_000, seconds: float = 0.3, channels: int = 1) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(b"\x10\x20" * int(rate * seconds) * channels)
    return buffer.getvalue()


@cache
def _encoded(kind: str) -> bytes:
    """A second of a tone, as apps record it."""
    import av
    import numpy as np

    codec = {"mp3": "mp3", "ogg": "libopus", "webm": "libopus", "mp4": "aac", "adts": "aac", "flac": "flac"}[
        kind
    ]
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind) as container:
        stream = container.add_stream(codec, rate=48_000)
        planar = (np.sin(np.arange(48_000) / 20) * 9_000).astype(np.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(planar, format="s16", layout="mono")
        frame.sample_rate = 48_000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    return buffer.getvalue()


_KINDS = ("mp3", "ogg", "webm", "mp4", "adts", "flac")


def _sound(draw: random.Random) -> tuple[str, bytes]:
    turn = draw.random()
    if turn < 0.08:
        return "wav", _wav(draw.choice((8_000, 16_000, 44_100)), 0.2, draw.choice((1, 2)))
    if turn < 0.2:
        lying = bytearray(_wav())
        at, size = draw.choice(((4, 4), (22, 2), (24, 4), (28, 4), (32, 2), (34, 2), (40, 4)))
        lying[at : at + size] = draw.choice((b"\xff" * size, b"\x00" * size, draw.randbytes(size)))
        return "wav that lies", bytes(lying)
    if turn < 0.3:
        head = draw.choice(
            (
                b"ID3\x04\x00\x00\x7f\x7f\x7f\x7f",
                b"OggS\x00\x02",
                b"fLaC",
                b"\x1a\x45\xdf\xa3",
                b"RIFF\xff\xff\xff\xffWAVE",
                struct.pack(">I", 24) + b"ftypM4A ",
                b"#!AMR\n",
                b"MThd",
                b"#EXTM3U\nfile:///etc/passwd\n",
                b"concat:/etc/passwd",
            )
        )
        return "head alone", head + draw.randbytes(draw.choice((0, 50, 4_000)))
    kind = draw.choice(_KINDS)
    whole = _encoded(kind)
    if turn < 0.36:
        return kind, whole
    if turn < 0.55:
        return f"{kind}, cut", whole[: draw.randrange(len(whole))]
    return f"{kind}, damaged", damaged(draw, whole)


def _asked_aloud(draw: random.Random, scene: Scene) -> Input:
    what, content = _sound(draw)
    parts = [
        *text_parts({"deadline_ms": "2000"}),
        Part("audio", content, "q.webm", draw.choice(("audio/webm", "audio/wav", None))),
    ]
    return Input(f"asked aloud: {what}", scene.post_form("/answer", parts))


def _in_json(draw: random.Random, scene: Scene) -> Input:
    what, content = _sound(draw)
    body = {"audio": {"base64": base64.b64encode(content).decode()}, "deadline_ms": 2_000}
    return Input(f"in JSON: {what}", scene.post_json("/answer", dumped(body)))


def _written_down(draw: random.Random, scene: Scene) -> Input:
    what, content = _sound(draw)
    fields = {
        "model": "whisper-1",
        "response_format": draw.choice(("json", "text", "srt", "verbose_json", "x")),
    }
    if draw.random() < 0.5:
        fields[
            draw.choice(("language", "prompt", "temperature", "timestamp_granularities[]", "model", "x"))
        ] = text(draw)
    parts = [
        *text_parts(fields),
        Part(draw.choice(("file", "file", "audio")), content, draw.choice(("a.wav", "../a", ""))),
    ]
    return Input(f"transcription: {what}", scene.post_form(_WORDS, parts))


def _said_aloud(draw: random.Random, scene: Scene) -> Input:
    body = {
        "model": "tts-1",
        "voice": "alloy",
        "input": "Published in 2001.",
        "response_format": "mp3",
        "speed": 1,
    }
    if draw.random() < 0.5:
        body[draw.choice(tuple(body))] = draw.choice((*VALUES, text(draw), "a" * 4_097))  # type: ignore[assignment]
    return Input(
        "speech",
        scene.post_json("/v1/audio/speech", changed(draw, body) if draw.random() < 0.6 else dumped(body)),
    )


def _a_device(draw: random.Random, scene: Scene) -> Input:
    query = draw.choice(
        (
            "",
            "?question=",
            "?question=what%00",
            "?deadline_ms=" + draw.choice(NUMBERS)[:100].strip().replace(" ", ""),
            "?session=" + "s" * draw.choice((1, 129, 5_000)),
            "?" + "q=1&" * 1_000,
            "?question=%ff%fe",
        )
    )
    query = query.encode("ascii", "ignore").decode()
    names = ("question", "requestId", "source", "type", "webhookUrl", "authToken", "x")
    fields = {draw.choice(names): text(draw) for _ in range(draw.choice((0, 1, 3, 20)))}
    photo = damaged(draw, scene.photo) if draw.random() < 0.7 else scene.photo
    parts = [
        *text_parts(fields),
        *[photo_part(photo, draw.choice(("photo", "file", "image", "x")))] * draw.choice((0, 1, 1, 1, 2)),
    ]
    draw.shuffle(parts)
    further = [
        (name, draw.choice(("1", "a" * 300, "é")))
        for name in ("Device-Id", "Client-Id")
        if draw.random() < 0.4
    ]
    return Input("device", scene.post_form(f"/devices/photo-question{query}", parts, *further))


def _without_a_length(draw: random.Random, scene: Scene) -> Input:
    body = form([photo_part(damaged(draw, scene.photo), "file")])
    pieces = b"".join(
        b"%x\r\n" % len(body[at : at + 700]) + body[at : at + 700] + b"\r\n"
        for at in range(0, len(body), 700)
    )
    whole = request(
        "GET",
        "/devices/photo-question",
        [
            scene.authorization,
            ("Transfer-Encoding", "chunked"),
            ("Content-Type", "multipart/form-data; boundary=attack-7d1f4c"),
        ],
    ).replace(b"GET", b"POST", 1)
    return Input(
        "device, in chunks",
        whole + pieces + draw.choice((b"0\r\n\r\n", b"0\r\n\r\n", b"zz\r\n")),
        cut=True,
        silence=True,
    )


def _heard(draw: random.Random, scene: Scene) -> Input:
    path = "/speech/" + draw.choice(("a" * 40, "a.b", "..", "%00", "e30.e30", "a" * 6_000))
    ranges = draw.choice(("bytes=0-1", "bytes=-1", "bytes=9-1", "bytes=0-" + "9" * 60, "bytes=0-,1-", "x"))
    return Input("sound's address", request(draw.choice(("GET", "HEAD")), path, [("Range", ranges)]))


CLASS = AttackClass(
    "voice-devices",
    "sound, devices",
    {
        _asked_aloud: 5,
        _in_json: 2,
        _written_down: 4,
        _said_aloud: 3,
        _a_device: 4,
        _without_a_length: 1,
        _heard: 1,
    },
)
