"""What the model writes: an object or a text for each of our prompts, cut into as many tokens as it takes."""

import json
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from types import MappingProxyType

from capacity.standins import scene
from contracts.answer import Route
from gateway.llm.schemas import (
    Answerability,
    ChainOfThought,
    GroundedAnswer,
    Judgement,
    Structured,
    Understanding,
    Verdict,
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


def written(name: str, prefix: str, task: str) -> str | None:
    """The JSON or text for the prompt called `name`; None for a prompt that is none of ours.

    `prefix`: the text that holds the question; `task`: the stage's own text behind it.
    """
    write, tell = _WRITERS.get(name), _TEXTS.get(name)
    if write is None:
        return None if tell is None else tell(task)
    asked = _QUESTION.findall(prefix)
    route = scene.route_of(asked[-1] if asked else "")
    return json.dumps(write(route, task).model_dump(mode="json"))


def cut(text: str, count: int) -> list[str]:
    """`text` in `count` pieces of nearly the same length; in fewer if it has not so many characters."""
    count = max(1, min(count, len(text)))
    ends = [round(len(text) * place / count) for place in range(count + 1)]
    return [text[start:end] for start, end in pairwise(ends)]


def _chain_of_thought(route: Route, task: str) -> ChainOfThought:
    if route is Route.DIRECT:
        return ChainOfThought(
            reasoning=["The sign shows the line in print."],
            object_label="sign",
            answer=scene.READ_ANSWER,
            answerability=Answerability.IN_PHOTO,
        )
    if route is Route.VERIFY:
        return ChainOfThought(
            reasoning=["The towers and the sign are those of one bridge."],
            object_label=scene.OBJECT_LABEL,
            entity=scene.ENTITY,
            answer=scene.KNOWN_ANSWER,
            answerability=Answerability.CHECK,
        )
    return ChainOfThought(
        reasoning=["It is a bridge with two towers.", "I cannot determine its history from the photo."],
        object_label=scene.OBJECT_LABEL,
        answerability=Answerability.LOOK_UP,
    )


def _understanding(route: Route, task: str) -> Understanding:
    draft = _chain_of_thought(route, task).model_dump()
    if route is Route.DIRECT:
        return Understanding(**draft)
    if route is Route.VERIFY:
        queries = [f"Who designed the {scene.ENTITY}?"]
        return Understanding(**draft, tools=[Tool.TEXT_SEARCH], sub_queries=queries)
    return Understanding(**draft, tools=list(Tool), sub_queries=_queries("{entity}"))


def _tool_choice(route: Route, task: str) -> ToolChoice:
    tools = list(Tool) if route is Route.RAG else [Tool.TEXT_SEARCH]
    return ToolChoice(reason="The photo does not tell.", tools=tools)


def _object_list(route: Route, task: str) -> ObjectList:
    return ObjectList(objects=["bridge", "sign", "river", "lamp post", "footway", "tram"])


def _object_choice(route: Route, task: str) -> ObjectChoice:
    return ObjectChoice(reason="It fills the photo.", object_label=scene.OBJECT_LABEL)


def _entity_match(route: Route, task: str) -> EntityMatch:
    found = _CANDIDATE.search(task)
    number = int(found.group(1)) if found else None
    return EntityMatch(reason="Its name stands on the sign.", candidate=number)


def _query_split(route: Route, task: str) -> QuerySplit:
    return QuerySplit(reason="Two facts are needed.", queries=_queries("{entity}"))


def _query_rewrite(route: Route, task: str) -> QueryRewrite:
    given = _SEARCHES.search(task)
    count = len(given.group(1).splitlines()) if given else 2
    return QueryRewrite(queries=_queries(scene.ENTITY)[:count])


def _answer(route: Route, task: str) -> GroundedAnswer:
    """From the pieces that state the fact; without one the model does not know."""
    pieces = [int(number) for number, text in _PIECE.findall(task) if _states_the_fact(text)]
    if not pieces:
        return GroundedAnswer(reason="None of the evidence says it.", answer=None, evidence=[])
    return GroundedAnswer(reason="The evidence says so.", answer=scene.FOUND_ANSWER, evidence=pieces[:2])


def _judgement(route: Route, task: str) -> Judgement:
    return Judgement(reason="The evidence says the same.", verdict=Verdict.CORRECT)


def _answer_alone(route: Route, task: str) -> PlainAnswer:
    return PlainAnswer(answer=_chain_of_thought(route, task).answer)


def _answer_in_steps(route: Route, task: str) -> SteppedAnswer:
    draft = _chain_of_thought(route, task)
    return SteppedAnswer(reasoning=draft.reasoning, answer=draft.answer)


def _answer_from_search(route: Route, task: str) -> PlainAnswer:
    return PlainAnswer(answer=_answer(route, task).answer)


def _rewritten_query(route: Route, task: str) -> RewrittenQuery:
    return RewrittenQuery(query=_queries(scene.ENTITY)[0])


def _search_phrase(route: Route, task: str) -> SearchPhrase:
    return SearchPhrase(query=f"{scene.ENTITY} opening year designer")


def _ranking(route: Route, task: str) -> Ranking:
    return Ranking(relevant=_answer(route, task).evidence)


def _plan(task: str) -> str:
    return (
        "<think>The bridge has to be found.</think>\n"
        f"<tool>\n1. grounding: {scene.OBJECT_LABEL}\n2. caption: A suspension bridge over a river.\n</tool>"
    )


def _description(task: str) -> str:
    return "A bridge with two granite towers over a river; a sign with two lines of print hangs beside it."


def _knowledge(task: str) -> str:
    return f"<think>One piece tells of it.</think>\n<answer>{_brief_answer(task)}</answer>"


def _brief_answer(task: str) -> str:
    return scene.FOUND_ANSWER if _states_the_fact(task) else "I don't know"


_TEXTS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "plan_tools": _plan,
        "describe_photo": _description,
        "filter_knowledge": _knowledge,
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
        "answer": _answer,
        "judge": _judgement,
        "answer_alone": _answer_alone,
        "answer_in_steps": _answer_in_steps,
        "answer_from_search": _answer_from_search,
        "rewrite_query": _rewritten_query,
        "sample_query": _search_phrase,
        "rank_evidence": _ranking,
    }
)


def _queries(name: str) -> list[str]:
    return [f"In which year did {name} open?", f"Who designed {name}?"]


def _states_the_fact(text: str) -> bool:
    return "1931" in text and ("opened" in text or "opening year" in text)
