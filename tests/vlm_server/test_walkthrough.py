"""Both published pipelines walk their whole way through the real platform, and can be shown."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from loreglass_client.models import CitationKind, Reason
from tests.vlm_server.small_world import HEIGHT, LIGHTHOUSE
from tests.vlm_server.walkthrough import SCRIPTS, Walk, show, walk

pytestmark = pytest.mark.anyio

STAGES = {
    "three-step": ["query_sampling", "text_search", "listwise_rerank", "image_search", "answer", "session"],
    "wiki-prf": ["tool_plan", "cropper", "crop_search", "caption", "reranker", "knowledge_filter", "answer"],
}


def notes(walked: Walk, stage: str) -> str:
    """What a stage came to, all of it."""
    assert walked.answer.explanation is not None
    return "\n".join(note.text for note in walked.answer.explanation.notes if note.stage == stage)


@pytest.mark.parametrize("pipeline", SCRIPTS)
async def test_a_pipeline_s_whole_way_can_be_walked_and_shown(pipeline: str, tmp_path: Path) -> None:
    walked = await walk(pipeline, tmp_path)
    assert walked.trace.pipeline == pipeline
    assert walked.answer.reason is Reason.ANSWERED
    assert walked.answer.degraded == []
    assert walked.answer.entity == LIGHTHOUSE
    cited = {(citation.kind, citation.snippet) for citation in walked.answer.citations}
    assert cited == {(CitationKind.PAGE, HEIGHT)}
    ran = [stage.stage for stage in walked.trace.stages]
    assert set(STAGES[pipeline]) <= set(ran)
    assert "ocr" not in ran
    names = [call.request.name for call in walked.calls]
    assert set(names) == set(SCRIPTS[pipeline])
    first = walked.calls[0].request
    assert all(call.request.images == first.images for call in walked.calls)
    assert all(call.request.parts[0] == first.parts[0] for call in walked.calls)
    assert walked.answer.explanation is not None
    kept = walked.answer.explanation.model_calls
    assert {(call.prompt, call.reply) for call in kept} == {
        (call.request.name, call.reply) for call in walked.calls
    }
    written = StringIO()
    show(walked, Console(file=written, width=80))
    for told in (*names, *ran, "31 metres tall", "temperature 0.0"):
        assert told in written.getvalue()
    for call in walked.calls:
        task = call.request.text.rpartition("TASK")[2]
        assert " ".join(task.split()) in " ".join(written.getvalue().split())
    if pipeline == "three-step":
        assert "kept: Norrholm Lighthouse height" in notes(walked, "text_search")
        assert sorted(call.request.body["seed"] for call in walked.calls[:3]) == [1, 2, 3]
    else:
        assert notes(walked, "tool_plan").count(";") == 2
        assert notes(walked, "knowledge_filter") == HEIGHT
