"""What a recorder sends, good or hostile, becomes 16 kHz mono WAV or an honest refusal."""

import io
import struct
import subprocess
import time
import wave
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chassis.decoding.pool import decode_once
from chassis.errors import CorruptAudio, PayloadTooLarge, UnsupportedAudio
from chassis.resilience.deadlines import Deadline
from gateway.speech import audio, decoder
from gateway.speech.audio import AudioLimits, Sound, SoundDecoders
from tests.unit.gateway.speech.sounds import CONTAINERS, film, recorded, tone

LIMITS = AudioLimits()


def clean_audio(data: bytes, limits: AudioLimits, deadline: Deadline | None = None) -> Sound:
    """By decoders of its own."""
    with closing(SoundDecoders(1)) as decoders:
        return anyio.run(decoders.clean, data, limits, deadline or Deadline.after_ms(60_000))


def samples_of(sound: Sound) -> bytes:
    """The samples, of a WAV that is as every server reads it."""
    with wave.open(io.BytesIO(sound.wav)) as opened:
        assert (opened.getnchannels(), opened.getsampwidth(), opened.getframerate()) == (1, 2, 16_000)
        return opened.readframes(opened.getnframes())


def crossings(samples: bytes) -> int:
    """How often the wave goes from below zero to above it."""
    values = struct.unpack(f"<{len(samples) // 2}h", samples)
    return sum(a < 0 <= b for a, b in pairwise(values))


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_recorders_file_becomes_the_same_sound(name: str) -> None:
    sound = clean_audio(recorded(tone(1.5), name), LIMITS)
    assert sound.seconds == pytest.approx(1.5, abs=0.15)
    assert crossings(samples_of(sound)) == pytest.approx(440 * 1.5, rel=0.05)
    assert not sound.silent


def test_valid_wav_needs_no_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a decoder was started"))
    wav = tone(1.0)
    assert clean_audio(wav, LIMITS).wav == wav


def test_metadata_of_a_valid_wav_is_removed() -> None:
    wav = tone(0.2)
    tagged = (
        wav[:4] + struct.pack("<I", len(wav) + 8) + wav[8:] + b"LIST" + struct.pack("<I", 8) + b"somebody"
    )
    assert b"somebody" not in clean_audio(tagged, LIMITS).wav


@pytest.mark.parametrize(
    ("wav", "silent"),
    [(tone(1.0, peak=0), True), (tone(1.0, peak=60), True), (tone(1.0, peak=400), False), (tone(0.05), True)],
)
def test_silence_and_clicks_contain_no_speech(wav: bytes, silent: bool) -> None:
    assert clean_audio(wav, LIMITS).silent is silent


@pytest.mark.parametrize("name", ["plain", "webm", "flac"])
def test_a_long_recording_is_refused(name: str) -> None:
    wav = tone(3.0)
    data = wav if name == "plain" else recorded(wav, name)
    with pytest.raises(PayloadTooLarge, match="longer than 2 seconds"):
        clean_audio(data, AudioLimits(max_s=2.0))


PLAYLISTS = {
    "hls": b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    "concat": b"ffconcat version 1.0\nfile '/etc/passwd'\n",
    "sdp": b"v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\nc=IN IP4 127.0.0.1\r\nm=audio 5004 RTP/AVP 0\r\n",
    "text": b"who wrote this book?",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "png": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "one byte": b"\xff",
}


@pytest.mark.parametrize("data", PLAYLISTS.values(), ids=PLAYLISTS)
def test_playlists_and_other_files_are_refused_undecoded(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a decoder was started"))
    with pytest.raises(UnsupportedAudio, match="Send WAV"):
        clean_audio(data, LIMITS)


@pytest.mark.parametrize("demuxer", ["hls", "concat"])
def test_playlist_demuxer_opens_no_other_file(demuxer: str, tmp_path: Path) -> None:
    other = tmp_path / "other.wav"
    other.write_bytes(tone(1.0))
    lists = {
        "hls": f"#EXTM3U\n#EXTINF:1,\n{other}\n#EXT-X-ENDLIST\n",
        "concat": f"ffconcat version 1.0\nfile '{other}'\n",
    }
    reply = decode_once(audio.PROGRAM, [demuxer, "60"], lists[demuxer].encode())
    assert (reply.status, reply.content) == (decoder.CORRUPT, b"")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (bytes(LIMITS.max_bytes + 1), PayloadTooLarge, "10 MiB"),
        (film(), UnsupportedAudio, "no sound"),
        (b"", CorruptAudio, "empty"),
    ],
    ids=["too large", "a film without sound", "empty"],
)
def test_invalid_recording_is_refused(data: bytes, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        clean_audio(data, LIMITS)


def test_huge_table_ends_only_the_decoder() -> None:
    data = bytearray(recorded(tone(1.0), "m4a"))
    sizes, chunks = data.find(b"stsz"), data.find(b"stsc")
    data[sizes + 8 : sizes + 16] = struct.pack(">II", 1, 200_000_000)
    data[chunks + 16 : chunks + 20] = struct.pack(">I", 200_000_000)
    began = time.monotonic()
    with pytest.raises(CorruptAudio):
        clean_audio(bytes(data), LIMITS)
    assert time.monotonic() - began < audio.PROGRAM.most_s + 5


def test_wav_with_a_wrong_length_is_read_to_its_end() -> None:
    wav = bytearray(tone(1.0))
    wav[40:44] = struct.pack("<I", 0xFFFFFFF0)
    assert clean_audio(bytes(wav), LIMITS).seconds == pytest.approx(1.0)


@pytest.mark.parametrize("rate", [1, 2_000_000_000])
def test_implausible_sample_rate_is_refused(rate: int) -> None:
    wav = bytearray(tone(1.0))
    wav[24:28] = struct.pack("<I", rate)
    with pytest.raises((UnsupportedAudio, CorruptAudio)):
        clean_audio(bytes(wav), LIMITS)


@given(data=st.data())
@hypothesis_settings(max_examples=12)
def test_damaged_audio_is_decoded_or_refused(data: st.DataObject) -> None:
    whole = bytearray(FILES[data.draw(st.sampled_from(sorted(FILES)))])
    for _ in range(data.draw(st.integers(0, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(1, len(whole)))])
    with suppress(UnsupportedAudio, CorruptAudio, PayloadTooLarge):
        sound = clean_audio(cut, LIMITS)
        assert len(samples_of(sound)) / 32_000 == sound.seconds


@given(junk=st.binary(max_size=200))
@hypothesis_settings(max_examples=60)
def test_wav_header_with_random_data_is_handled(junk: bytes) -> None:
    with suppress(UnsupportedAudio, CorruptAudio):
        samples = audio._plain_samples(tone(0.0)[:40] + junk, LIMITS)
        assert samples is None or samples in junk


FILES = {name: recorded(tone(0.3), name) for name in ("webm", "ogg", "m4a", "mp3", "flac", "wav")} | {
    "plain": tone(0.3)
}
