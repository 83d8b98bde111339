"""Secrets that no reply and no log may hold: keys, settings, a question, a place in a photo."""

import io
import random
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from chassis.keys import ApiKey
from clients.keys import entry
from tests.unit.chassis.pictures import MARKER, encoded

VICTIMS_QUESTION = "Whose is the zanzibarian umbrella of this place?"
_SECRETS = {
    "LOREGLASS_GATEWAY_VLM_KEY": "vlm-key-quokka-5151",
    "LOREGLASS_GATEWAY_STT_KEY": "stt-key-numbat-5152",
    "LOREGLASS_GATEWAY_TTS_KEY": "tts-key-bilby-5153",
    "LOREGLASS_GATEWAY_SPEECH_SECRET": "speech-secret-potoroo-5154",
    "LOREGLASS_GATEWAY_REDIS_URL": "redis://:redis-axolotl-5155@127.0.0.1:6/0",
}


@dataclass(frozen=True, slots=True)
class Planted:
    """Keys of two tenants, and the settings with secrets in them."""

    victim: ApiKey
    attacker: ApiKey
    settings: Mapping[str, str]

    @classmethod
    def drawn(cls, seed: int) -> "Planted":
        """Return keys that are the same for the same seed."""
        draw = random.Random(f"{seed}:keys")
        return cls(_key(draw), _key(draw), dict(_SECRETS))

    def keys_file(self) -> str:
        """Return the file of keys: both tenants are interactive users."""
        entries = [
            entry(self.victim, "victim", "interactive"),
            entry(self.attacker, "attacker", "interactive"),
        ]
        return "\n\n".join(entries) + "\n"

    def secrets(self, data: Path) -> dict[str, bytes]:
        """Return the texts to look for in replies and logs, by name."""
        results = {
            f"{name.rpartition('_GATEWAY_')[2].lower()}": value.encode()
            for name, value in self.settings.items()
        }
        results["redis_url"] = b"redis-axolotl-5155"
        keys = {"the victim's": self.victim, "the attacker's": self.attacker}
        for whose, key in keys.items():
            results[f"{whose} key"] = key.text[-20:].encode()
            results[f"{whose} digest"] = key.sha256.encode()
        place = {"what a photo says of its place": MARKER, "the victim's question": b"zanzibarian"}
        return results | place | {"the folder of the data": str(data).encode()}


def _key(draw: random.Random) -> ApiKey:
    letters = string.ascii_letters + string.digits
    prefix, secret = ("".join(draw.choices(letters, k=length)) for length in (8, 43))
    key = ApiKey.parse(f"lg_{prefix}_{secret}")
    assert key is not None
    return key


def located(photo: bytes) -> bytes:
    """The same photo, with a place and a marker in its EXIF."""
    exif = Image.Exif()
    exif[0x010E] = MARKER.decode()
    exif[0x8825] = {1: "N", 2: (47.0, 22.0, 36.8), 3: "E", 4: (8.0, 32.0, 30.0), 29: MARKER.decode()}
    with Image.open(io.BytesIO(photo)) as picture:
        return encoded(picture.convert("RGB"), "JPEG", quality=88, exif=exif, comment=MARKER)
