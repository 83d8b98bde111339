"""The sample world on this machine: drawn when it is first wanted."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.settings import VAR
from evaluation.world.generate import main as generate_world
from evaluation.world.plan import Split

SAMPLE = VAR / "sample"


def sample_world() -> Path:
    """Its folder, all of it drawn or nothing. Blocking: half a minute, the first time."""
    if not (SAMPLE / "truth.jsonl").exists():
        SAMPLE.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=SAMPLE.parent, prefix=".sample-") as drawing:
            generate_world(Split.SAMPLE, Path(drawing) / "world", None, None)
            shutil.rmtree(SAMPLE, ignore_errors=True)
            (Path(drawing) / "world").rename(SAMPLE)
    return SAMPLE
