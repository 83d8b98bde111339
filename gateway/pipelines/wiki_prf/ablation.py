"""`wiki-prf` with stages, tools and results left out: its paper's ablations that need no training."""

from dataclasses import dataclass, fields, replace

from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline
from gateway.pipelines.wiki_prf.port import Gathered, PhotoTool, ToolPlan
from gateway.planning.run import Run
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import Query

TOOLS = {
    "captioning": PhotoTool.CAPTION,
    "grounding": PhotoTool.GROUNDING,
    "flipping": PhotoTool.FLIP,
}
FEWER = {
    "articles-past-1": ("articles", 1),
    "articles-past-3": ("articles", 3),
    "sections-past-1": ("sections", 1),
}
MODULES = frozenset({"processing", "filtering", *TOOLS, *FEWER})
"""Without one of them:

`processing`: no plan, no tools, the whole photo's article alone; `filtering`: the answer is made from all
that was retrieved; `captioning`, `grounding`, `flipping`: the plan's calls of that tool are not made (all of
Table 8); `articles-past-3`: a tool retrieves three articles (Tables 10, 14 and 15); `sections-past-1`: of a
tool's articles the best section is kept (Tables 14 and 15).
"""


@dataclass(frozen=True)
class AblatedWikiPrf(WikiPrfPipeline):
    """The paper's pipeline without the modules that are `missing`."""

    missing: frozenset[str] = frozenset()

    async def _plan(self, photo_context: PhotoContext, run: Run) -> ToolPlan:
        if "processing" in self.missing:
            return ToolPlan()
        unused = {tool for name, tool in TOOLS.items() if name in self.missing}
        plan = await super()._plan(photo_context, run)
        return replace(plan, calls=tuple(call for call in plan.calls if call.tool not in unused))

    async def _filter(self, query: Query, plan: ToolPlan, gathered: Gathered, run: Run) -> str | None:
        return None if "filtering" in self.missing else await super()._filter(query, plan, gathered, run)


def without(pipeline: WikiPrfPipeline, missing: frozenset[str]) -> AblatedWikiPrf:
    """The same pipeline without these of `MODULES`; of several numbers the smallest holds."""
    parts = {part.name: getattr(pipeline, part.name) for part in fields(pipeline)}
    for name in missing & FEWER.keys():
        part, most = FEWER[name]
        parts[part] = min(parts[part], most)
    return AblatedWikiPrf(**parts, missing=missing)
