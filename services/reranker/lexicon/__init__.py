"""Relations of everyday facts: how people ask for them and how texts state them."""

from services.reranker.lexicon.people import PEOPLE
from services.reranker.lexicon.places import PLACES
from services.reranker.lexicon.products import PRODUCTS
from services.reranker.lexicon.relation import AnswerType, Relation
from services.reranker.lexicon.science import SCIENCE
from services.reranker.lexicon.works import WORKS

RELATIONS: tuple[Relation, ...] = (*WORKS, *PEOPLE, *PLACES, *PRODUCTS, *SCIENCE)

__all__ = ["RELATIONS", "AnswerType", "Relation"]
