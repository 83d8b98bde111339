"""QA-Dragon with modules left out: the paper's ablation studies (Tables 2 and 4) as named pipelines."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True)
class Ablation:
    """Which modules there are. Without one of them:

    `domain_router`: the generic chain of thought; `search_router`: every question takes the RAG branch;
    `tool_router`: both searches; `query_splitting`: the question is the only query; `fusion_search`: the
    thing that image search found stays out of the text queries; `reranking`: evidence in search order.
    """

    domain_router: bool = True
    search_router: bool = True
    tool_router: bool = True
    query_splitting: bool = True
    fusion_search: bool = True
    reranking: bool = True

    @property
    def name(self) -> str:
        """The pipeline's name: `qa-dragon`, `qa-dragon-no-reranking`, …"""
        missing = [switch.name for switch in fields(self) if not getattr(self, switch.name)]
        return "-".join(["qa-dragon", *(f"no-{name.replace('_', '-')}" for name in missing)])


FULL = Ablation()
TABLE_2 = (replace(FULL, search_router=False, fusion_search=False), replace(FULL, search_router=False))
"""The paper's earlier versions, marked † and ‡ there."""


def ablations() -> Iterator[Ablation]:
    """The full pipeline, each single module left out (Table 4), and Table 2's combinations."""
    single = (replace(FULL, **{switch.name: False}) for switch in fields(FULL))
    yield from dict.fromkeys((FULL, *single, *TABLE_2))
