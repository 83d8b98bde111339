"""The plan of a question: what is given up when time is short, and what the trace says of it."""

from pathlib import Path

import anyio

from contracts.answer import Reason, Trace
from gateway.planning.latencies import PACKAGED, load_latencies
from gateway.planning.plan import Plan
from tests.unit.gateway.fakes import FakeServices, Mood, image_hit, images, pages, text_hit
from tests.unit.gateway.pipelines import loreglass
from tests.unit.gateway.platform import World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, after_reading


def table(folder: Path, **fixed_ms: float) -> str:
    """A latency table in which every stage takes a millisecond but for those given."""
    rows = [
        f"{stage.value} = {{ fixed_ms = {fixed_ms.get(stage.value, 1.0)}, sigma = 0.1 }}"
        for stage in load_latencies(PACKAGED[0]).stages
    ]
    file = folder / "latencies.toml"
    file.write_text("[stages]\n" + "\n".join(rows) + "\n[services]\nreader = { fixed_ms = 1.0 }\n")
    return str(file)


async def trace_of(world: World, trace_id: str) -> Trace:
    return Trace.model_validate_json((await world.client.get(f"/traces/{trace_id}")).content)


async def test_stages_that_do_not_fit_are_skipped_and_reported(
    services: FakeServices, tmp_path: Path
) -> None:
    services.image_search.reply = images(image_hit(score=0.7))
    plans = []
    for crops_ms, is_cut in ((1, False), (40_000, True)):
        latencies = table(tmp_path, cropper=crops_ms, crop_search=crops_ms)
        async with gateway_before(services, latencies=latencies) as world:
            answer = await world.ask()
            plans.append((await trace_of(world, answer.trace_id)).plans[0])
        assert answer.reason is Reason.ANSWERED
        assert ("no_crops" in answer.degraded, answer.degraded == []) == (is_cut, not is_cut)
    whole, cut = plans
    assert (whole.cuts, whole.limits["crops"], whole.load) == ([], 4, 1)
    assert ("no_crops" in cut.cuts, cut.limits["crops"]) == (True, 0)
    assert cut.remaining_ms <= 60_000
    assert len(services.cropper.calls) == 1


async def test_no_stage_is_skipped_without_the_planner(services: FakeServices, tmp_path: Path) -> None:
    services.image_search.reply = images(image_hit(score=0.7))
    slow = table(tmp_path, cropper=40_000, crop_search=40_000, verifier=50_000)
    async with gateway_before(services, latencies=slow, experiments=True) as world:
        answer = await world.ask(deadline_ms="30000", experiment='{"without": ["planner"]}')
        trace = await trace_of(world, answer.trace_id)
    assert len(services.cropper.calls) == len(services.verifier.calls) == 1
    assert (answer.degraded, trace.plans) == ([], [])


async def test_a_smaller_plan_gives_the_reranker_less_to_do(services: FakeServices) -> None:
    words = "It has many pages and a long story to tell of salt and roads. " * 9
    services.text_search.reply = pages(*[text_hit(f"Part {number}. {words}") for number in range(10)])
    await loreglass(services=services, plan=Plan(chunks=8, fine_chunks=3))
    (request,) = services.reranker.calls
    assert (len(request.documents), request.fine_top_n) == (8, 3)


async def test_question_with_300_ms_is_answered_in_time(services: FakeServices, world: World) -> None:
    await world.post()  # start the photo decoder before measuring
    services.reranker.mood = Mood.HANGS
    # Four attempts, because the system may pause this process during one.
    replies = [await world.post(deadline_ms="300") for _ in range(4)]
    assert {reply.status_code for reply in replies} == {200}
    assert min(reply.json()["timings_ms"]["total"] for reply in replies) < 300


async def test_busy_node_does_not_prefetch(services: FakeServices, tmp_path: Path) -> None:
    reasoner = ScriptedReasoner(before_draft=after_reading)
    services.ocr.mood = Mood.HELD
    async with (
        gateway_before(services, reasoner, latencies=table(tmp_path), max_in_flight=1) as world,
        anyio.create_task_group() as group,
    ):
        group.start_soon(world.ask)
        await services.ocr.arrived.wait()
        assert services.image_search.calls == []
        services.ocr.release.set()
    assert len(services.image_search.calls) == 1
