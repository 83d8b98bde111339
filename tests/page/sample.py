"""The whole way, with nothing in it made up for a test: a photo of the sample before the camera,
a question that espeak-ng says into the microphone, pocketsphinx that hears it, the platform that answers.
"""

import io
import os
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from chassis.http.serving import BoundApp, listen, running
from deploy.settings import SAMPLE
from tests.journey.deployments import OneProcess
from tests.speech_servers import Listener, real_app, spoken_by_espeak

PHOTO, WORDS = SAMPLE / "photos" / "q0007.jpg", "who designed this game"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The sample's platform with ears and a voice; its address."""
    speech = BoundApp(real_app(Listener()), listen("127.0.0.1", 0))
    settings = {"STT_URL": speech.url, "TTS_URL": speech.url, "TTS_FORMAT": "wav"}
    os.environ |= {f"LOREGLASS_GATEWAY_{name}": value for name, value in settings.items()}
    platform = OneProcess(folder / "index")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(running([speech])):
        platform.start()
        try:
            platform.index(SAMPLE)
            yield platform.gateway_url
        finally:
            platform.stop()


def microphone(path: Path, words: str, silence_s: float) -> Path:
    """A WAV file in which `words` are said after some silence, and silence is kept again."""
    with wave.open(io.BytesIO(spoken_by_espeak(words))) as sound:
        rate, samples = sound.getframerate(), sound.readframes(sound.getnframes())
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(bytes(int(silence_s * rate) * 2) + samples + bytes(10 * rate * 2))
    return path
