"""Check every reply. Schemathesis loads this module in its own process (`SCHEMATHESIS_HOOKS`)."""

import json
import os
from collections import Counter
from pathlib import Path

import schemathesis
from hypothesis import strategies as st

from tests.attacks.judging import Judge
from tests.attacks.planted import Planted
from tests.unit.chassis.pictures import noise

_FOLDER, _SEED, _LATE_S, _RESULT = (
    os.environ[f"ATTACK_{name}"] for name in ("FOLDER", "SEED", "LATE_S", "RESULT")
)
_PHOTO = noise("JPEG")

# Bytes at random are refused at once: most files are photos, whole or damaged.
schemathesis.openapi.format(
    "binary",
    st.sampled_from([_PHOTO, _PHOTO[: len(_PHOTO) // 2], _PHOTO[:200] + bytes(200) + _PHOTO[400:]])
    | st.binary(max_size=500),
)


@schemathesis.check
class HoldsUnderAttack:
    """Fail on a 500, on leaked internals, and on a refusal that is late twice."""

    def __init__(self) -> None:
        self._judge = Judge(Planted.drawn(int(_SEED)).secrets(Path(_FOLDER)))
        self._statuses: Counter[int] = Counter()

    def after_response(
        self, ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
    ) -> None:
        """Raise `AssertionError` for what is wrong with this reply."""
        self._statuses[response.status_code] += 1
        sent = response.request
        body = sent.body.encode() if isinstance(sent.body, str) else sent.body or b""
        head = f"{sent.url}{dict(sent.headers)}".encode("utf-8", "replace")
        reply = str(response.headers).encode() + b"\n" + response.content
        faults = self._judge.faults(response.status_code, head + bytes(body), reply)
        if _late(response) and _late(case.call()):
            faults.append(f"refused after {response.elapsed:.1f} s")
        assert not faults, ", ".join(faults)

    def after_run(self, ctx: schemathesis.CheckContext) -> None:
        """Write how many replies had which status."""
        Path(_RESULT).write_text(json.dumps(self._statuses))


def _late(response: schemathesis.Response) -> bool:
    return 400 <= response.status_code < 500 and response.elapsed > float(_LATE_S)
