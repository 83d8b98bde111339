"""Photos are decoded where it can be stopped: who leaves, is late or attacks takes nobody's slot along."""

import os
import select
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pillow_heif
import pytest

from chassis import images
from chassis.decoding import photos, pool
from chassis.decoding.pictures import Fault, NotDecoded
from chassis.decoding.pool import Decoders, Ending, Program, decode_once, environment
from chassis.errors import CorruptImage, DeadlineExceeded, NotReady, Overloaded, UnsupportedImage
from chassis.images import CleanImage, ImageLimits, PhotoDecoders, clean_image
from chassis.pixels import decode_rgb
from chassis.resilience.deadlines import Deadline
from tests.unit.chassis import pictures
from tests.unit.chassis.scans import many_scans, segment

pillow_heif.register_heif_opener()  # to write them

PHOTO = pictures.encoded(pictures.scene(), "JPEG")
SLOW = many_scans(7_000, 7_048, photos.MOST_WHOLE_SCANS)
"""50 megapixels, as many scans as are decoded: seconds of work."""

Python = Callable[[str], None]


class Ours:
    """Decoders, and why their processes ended."""

    def __init__(self, at_once: int = 1) -> None:
        self.ended: list[Ending] = []
        self.decoders = PhotoDecoders(at_once, lambda _, why: self.ended.append(why))

    async def clean(self, data: bytes, ms: float = 60_000) -> CleanImage:
        return await self.decoders.clean(data, ImageLimits(), 1_600, Deadline.after_ms(ms))


@pytest.fixture
async def ours() -> AsyncIterator[Ours]:
    made = Ours()
    yield made
    made.decoders.close()


def children() -> list[int]:
    """Processes of ours, ended ones that nobody has waited for included."""
    return [int(each) for each in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "HEIF"])
async def test_decoder_process_equals_decoding_in_process(kind: str, ours: Ours) -> None:
    data = pictures.encoded(pictures.scene(), kind)
    assert await ours.clean(data) == clean_image(data, ImageLimits(), 1_600)


async def test_one_process_decodes_photos_in_turn(ours: Ours) -> None:
    before = set(children())
    await ours.clean(PHOTO)
    first = set(children()) - before
    for refused in (b"words", PHOTO[:200]):
        with pytest.raises((UnsupportedImage, CorruptImage)):
            await ours.clean(refused)
    await ours.clean(PHOTO)
    assert set(children()) - before == first
    assert len(first) == 1
    ours.decoders.close()
    assert not first & set(children())


async def test_cancelled_call_frees_its_slot_at_once(ours: Ours) -> None:
    await ours.clean(PHOTO)
    async with anyio.create_task_group() as group:
        group.start_soon(ours.clean, SLOW)
        await anyio.sleep(0.05)
        group.cancel_scope.cancel()
    assert ours.ended == [Ending.LEFT]
    assert (await ours.clean(PHOTO)).width == 96


async def test_decoding_stops_at_the_callers_deadline(ours: Ours) -> None:
    await ours.clean(PHOTO)
    with pytest.raises(DeadlineExceeded, match="before the photo was decoded"):
        await ours.clean(SLOW, ms=50)
    assert ours.ended == [Ending.LATE]
    assert (await ours.clean(PHOTO)).width == 96


def test_decoding_over_the_cpu_limit_is_killed(tmp_path: Path) -> None:
    """In a process of a smaller bound, so that the test need not last as long as the real one allows."""
    program = tmp_path / "hasty.py"
    program.write_text(
        "from chassis.decoding import photos\nfrom chassis.decoding.program import Bounds, serve\n"
        "serve(photos._handle, Bounds(0.05, photos._bounds().limits))\n"
    )
    reply = subprocess.run(
        [sys.executable, str(program)], input=_job(SLOW), capture_output=True, env=environment(), check=False
    )
    assert (reply.returncode, reply.stdout) == (-signal.SIGPROF, b"")


def _job(data: bytes) -> bytes:
    return pool._job(photos.arguments_of(ImageLimits(), 1_600, 92), data) + data


async def test_killed_decoder_reports_one_corrupt_image(ours: Ours) -> None:
    before = set(children())
    await ours.clean(PHOTO)
    (process,) = set(children()) - before

    async def kill() -> None:
        await anyio.sleep(0.05)
        os.kill(process, signal.SIGKILL)

    async with anyio.create_task_group() as group:
        group.start_soon(kill)
        with pytest.raises(CorruptImage):
            await ours.clean(SLOW)
    assert ours.ended == [Ending.DIED]
    assert (await ours.clean(PHOTO)).width == 96


async def test_decoder_killed_while_idle_is_replaced(ours: Ours) -> None:
    before = set(children())
    await ours.clean(PHOTO)
    for process in set(children()) - before:
        os.kill(process, signal.SIGKILL)
        await anyio.to_thread.run_sync(os.waitid, os.P_PID, process, os.WEXITED | os.WNOWAIT)
    assert (await ours.clean(PHOTO)).width == 96
    assert ours.ended == [Ending.DIED]


async def test_decoder_that_does_not_read_is_killed(python: Python, ours: Ours) -> None:
    python("exec sleep 30")
    with pytest.raises(DeadlineExceeded):
        await ours.clean(PHOTO + bytes(4 << 20), ms=50)


async def test_decoder_gets_no_secrets_and_its_crash_is_overload(
    monkeypatch: pytest.MonkeyPatch, python: Python, tmp_path: Path, ours: Ours
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_STT_KEY", "hush")
    python(f"env > {tmp_path}/environment; cat >/dev/null & exit 1")
    with pytest.raises(Overloaded):
        await ours.clean(PHOTO)
    assert ours.ended == [Ending.DIED]
    with pytest.raises(Overloaded):
        decode_once(images.PROGRAM, [], PHOTO)
    assert "hush" not in (tmp_path / "environment").read_text()


async def test_decoder_ignores_changed_import_paths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ours: Ours
) -> None:
    (tmp_path / "typing.py").write_text("raise ImportError('not the one that was meant')")
    monkeypatch.syspath_prepend(tmp_path)
    assert (await ours.clean(PHOTO)).width == 96


@pytest.mark.parametrize("reply", [r"\0\0\377\377\377\377", r"\0\0\0\0\0\2xx", r"\377\0\0\0\0\0"])
async def test_decoder_replies_are_untrusted(reply: str, python: Python, ours: Ours) -> None:
    python(f"printf '{reply}'; cat >/dev/null")
    with pytest.raises(CorruptImage):
        await ours.clean(PHOTO)


async def test_readiness_runs_a_decoder(monkeypatch: pytest.MonkeyPatch, python: Python, ours: Ours) -> None:
    await ours.decoders.check(Deadline.after_ms(60_000))
    ours.decoders.close()
    python("exit 1")
    with pytest.raises(NotReady, match="does not start"):
        await ours.decoders.check(Deadline.after_ms(60_000))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Overloaded):
        await ours.decoders.check(Deadline.after_ms(60_000))


async def test_slowly_starting_decoder_is_awaited(python: Python, tmp_path: Path, ours: Ours) -> None:
    """Or it would never be there on a starved machine; what it says late confuses nobody."""
    may_go = tmp_path / "go"
    python(f'until [ -e {may_go} ]; do sleep 0.05; done; exec {sys.executable} "$@"')
    before = set(children())
    with pytest.raises(NotReady, match="not started"):
        await ours.decoders.check(Deadline.after_ms(30))
    with anyio.move_on_after(0.03):  # a probe that gives up
        await ours.decoders.check(Deadline.after_ms(60_000))
    (process,) = set(children()) - before
    may_go.touch()
    await ours.decoders.check(Deadline.after_ms(60_000))
    assert (await ours.clean(PHOTO)).width == 96
    assert (ours.ended, set(children()) - before) == ([], {process})


async def test_decoder_that_never_starts_is_killed(
    monkeypatch: pytest.MonkeyPatch, python: Python, ours: Ours
) -> None:
    monkeypatch.setattr(pool, "_LONGEST_START_S", 0.0)
    python("exec sleep 30")
    with pytest.raises(NotReady):
        await ours.decoders.check(Deadline.after_ms(20))
    assert ours.ended == [Ending.CLOCK]


async def test_readiness_detects_hanging_decoders() -> None:
    decoders = Decoders(Program("chassis.decoding.photos", "photo", most_s=60.0), 1)
    async with anyio.create_task_group() as group:
        group.start_soon(
            decoders.run, photos.arguments_of(ImageLimits(), 9, 9), SLOW, Deadline.after_ms(60_000)
        )
        await anyio.sleep(0.05)
        await decoders.check(Deadline.after_ms(1_000))  # busy is no fault
        (worker,) = decoders._working
        worker.began -= 70.0
        with pytest.raises(NotReady, match="do not come to an end"):
            await decoders.check(Deadline.after_ms(1_000))
        group.cancel_scope.cancel()
    decoders.close()


def test_decoders_end_with_their_parent() -> None:
    """However it ends: their standard input is over then, and ours, which they would hold open."""
    line = (
        "import anyio, os, signal, sys\n"
        "from chassis.images import ImageLimits, PhotoDecoders\n"
        "from chassis.resilience.deadlines import Deadline\n"
        "decoders = PhotoDecoders(1)\n"
        "anyio.run(decoders.clean, sys.stdin.buffer.read(), ImageLimits(), 64, Deadline.after_ms(60_000))\n"
        "os.write(1, b'%d' % decoders._decoders._idle[0].process.pid)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", line], input=PHOTO, stdout=subprocess.PIPE, env=environment(), check=False
    )
    try:
        process = os.pidfd_open(int(done.stdout))
    except ProcessLookupError:
        return
    assert select.select([process], [], [], 30)[0]
    os.close(process)


def test_decoder_limits_its_own_resources() -> None:
    """And ends before its caller where memory is short."""
    script = (
        "from resource import *\nfrom chassis.decoding import photos, program\n"
        "def report(*_):\n"
        "    limits = [getrlimit(each) for each in (RLIMIT_DATA, RLIMIT_NOFILE, RLIMIT_CORE, RLIMIT_FSIZE)]\n"
        "    return 0, (repr((limits, open('/proc/self/oom_score_adj').read())).encode(),)\n"
        "program.serve(report, photos._bounds())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=_job(b""), stdout=subprocess.PIPE, env=environment(), check=True
    )
    most = [(each, each) for each in (photos.MEMORY_BYTES, photos._OPEN_FILES, 0, 0)]
    assert done.stdout.endswith(repr((most, "1000\n")).encode())


def test_library_output_is_discarded(capfd: pytest.CaptureFixture[str]) -> None:
    data = bytearray(pictures.encoded(pictures.scene(), "TIFF", compression="tiff_adobe_deflate"))
    data[8:16] = bytes(8)  # of the pixels: libtiff says what zlib says
    with pytest.raises(NotDecoded):
        photos.decode(bytes(data), ImageLimits(), 64)
    assert "ZIPDecode" in capfd.readouterr().err
    reply = decode_once(images.PROGRAM, photos.arguments_of(ImageLimits(), 64, None), bytes(data))
    assert (reply.status, capfd.readouterr()) == (Fault.CORRUPT, ("", ""))


def test_formats_that_pillow_decodes_in_python_are_refused() -> None:
    """Seconds for megabytes of it, and nobody's camera writes it: BMP of run lengths."""
    header = struct.pack("<IiiHHIIiiII", 40, 64, 64, 1, 8, 1, 0, 0, 0, 2, 0)
    start = b"BM" + struct.pack("<IHHI", 0, 0, 0, 54 + 8)
    data = start + header + bytes(8) + (b"\x40\x01\0\0" * 64) + b"\0\1"
    with pytest.raises(UnsupportedImage):
        clean_image(data, ImageLimits(), 64)


def test_too_many_jpeg_scans_are_refused_undecoded() -> None:
    for scans in (photos.MOST_WHOLE_SCANS + 1, 700):
        with pytest.raises(UnsupportedImage, match="scans"):
            decode_rgb(many_scans(7_000, 7_048, scans))
    assert decode_rgb(many_scans(64, 64, photos.MOST_SCANS)).shape == (64, 64, 3)
    with pytest.raises(UnsupportedImage, match="scans"):
        decode_rgb(many_scans(64, 64, photos.MOST_SCANS + 1))


def test_scans_outside_the_main_picture_are_not_counted() -> None:
    other = many_scans(32, 32, 100)
    plain = many_scans(64, 64, 3, before=segment(0xE1, other)) + other
    assert photos.scans(plain) == 3
    assert decode_rgb(plain).shape == (64, 64, 3)
    assert photos.scans(b"\xff\xd8\xff\xff\xff" + other[3:]) == 100  # filled up, as T.81 allows


async def test_waiting_program_is_killed_at_the_time_limit(
    monkeypatch: pytest.MonkeyPatch, python: Python
) -> None:
    monkeypatch.setattr(images, "PROGRAM", replace(images.PROGRAM, most_s=0.05))
    python("exec sleep 30")
    ours = Ours()
    with pytest.raises(CorruptImage, match="too long"):
        await ours.clean(PHOTO)
    assert Counter(ours.ended) == {Ending.CLOCK: 1}
    ours.decoders.close()
