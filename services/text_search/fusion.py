"""Several ranked lists of passages into one list of pages."""

from collections import defaultdict
from collections.abc import Sequence

from services.text_search.engine import Candidate, FusedHit

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""


def fuse(rankings: Sequence[Sequence[Candidate]], k: int) -> list[FusedHit]:
    """The `k` pages with the highest sum of 1 / (60 + rank), each by its best passage.

    Ranks count pages, so that a page with many passages does not push the others down. Equal sums are
    settled by the passages' scores, each as a share of its own sub-query's best.
    """
    page_scores: dict[str, float] = defaultdict(float)
    page_shares: dict[str, float] = defaultdict(float)
    found_by: dict[str, list[int]] = defaultdict(list)
    passage_scores: dict[str, tuple[float, float]] = {}
    passages = {}
    for index, ranking in enumerate(rankings):
        ranks: dict[str, int] = {}
        for candidate in ranking:
            passage = candidate.passage
            share = candidate.score / ranking[0].score if ranking[0].score > 0 else 0.0
            if passage.url not in ranks:
                ranks[passage.url] = len(ranks) + 1
                page_scores[passage.url] += 1 / (RANK_CONSTANT + ranks[passage.url])
                page_shares[passage.url] += share
                found_by[passage.url].append(index)
            reciprocal, shares = passage_scores.get(passage.id, (0.0, 0.0))
            passage_scores[passage.id] = (
                reciprocal + 1 / (RANK_CONSTANT + ranks[passage.url]),
                shares + share,
            )
            passages[passage.id] = passage
    best = {}
    for passage_id in sorted(passages, key=lambda each: passage_scores[each]):
        best[passages[passage_id].url] = passages[passage_id]
    ordered = sorted(page_scores, key=lambda url: (-page_scores[url], -page_shares[url], url))
    return [FusedHit(best[url], page_scores[url], tuple(found_by[url])) for url in ordered[:k]]
