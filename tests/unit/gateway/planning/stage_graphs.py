"""The stage graph of every pipeline, by the pipeline's name."""

from gateway.pipelines.baselines import closed_book, crag_mm, direct_rag
from gateway.pipelines.loreglass import pipeline as loreglass
from gateway.pipelines.qa_dragon import pipeline as qa_dragon
from gateway.pipelines.three_step import pipeline as three_step
from gateway.pipelines.wiki_prf import pipeline as wiki_prf

LOREGLASS, QA_DRAGON = loreglass.STAGE_GRAPH, qa_dragon.STAGE_GRAPH
THREE_STEP, WIKI_PRF = three_step.STAGE_GRAPH, wiki_prf.STAGE_GRAPH
LLM_ONLY, COT, DIRECT_RAG = closed_book.LLM_ONLY, closed_book.COT, direct_rag.STAGE_GRAPH
CRAG_MM_TASK_1, CRAG_MM_TASK_2, CRAG_MM_TASK_3 = crag_mm.STAGE_GRAPHS.values()

STAGE_GRAPHS = {
    graph.name: graph
    for graph in (
        *(LOREGLASS, QA_DRAGON, THREE_STEP, WIKI_PRF, LLM_ONLY, COT, DIRECT_RAG),
        *crag_mm.STAGE_GRAPHS.values(),
    )
}
