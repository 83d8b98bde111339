"""What the model writes: an object or a text for each of our prompts, cut into as many tokens as it takes.

Replies are about as long as the worked cases of their prompts, which a test compares.
"""

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType

from capacity.standins import scene
from contracts.answer import Route
from gateway.llm.lines import in_lines
from gateway.llm.schemas import (
    Answerability,
    ChainOfThought,
    Structured,
    Understanding,
)
from gateway.pipelines.baselines.schemas import PlainAnswer, RewrittenQuery, SteppedAnswer
from gateway.pipelines.qa_dragon.schemas import (
    EntityMatch,
    ObjectChoice,
    ObjectList,
    QueryRewrite,
    QuerySplit,
    ToolChoice,
)
from gateway.pipelines.three_step.model import Ranking, SearchPhrase
from gateway.state import Tool

_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_PIECE = re.compile(r"^<<<piece (\d+),[^\n]*\n(.*?)^<<<end>>>", re.MULTILINE | re.DOTALL)
_CANDIDATE = re.compile(rf"^(\d+)\. {re.escape(scene.ENTITY)}\b", re.MULTILINE)
_SEARCHES = re.compile(r"^<<<searches>>>\n(.*?)\n<<<end>>>", re.MULTILINE | re.DOTALL)


def written(name: str, task: str, *, lines: bool = False) -> str | None:
    """Return the JSON, labelled lines or text for the prompt called `name`; None for an unknown prompt."""
    write, tell = _WRITERS.get(name), _TEXTS.get(name)
    if write is None:
        return None if tell is None else tell(task)
    asked = _QUESTION.findall(task)
    route = scene.route_of(asked[-1] if asked else "")
    reply = write(route, task)
    return in_lines(reply.told()) if lines else reply.spelled()


def cut(text: str, count: int) -> list[str]:
    """`text` in `count` pieces of nearly the same length; in fewer if it has not so many characters."""
    count = max(1, min(count, len(text)))
    ends = [round(len(text) * place / count) for place in range(count + 1)]
    return [text[start:end] for start, end in pairwise(ends)]


def _chain_of_thought(route: Route, task: str) -> ChainOfThought:
    if route is Route.DIRECT:
        return ChainOfThought(
            reasoning=["The sign beside the footway: a direct line every 12 minutes, in print."],
            object_label="sign",
            answer=scene.READ_ANSWER,
            answerability=Answerability.IN_PHOTO,
        )
    if route is Route.VERIFY:
        return ChainOfThought(
            reasoning=[
                "Two granite towers and the name on the sign: the Marrow Quay Bridge.",
                "Ada Lindqvist is known as its designer; that should be checked.",
            ],
            object_label=scene.OBJECT_LABEL,
            entity=scene.ENTITY,
            answer=scene.KNOWN_ANSWER,
            answerability=Answerability.CHECK,
        )
    return ChainOfThought(
        reasoning=["The bridge with two towers; I cannot determine its opening year or its designer."],
        object_label=scene.OBJECT_LABEL,
        answerability=Answerability.LOOK_UP,
    )


def _understanding(route: Route, task: str) -> Understanding:
    draft = _chain_of_thought(route, task).model_dump(exclude={"object_label"})
    if route is Route.DIRECT:
        return Understanding(**draft)
    if route is Route.VERIFY:
        queries = [f"Who designed the {scene.ENTITY}?", "Which works is Ada Lindqvist known for?"]
        return Understanding(**draft, text_search=queries)
    return Understanding(**draft, image_search=scene.OBJECT_LABEL, text_search=_queries("{entity}"))


def _tool_choice(route: Route, task: str) -> ToolChoice:
    tools = list(Tool) if route is Route.RAG else [Tool.TEXT_SEARCH]
    return ToolChoice(reason="The photo does not tell when it opened, nor who made it.", tools=tools)


def _object_list(route: Route, task: str) -> ObjectList:
    return ObjectList(objects=["bridge", "sign", "river"])


def _object_choice(route: Route, task: str) -> ObjectChoice:
    return ObjectChoice(
        reason="The question is about the bridge, which fills the photo.", object_label=scene.OBJECT_LABEL
    )


def _entity_match(route: Route, task: str) -> EntityMatch:
    found = _CANDIDATE.search(task)
    number = int(found.group(1)) if found else None
    return EntityMatch(
        reason="Its name stands on the sign, and the two granite towers agree with it.", candidate=number
    )


def _query_split(route: Route, task: str) -> QuerySplit:
    return QuerySplit(
        reason="Two facts are needed: its opening and its designer.", queries=_queries("{entity}")
    )


def _query_rewrite(route: Route, task: str) -> QueryRewrite:
    given = _SEARCHES.search(task)
    count = len(given.group(1).splitlines()) if given else 2
    return QueryRewrite(queries=_queries(scene.ENTITY)[:count])


def _pieces(task: str) -> list[int]:
    """Return the numbers of the pieces that state the fact."""
    return [int(number) for number, text in _PIECE.findall(task) if _states_the_fact(text)]


def _answer_alone(route: Route, task: str) -> PlainAnswer:
    return PlainAnswer(answer=_chain_of_thought(route, task).answer)


def _answer_in_steps(route: Route, task: str) -> SteppedAnswer:
    draft = _chain_of_thought(route, task)
    return SteppedAnswer(reasoning=draft.reasoning, answer=draft.answer)


def _answer_from_search(route: Route, task: str) -> PlainAnswer:
    return PlainAnswer(answer=scene.FOUND_ANSWER if _pieces(task) else None)


def _rewritten_query(route: Route, task: str) -> RewrittenQuery:
    return RewrittenQuery(query=_queries(scene.ENTITY)[0])


def _search_phrase(route: Route, task: str) -> SearchPhrase:
    return SearchPhrase(query=f"{scene.ENTITY} opening year designer")


def _ranking(route: Route, task: str) -> Ranking:
    return Ranking(relevant=_pieces(task)[:2])


def _plan(task: str) -> str:
    return (
        "<think>The question asks when this bridge opened and who designed it. The photo shows a bridge with"
        " two granite towers over a river, and a sign with its name beside the footway, but neither a year"
        " nor a person. So the bridge has to be found among known ones by what it looks like, and described"
        " for a search of texts. What the sign says is read from the photo itself.</think>\n"
        f"<tool>\n1. grounding: {scene.OBJECT_LABEL}\n2. caption: A suspension bridge over a river.\n</tool>"
    )


def _description(task: str) -> str:
    return (
        "A suspension bridge with two granite towers crosses a wide river. A tram runs over it, lamps stand"
        " along its western footway, and a sign with two lines of print hangs in front: Marrow Quay Bridge,"
        " and under it a direct line every 12 minutes."
    )


def _knowledge(task: str) -> str:
    return (
        "<think>The question has two parts, the opening of the bridge and its designer. The sign in the photo"
        " says Marrow Quay Bridge, so what is kept must be about that bridge. The first piece gives the year"
        " and the engineer in one sentence. The others speak of its piers, its lamps, the ferry that it"
        " replaced and the tolls, which nobody asked about, and of years in which things were looked at"
        " again, which are not the year of its opening. So the first piece alone is kept, and its sentence"
        f" answers both parts.</think>\n<answer>{_brief_answer(task)}</answer>"
    )


def _brief_answer(task: str) -> str:
    return scene.FOUND_ANSWER if _states_the_fact(task) else "I don't know"


_TEXTS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "plan_tools": _plan,
        "describe_photo": _description,
        "filter_knowledge": _knowledge,
        "answer": _brief_answer,
        "judge": lambda _: "yes",
        "rewrite": lambda _: f"When did the {scene.ENTITY} open, and who designed it?",
        "answer_briefly": _brief_answer,
        "answer_from_knowledge": _brief_answer,
    }
)

_WRITERS: Mapping[str, Callable[[Route, str], Structured]] = MappingProxyType(
    {
        "understand": _understanding,
        "chain_of_thought": _chain_of_thought,
        "choose_tools": _tool_choice,
        "list_objects": _object_list,
        "select_object": _object_choice,
        "match_entity": _entity_match,
        "split_query": _query_split,
        "enhance_queries": _query_rewrite,
        "answer_alone": _answer_alone,
        "answer_in_steps": _answer_in_steps,
        "answer_from_search": _answer_from_search,
        "rewrite_query": _rewritten_query,
        "sample_query": _search_phrase,
        "rank_evidence": _ranking,
    }
)


def _queries(name: str) -> list[str]:
    return [f"When did {name} open?", f"Who designed {name}?"]


def _states_the_fact(text: str) -> bool:
    return "1931" in text and ("opened" in text or "opening year" in text)
