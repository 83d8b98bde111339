"""Decode untrusted sound to 16 kHz mono 16-bit samples, in a process of its own.

    python -m gateway.speech.decoder     # see `chassis.decoding.program`; arguments: DEMUXER MOST_SECONDS

It imports nothing else of Loreglass, so it starts quickly. Before it reads a byte it limits its memory,
processor time and files. A file that asks for gigabytes, or a decoder that loops or crashes, ends this
process and not the gateway. FFmpeg must use the given demuxer, so playlists and other files that name files
are not recognised.
"""

import io
import resource
import wave
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chassis.decoding.program import Bounds, Result, serve

UNSUPPORTED, CORRUPT, TOO_LONG = 3, 4, 5
"""The status of a reply. 0: it holds the samples. Any other: the decoder crashed."""

RATE = 16_000
MEMORY_BYTES = 384 << 20
_PROCESSOR_S = 5.0
_PCM = ("pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_u8", "pcm_f32le", "pcm_alaw", "pcm_mulaw")
_CODECS = (*_PCM, "mp3float", "mp3", "aac", "alac", "flac", "opus", "libopus", "vorbis")
_RATES = range(8_000, 192_001)
_MOST_CHANNELS = 8
_MOST_PACKETS = 100_000
_MOST_READ = 4
"""Times the size of the file: tables may point to one place repeatedly."""
_CLOSED = {"protocol_whitelist": "none", "codec_whitelist": ",".join(_CODECS), "max_streams": "8"}


class Refused(Exception):
    """`args`: the status."""


def decode(data: bytes, demuxer: str, most_s: float) -> bytes:
    """Return the samples, little-endian. Raises `Refused`, or what FFmpeg raises."""
    import av

    parts: list[bytes] = []
    seconds = 0.0
    with av.open(io.BytesIO(data), "r", format=demuxer, container_options=_CLOSED) as container:
        audio = container.streams.audio
        if not audio or audio[0].codec_context.name not in _CODECS:
            raise Refused(UNSUPPORTED)
        audio[0].codec_context.thread_count = 1
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        for frame in _frames(container, audio[0].index, _MOST_READ * len(data)):
            if frame.sample_rate not in _RATES or frame.layout.nb_channels > _MOST_CHANNELS:
                raise Refused(UNSUPPORTED)
            seconds += frame.samples / frame.sample_rate
            if seconds > most_s:
                raise Refused(TOO_LONG)
            parts += _samples(resampler.resample(frame))
        if parts:
            parts += _samples(resampler.resample(None))
    return b"".join(parts)


def _frames(container: Any, stream: int, most_bytes: int) -> Iterator[Any]:
    """Yield the frames of one stream. Packets of other streams are read too, and count."""
    read = 0
    for number, packet in enumerate(container.demux()):
        read += packet.size
        if number > _MOST_PACKETS or read > most_bytes:
            raise Refused(CORRUPT)
        if packet.stream.index == stream:
            yield from packet.decode()


def _samples(frames: Iterable[Any]) -> list[bytes]:
    return [bytes(frame.planes[0])[: 2 * frame.samples] for frame in frames]


def wav(samples: bytes) -> bytes:
    """Return a WAV of samples as `decode` returns them."""
    with io.BytesIO() as written:
        with wave.open(written, "wb") as sound:
            sound.setparams((1, 2, RATE, 0, "NONE", ""))
            sound.writeframes(samples)
        return written.getvalue()


def _handle(arguments: Sequence[bytes], data: bytes) -> Result:
    demuxer, most_s = arguments
    try:
        samples = decode(data, demuxer.decode("ascii"), float(most_s))
    except Refused as refused:
        return int(refused.args[0]), ()
    except Exception:  # noqa: BLE001 - whatever it is, there is no sound
        return CORRUPT, ()
    return (0, (samples,)) if samples else (CORRUPT, ())


if __name__ == "__main__":
    decode(wav(bytes(RATE // 10)), "wav", 1.0)  # loads what decoding needs, before files are taken away
    serve(_handle, Bounds(_PROCESSOR_S, ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_NOFILE, 3))))
