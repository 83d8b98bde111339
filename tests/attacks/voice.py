"""`python -m tests.attacks.voice`: a speech server with a fixed transcript and synthetic speech."""

import os

import anyio

from chassis.http.serving import BoundApp, listen, running
from tests.speech_servers import SpeechServers


async def serve(port: int) -> None:
    """Until it is stopped."""
    async with running([BoundApp(SpeechServers().app(), listen("127.0.0.1", port))]):
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(serve, int(os.environ["LOREGLASS_VOICE_PORT"]))
