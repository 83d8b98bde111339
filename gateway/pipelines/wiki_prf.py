"""`wiki-prf`: processing, retrieval and filtering for knowledge-based visual questions (Wiki-PRF).

What differs from the paper, and why: grounding is the cropper service's, which finds labelled regions here,
not boxes that a language model writes; a caption is searched among texts (the pocket profile's image index
has no text side), not among images by EVA-CLIP; an article is what is known of a thing and the passages that
its name finds (the corpus is passages), a section one of their chunks, similarity the reranker service's;
the model was not trained for these formats, so that a plan, or filtered knowledge, that does not keep to its
tags is done without. The answer is given as it is said: nothing verifies it.
"""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.budget.course import WIKI_PRF, Course
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.wiki_prf import NO_TOOLS, Gathered, PhotoTool, ToolCall, WikiPrfReasoner
from gateway.stages import evidence, photo_tools
from gateway.stages.conclusion import Outcome, answered
from gateway.stages.identify import fuse
from gateway.stages.reading import begin_sighting
from gateway.stages.run import Run, side_by_side
from gateway.state import Ask, Evidence, Findings, PhotoText, Reply
from gateway.thresholds import Thresholds

EVIDENCE_CHARS, KNOWLEDGE_TOKENS = 10_000, 200


@dataclass(frozen=True, slots=True)
class WikiPrfPipeline:
    """The model plans how to look, the services find, the model keeps what serves the question, then answers.

    `resort` answers when the reasoner's model cannot.
    """

    services: Services
    reasoner: WikiPrfReasoner
    thresholds: Thresholds
    resort: WikiPrfReasoner | None = None
    name: str = "wiki-prf"
    course: Course = WIKI_PRF

    def using(self, thresholds: Thresholds) -> "WikiPrfPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """The whole photo's search beside the plan; then the tools in the plan's order, filter and answer."""
        async with side_by_side() as group:
            sees = self._steps(run).sees
            sighting = await begin_sighting(
                group, self.services, ask, run, photo_tools.MOST_ARTICLES, sees=sees
            )
            calls = await self._plan(sighting, run)
            things = await sighting.recognise()
            run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in things))
            run.explain.signal("image_top", things[0].probability if things else None)
            document = await photo_tools.article(self.services, things[:1], run)
            sections = [item for call in calls for item in await self._use(call, sighting, run)]
            gathered = Gathered(document, tuple(sections)).within(run.plan.share_of_evidence(EVIDENCE_CHARS))
            knowledge = await self._filter(ask, gathered, run)
            entity = next(iter(fuse(things, self.thresholds)), None)
            findings = Findings(Route.RAG, entity, PhotoText(), gathered.evidence)
            reply = await self._answer(sighting, knowledge, findings, run)
        return answered(reply, findings, None, run.failures.values(), run.explain)

    async def _plan(self, sighting: Sighting, run: Run) -> tuple[ToolCall, ...]:
        """3.2: which tools in which order; none if the plan cannot be read: the whole photo stands for it."""
        plan_tools = self._steps(run).plan_tools
        plan = await run.optional(Stage.TOOL_PLAN, plan_tools, sighting, otherwise=NO_TOOLS)
        told = [f"{call.tool}: {call.content}" if call.content else call.tool for call in plan.calls]
        dropped = [f"lines that are no call: {plan.dropped}"] if plan.dropped else []
        run.explain.note(Stage.TOOL_PLAN, (*told, *dropped))
        return plan.calls if sighting.ask.photo is not None else ()

    async def _use(self, call: ToolCall, sighting: Sighting, run: Run) -> tuple[Evidence, ...]:
        """3.3: the sections that a tool finds, ranked by the caption or, for pictures, by the question."""
        ask, services = sighting.ask, self.services
        if ask.photo is None:
            return ()
        if call.tool is PhotoTool.CAPTION:
            describe = self._steps(run).describe
            query = await run.optional(Stage.CAPTION, describe, ask, call.content, otherwise=call.content)
            run.explain.note(Stage.CAPTION, query)
            found = await photo_tools.described(services, query, run)
        else:
            query = ask.question
            if call.tool is PhotoTool.GROUNDING:
                whole = await sighting.recognise()
                things = await photo_tools.grounded(services, ask.photo, call.content, whole, run)
            else:
                things = await photo_tools.flipped(services, ask.photo, run)
            run.explain.note(Stage.CROP_SEARCH, (f"{call.tool}: {thing.name}" for thing in things))
            found = await photo_tools.article(services, things, run)
        best = await photo_tools.best_sections(services, ask, query, found, run)
        run.explain.note(Stage.RERANKER, f"{call.tool}: {len(best)} of {len(found)} sections")
        return best

    async def _filter(self, ask: Ask, gathered: Gathered, run: Run) -> str | None:
        """3.4: task-oriented knowledge; None when it cannot be had: all that was retrieved stands for it."""
        shown = evidence.prompt_tokens((*gathered.document, *gathered.sections), EVIDENCE_CHARS)
        size = Work(extra_prompt_tokens=shown)
        knowledge: str | None = None
        if gathered.evidence:
            reduce = self._steps(run).filter
            knowledge = await run.optional(
                Stage.KNOWLEDGE_FILTER, reduce, ask, gathered, otherwise=None, size=size
            )
        run.explain.note(Stage.KNOWLEDGE_FILTER, knowledge or "as it was retrieved")
        return knowledge

    async def _answer(self, sighting: Sighting, knowledge: str | None, findings: Findings, run: Run) -> Reply:
        """Equation 9."""
        effort = run.plan.effort
        reads = findings.evidence if knowledge is None else ()
        shown = evidence.prompt_tokens(reads, EVIDENCE_CHARS) + KNOWLEDGE_TOKENS
        size = Work(extra_prompt_tokens=shown, max_output_tokens=effort.answer_tokens)
        resort = self.resort.answer if self.resort else None
        return await run.or_resort(
            Stage.ANSWER, self.reasoner.answer, resort, sighting, knowledge, findings, effort, size=size
        )

    def _steps(self, run: Run) -> WikiPrfReasoner:
        """Who takes the steps before the answer: not the model once the plan has no time for it."""
        return self.resort if self.resort and not run.plan.model else self.reasoner
