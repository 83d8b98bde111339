"""The shipped node file with changes."""

from pathlib import Path
from typing import Any

import yaml

SHIPPED = Path(__file__).parents[3] / "deploy" / "placement" / "l40s.yaml"
DROP = object()
SEEING_SEARCH = {"engine": "remote", "preset": "qwen3-vl-embedding-2b", "concurrency": 16}
SEEING_RERANKER = {"engine": "remote", "preset": "qwen3-vl-reranker-2b", "concurrency": 16}


def changed(folder: Path, changes: dict[str, Any]) -> Path:
    """Write the shipped file with `changes`, by dotted entry; DROP deletes one."""
    content: dict[str, Any] = yaml.safe_load(SHIPPED.read_text("utf-8"))
    for entry, value in changes.items():
        *above, last = entry.split(".")
        place = content
        for name in above:
            place = place[name]
        if value is DROP:
            del place[last]
        else:
            place[last] = value
    path = folder / "node.yaml"
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path
