"""The shape of an API key: `lg_<prefix>_<secret>`. Its prefix is public; what servers keep is its SHA-256."""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field

_ALPHABET = string.ascii_letters + string.digits
_PREFIX_CHARS = 8
_SECRET_CHARS = 43
"""Of 62 characters: 256 random bits, so that a fast hash is enough."""
TENANT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""A tenant's name; it becomes part of other stores' keys."""
_KEY = re.compile(rf"lg_([A-Za-z0-9]{{{_PREFIX_CHARS}}})_[A-Za-z0-9_-]{{32,128}}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key in full. Neither `repr` nor `str` shows its secret."""

    prefix: str
    text: str = field(repr=False)

    @classmethod
    def new(cls) -> "ApiKey":
        """A key that cannot be guessed."""
        prefix, secret = (
            "".join(secrets.choice(_ALPHABET) for _ in range(length))
            for length in (_PREFIX_CHARS, _SECRET_CHARS)
        )
        return cls(prefix, f"lg_{prefix}_{secret}")

    @classmethod
    def parse(cls, text: str) -> "ApiKey | None":
        """The key that `text` is, or None where it does not have the shape of one."""
        match = _KEY.fullmatch(text)
        return cls(match[1], text) if match else None

    @property
    def sha256(self) -> str:
        """64 lower-case hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def has_digest(self, sha256: str) -> bool:
        """Return whether this is the key with that digest, in a time that does not tell how nearly it is."""
        return hmac.compare_digest(self.sha256, sha256)
