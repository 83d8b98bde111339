"""`loreglass train head`: the domain router's, the coarse reranker's and the search router's."""

from training.commands.failing import says_why
from training.commands.running import Config, Data, Out, Set, opened, settings_of


def head(config: Config, data: Data = None, out: Out = None, given: Set = None) -> None:
    """Fit a small head on DATA, beside models that stay as they are; CONFIG says which.

    domain-router on samples of the task `domain`, coarse-reranker of `passages`, search-router of `draft`.
    The same command goes on where it stopped.
    """
    from training.heads.settings import AnyHead, CoarseRerankerConfig, DomainRouterConfig, SearchRouterConfig
    from training.libraries import require

    with says_why():
        kind = settings_of(config, AnyHead, data, given).head
        require("accelerate", "sklearn", *(() if kind == "search-router" else ("torch", "transformers")))
        if kind == "domain-router":
            from training.heads.domain_router import train_domain_router

            of_domains = settings_of(config, DomainRouterConfig, data, given)
            train_domain_router(of_domains, opened(out, of_domains))
        elif kind == "coarse-reranker":
            from training.heads.coarse_reranker import train_coarse_reranker

            of_passages = settings_of(config, CoarseRerankerConfig, data, given)
            train_coarse_reranker(of_passages, opened(out, of_passages))
        else:
            from training.heads.search_router import train_search_router

            of_drafts = settings_of(config, SearchRouterConfig, data, given)
            train_search_router(of_drafts, opened(out, of_drafts))
