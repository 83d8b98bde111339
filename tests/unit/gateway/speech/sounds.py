"""Recordings for tests: a WAV, and the same in every container that phones and browsers record."""

import io
import math
import struct
import wave

import av


def tone(seconds: float = 1.0, rate: int = 16_000, channels: int = 1, peak: int = 12_000) -> bytes:
    """A WAV of 16 bits: 440 Hz."""
    values = [round(peak * math.sin(2 * math.pi * 440 * at / rate)) for at in range(round(seconds * rate))]
    with io.BytesIO() as written:
        with wave.open(written, "wb") as sound:
            sound.setparams((channels, 2, rate, 0, "NONE", ""))
            sound.writeframes(b"".join(struct.pack("<h", value) * channels for value in values))
        return written.getvalue()


CONTAINERS = {
    "webm": ("webm", "libopus", 48_000),
    "ogg": ("ogg", "libopus", 48_000),
    "m4a": ("mp4", "aac", 44_100),
    "mov": ("mov", "aac", 44_100),
    "aac": ("adts", "aac", 44_100),
    "mp3": ("mp3", "libmp3lame", 44_100),
    "flac": ("flac", "flac", 44_100),
    "wav": ("wav", "pcm_s16le", 44_100),
}
"""What a recorder writes: format, codec and rate, in FFmpeg's names."""


def recorded(wav: bytes, name: str) -> bytes:
    """`wav` as `CONTAINERS[name]`."""
    (format, codec, rate), written = CONTAINERS[name], io.BytesIO()
    with av.open(io.BytesIO(wav)) as source, av.open(written, "w", format=format) as sink:
        stream = sink.add_stream(codec, rate=rate)
        stream.layout = "stereo"
        resampler = av.AudioResampler(stream.codec_context.format or "s16", "stereo", rate)
        for frame in (*source.decode(audio=0), None):
            for part in resampler.resample(frame):
                sink.mux(stream.encode(part))
        sink.mux(stream.encode(None))
    return written.getvalue()


def film() -> bytes:
    """An MP4 without sound."""
    written = io.BytesIO()
    with av.open(written, "w", format="mp4") as sink:
        stream = sink.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        sink.mux(stream.encode(av.VideoFrame(64, 64, "yuv420p")))
        sink.mux(stream.encode(None))
    return written.getvalue()
