"""How dense vectors are found once there are too many to look at each.

HNSW (Malkov and Yashunin, 2018) over vectors of one byte a number. The nearest by those are taken
`oversampling` times over and scored again by the whole vectors, which stay on the disk: scores are
cosines, and a quarter of the memory is enough. A version too small for an index is searched exactly.
docs/scale.md has what was measured with a million vectors.
"""

from dataclasses import dataclass

QUANTILE = 0.99
"""Numbers beyond it are cut, so that a few large ones do not coarsen the bytes of all others."""
BUILD_WAIT_S = 300.0
"""A publication waits so long for its index, and then asks to be called again."""
STILL_BUILT = "The index of the version is still being built: publish it again."


@dataclass(frozen=True, slots=True)
class DenseIndex:
    """`links`: edges a node (HNSW's m); `build_breadth` and `search_breadth`: candidates that are kept while
    a node is linked and while a query is answered (ef). Not `quantised`: whole vectors, in memory.
    """

    links: int = 16
    build_breadth: int = 128
    search_breadth: int = 256
    quantised: bool = True
    oversampling: float = 2.0
