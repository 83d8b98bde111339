"""Small files in the shape of CRAG-MM-Diagnostics."""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

METADATA = {
    "target_roi_bbox": [10, 20, 60, 120],
    "image_size": [100, 200],
    "target_object_name": "Salt Road",
    "textual_only_question": "Who wrote Salt Road?",
    "referring_expression_category": "not enough cue (ambiguous)",
}


def diagnostics(folder: Path, **metadata: Any) -> str:
    """A file of rows about the ids that are given."""
    rows = [
        {"id": key.replace("_", "."), "question": "?", "metadata": value} for key, value in metadata.items()
    ]
    path = folder / "test-00000-of-00001.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return str(path)
