"""Convert untrusted sound to what every transcription server reads: WAV, 16 kHz, mono, 16 bits.

Such a WAV passes without a decoder. Any other file is recognised by its first bytes and decoded in a process
(`decoder`), whose limits hold whatever the file says.
"""

import array
import hashlib
import struct
import sys
from dataclasses import dataclass

from chassis.decoding.pool import Decoders, Ending, NoReply, OnEnd, Program, Reply
from chassis.errors import CorruptAudio, PayloadTooLarge, UnsupportedAudio
from chassis.resilience.deadlines import Deadline
from gateway.speech import decoder
from gateway.speech.decoder import RATE

_BYTES_A_SAMPLE = 2
_PLAIN_HEADER = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE, RATE * 2, 2, 16) + b"data"
"""The header, after its length, of a WAV that needs no decoder: plain samples, one channel."""
PROGRAM = Program("gateway.speech.decoder", "sound", most_s=8.0)
_MAGIC = {b"OggS": "ogg", b"fLaC": "flac", b"\x1aE\xdf\xa3": "matroska", b"ID3": "mp3"}
_DAMAGED = "The sound is damaged or incomplete."
_FORMATS = "Send WAV, MP3, M4A, AAC, Ogg, WebM or FLAC."
_SILENT_BELOW = 130
"""The peak from which a sound is not silent, 48 dB below full scale: a microphone's own noise is lower."""
_LEAST_S = 0.1
"""No word is shorter, and servers refuse shorter sounds."""


@dataclass(frozen=True, slots=True)
class AudioLimits:
    """Limits of the file in bytes and of the sound in seconds."""

    max_bytes: int = 10 * 2**20
    max_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Sound:
    """`wav`: 16 kHz, mono, 16 bits. `silent`: it cannot hold a word."""

    wav: bytes
    seconds: float
    silent: bool

    @property
    def digest(self) -> str:
        """SHA-256, hex."""
        return hashlib.sha256(self.wav).hexdigest()


class SoundDecoders:
    """Decodes untrusted sound in processes that are killed when no caller waits."""

    def __init__(self, at_once: int, on_end: OnEnd = lambda _what, _why: None) -> None:
        self._decoders = Decoders(PROGRAM, at_once, on_end)
        self.check = self._decoders.check
        self.close = self._decoders.close

    async def clean(self, data: bytes, limits: AudioLimits, deadline: Deadline) -> Sound:
        """Decode, mix down and resample; drop everything else.

        Raises `UnsupportedAudio`, `CorruptAudio` or `PayloadTooLarge`, `DeadlineExceeded` if the deadline
        passes first, and `Overloaded` if no process can be started.
        """
        if not data:
            raise CorruptAudio("The sound is empty.")
        if len(data) > limits.max_bytes:
            raise PayloadTooLarge(f"The sound is larger than {limits.max_bytes // 2**20} MiB.")
        samples = _plain_samples(data, limits)
        if samples is None:
            try:
                reply = await self._decoders.run([_demuxer(data), str(limits.max_s)], data, deadline)
            except NoReply as error:
                raise _failure(error) from error
            samples = _samples(reply, limits)
        seconds = len(samples) / _BYTES_A_SAMPLE / RATE
        return Sound(decoder.wav(samples), seconds, seconds < _LEAST_S or _peak(samples) < _SILENT_BELOW)


def _plain_samples(data: bytes, limits: AudioLimits) -> bytes | None:
    """Return the samples of a WAV that needs no decoder; None for other or damaged files."""
    if data[:4] != b"RIFF" or data[8 : len(_PLAIN_HEADER) + 8] != _PLAIN_HEADER:
        return None
    begin = len(_PLAIN_HEADER) + 12
    size = int.from_bytes(data[begin - 4 : begin], "little")  # more than there is, where it was streamed
    samples = data[begin : begin + size]
    if len(samples) > limits.max_s * RATE * _BYTES_A_SAMPLE:
        raise _too_long(limits)
    if not samples:
        raise CorruptAudio("There is no sound in the file.")
    return samples[: len(samples) // _BYTES_A_SAMPLE * _BYTES_A_SAMPLE]


def _samples(reply: Reply, limits: AudioLimits) -> bytes:
    """Return the samples. Raises the error that the decoder reports."""
    if reply.status == decoder.UNSUPPORTED:
        raise UnsupportedAudio(f"There is no sound in the file, or none that is read here. {_FORMATS}")
    if reply.status == decoder.TOO_LONG:
        raise _too_long(limits)
    if reply.status:
        raise CorruptAudio(_DAMAGED)
    return bytes(reply.content)


def _failure(error: NoReply) -> CorruptAudio:
    slow = error.ending in (Ending.CPU, Ending.CLOCK)
    return CorruptAudio("The sound takes too long to decode." if slow else _DAMAGED)


def _demuxer(data: bytes) -> str:
    """Return FFmpeg's name of the container. Raises `UnsupportedAudio`."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "wav"
    if data[4:8] == b"ftyp":
        return "mov"
    for start, demuxer in _MAGIC.items():
        if data.startswith(start):
            return demuxer
    if len(data) > 1 and data[0] == 0xFF and data[1] & 0xE0 == 0xE0:  # eleven bits that begin a frame
        return "aac" if data[1] & 0x16 == 0x10 else "mp3"  # ADTS has no layer
    raise UnsupportedAudio(_FORMATS)


def _too_long(limits: AudioLimits) -> PayloadTooLarge:
    return PayloadTooLarge(f"The sound is longer than {limits.max_s:g} seconds.")


def _peak(samples: bytes) -> int:
    values = array.array("h", samples)
    if sys.byteorder == "big":
        values.byteswap()
    return max(max(values, default=0), -min(values, default=0))
