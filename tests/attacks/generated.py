"""Requests that schemathesis draws from the gateway's OpenAPI document. The same seed draws the same."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.attacks.attack import Attack, Course
from tests.attacks.judging import ROOT


def generated(out: Path, seed: int, *options: str, most_s: float = 3_600) -> Attack:
    """Return the attack. `options`: more for `schemathesis run`; its output goes to the folder `out`."""
    log, result = (out.resolve() / f"generated.{end}" for end in ("txt", "json"))

    async def run(course: Course) -> None:
        settings = {"FOLDER": course.target.folder, "SEED": seed, "LATE_S": course.late_s, "RESULT": result}
        environment = os.environ | {f"ATTACK_{name}": str(value) for name, value in settings.items()}
        environment |= {"SCHEMATHESIS_HOOKS": "tests.attacks.checks", "PYTHONPATH": f"{ROOT}:{ROOT}/proto"}
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *_command(course, seed, options), cwd=out, env=environment, stdout=output, stderr=output
            )
            try:
                code = await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
        if code:
            course.wrong.append(f"schemathesis found what does not hold: see {log}")
        if result.exists():
            course.statuses.update(json.loads(result.read_bytes()))
        if not course.statuses:  # to schemathesis that is no failure
            course.wrong.append(f"schemathesis sent nothing: see {log}")

    return Attack("generated", "requests drawn from the OpenAPI document", run, most_s=most_s)


def _command(course: Course, seed: int, options: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{course.target.gateway_url}/openapi.json"]
    command += ["--checks", "HoldsUnderAttack", "--seed", str(seed), "--generation-database", "none"]
    command += ["--header", f"Authorization: Bearer {course.target.planted.attacker.text}"]
    command += ["--request-timeout", "75", "--continue-on-failure", "--warnings", "off", "--no-color"]
    # How hard it is to draw requests says nothing of the platform.
    command += ["--suppress-health-check", "all"]
    return [*command, *options]
