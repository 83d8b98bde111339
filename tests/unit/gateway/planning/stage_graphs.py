"""The stage graph of every pipeline, by the pipeline's name."""

from gateway.pipelines.baselines import pipeline as baselines
from gateway.pipelines.loreglass import pipeline as loreglass
from gateway.pipelines.qa_dragon import pipeline as qa_dragon
from gateway.pipelines.three_step import pipeline as three_step
from gateway.pipelines.wiki_prf import pipeline as wiki_prf

LOREGLASS, QA_DRAGON = loreglass.STAGE_GRAPH, qa_dragon.STAGE_GRAPH
THREE_STEP, WIKI_PRF = three_step.STAGE_GRAPH, wiki_prf.STAGE_GRAPH
LLM_ONLY, COT, DIRECT_RAG = baselines.LLM_ONLY, baselines.COT, baselines.DIRECT_RAG
CRAG_MM_TASK_1, CRAG_MM_TASK_2, CRAG_MM_TASK_3 = baselines.CRAG_MM.values()

STAGE_GRAPHS = {
    graph.name: graph
    for graph in (
        *(LOREGLASS, QA_DRAGON, THREE_STEP, WIKI_PRF, LLM_ONLY, COT, DIRECT_RAG),
        *baselines.CRAG_MM.values(),
    )
}
