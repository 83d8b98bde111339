"""Ask a recorded question about a photo, and save the spoken answer: voice.py QUESTION.wav ANSWER.mp3"""

import sys
from pathlib import Path

from loreglass_client import Loreglass

PHOTO = Path(__file__).parents[2] / "samples" / "photos" / "q0007.jpg"
recording, sound = sys.argv[1:]

with Loreglass.from_environment() as client:
    answer = client.ask(photo=PHOTO, audio=recording)
    print(f"Understood: {answer.transcript}")
    print(answer.answer)
    Path(sound).write_bytes(client.speech(answer))
