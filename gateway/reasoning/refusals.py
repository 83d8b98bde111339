"""Recognises "I don't know" in all its spellings, and leaves answers alone that merely contain such words.

In doubt it says refusal: taken for an answer a refusal would be a wrong one, an answer taken for a refusal
is only withheld (CRAG-MM scores -1 against 0).
"""

import re
import unicodedata

from gateway.reasoning.pieces import without_markup
from language.words import visible

_APOSTROPHES = str.maketrans("’‘ʼ`´＇", "''''''")
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'(?!\w)|‘[^’]*’(?!\w)"
)
_MARKUP = re.compile(r"[*_#`~]+")
_SPACE = re.compile(r"\s+")
_LONGEST = 2_000  # characters looked at: whoever refuses does so early

_KNOWING = (
    r"(?:determine|tell|say|identify|answer|find|recogni[sz]e|make out|read|provide|confirm|verify|establish"
    r"|know|name|give|see|be (?:sure|certain)|conclude|ascertain|specify|locate|infer|state|assist|help)"
)
_KNOWN = (
    r"(?:determined|identified|known|said|answered|told|confirmed|verified|established|seen|read|inferred"
    r"|found)"
)
_ADVERB = r"(?:(?:really|honestly|actually|simply|still|also|currently|therefore|thus|just|unfortunately) )*"
_DEGREE = r"(?:(?:entirely|completely|quite|really|very|absolutely|100%|at all|so|too|certain or) )*"
_SUBJECT = r"(?:i|we)"
_AM = r"(?:i am|i'm|im|we are|we're)"
_CANNOT = r"(?:cannot|can't|cant|can not|could not|couldn't|couldnt)"
_MATERIAL = (
    r"(?:the |this |that |these |any |provided |given |available |supplied |visible |photo|image|picture|"
    r"evidence|passages?|sources?|question|information|context|text|material|pieces?|search results?)+"
)

_WHOLE = re.compile(
    r"(?:unknown|unsure|uncertain|unclear|undetermined|indeterminable|indeterminate|unanswerable|null|nil"
    r"|n\s?/\s?a|n\.a\.?|idk|dunno|not (?:known|sure|certain|clear|available|specified|stated|mentioned|given"
    r"|provided|determinable|applicable|visible|answerable|enough information)"
    r"|no (?:idea|clue|answer|information)|don't know|do not know|dont know)"
    rf"(?: (?:yet|at (?:this|the) (?:time|moment)|(?:from|based on|in|with|given|by|to) {_MATERIAL}))?"
)

_CLAUSES = (
    # I don't know; we really do not know
    rf"{_SUBJECT} {_ADVERB}(?:do not|don't|dont|don t|did not|didn't|wouldn't|would not) {_ADVERB}"
    r"(?:know|have (?:enough|sufficient|any|the|access)|see enough|recogni[sz]e)\b",
    r"(?:don't|do not|dont) (?:really |actually )?know\b",
    rf"(?:idk|dunno|{_SUBJECT} dunno)\b",
    # I'm not sure; I am unable to say; not able to tell
    rf"(?:{_AM} )?{_ADVERB}not {_DEGREE}(?:sure|certain)\b",
    rf"{_AM} {_DEGREE}(?:unsure|uncertain)\b",
    r"(?:unsure|uncertain) (?:about|of|if|whether|what|which|who|how|when|where)\b",
    rf"(?:{_AM} |{_SUBJECT} (?:was|were) )?{_ADVERB}(?:unable|not able) to {_ADVERB}{_KNOWING}\b",
    # I cannot determine; can't tell
    rf"(?:{_SUBJECT} (?:{_ADVERB}))?{_CANNOT} {_ADVERB}{_KNOWING}\b",
    # It is impossible to say; it's unclear; it cannot be determined
    r"(?:it is |it's |this is )?(?:not possible|impossible|hard|difficult) (?:for me )?"
    rf"to {_ADVERB}{_KNOWING}\b",
    r"(?:it is |it's )(?:not (?:clear|known|stated|specified|certain)|unclear|unknown|uncertain)\b",
    rf"(?:it|this|that) {_CANNOT} be {_KNOWN}\b",
    # The answer is unknown; the answer cannot be determined
    r"(?:the|an|my) (?:exact |correct |right |precise )?(?:answer|information)(?: to (?:this|that|the|your)"
    r" question)? (?:is|was|remains) (?:unknown|unclear|uncertain|not \w+)\b",
    # Not enough information; there is no evidence
    rf"(?:(?:there is|there's|there are|{_SUBJECT} have) )?"
    r"(?:not enough|insufficient|too little|not sufficient) (?:\w+ )?"
    r"(?:information|evidence|data|context|details?|material)\b",
    r"(?:there is|there's|there are) no (?:\w+ )?(?:information|evidence|data|mention|answer|indication)\b",
    rf"(?:{_SUBJECT} {_ADVERB}have |{_SUBJECT}'ve )?{_ADVERB}(?:absolutely |got )?no (?:idea|clue)\b(?!')",
    # The evidence does not say
    r"(?:the |this )?(?:provided |given |available |retrieved |search )?"
    r"(?:evidence|passages?|sources?|context|results?|pieces?)"
    r" (?:does not|doesn't|do not|don't|did not|fails? to) (?:\w+ )?"
    r"(?:say|mention|state|contain|specify|provide|include|tell|give|indicate|answer|show|name|support)\b",
    r"(?:n/a|null)\b",
)
_LEAD = (  # each phrase is atomic: texts that repeat them would else take exponential time
    r"(?>(?:sorry|i'm sorry|i am sorry|i apologi[sz]e|apologies|unfortunately|hm+|well|uh|no|yes|ok|okay"
    r"|honestly|frankly|regrettably|sadly|but|so|therefore|thus|however|yet|and|because|since|as|answer"
    r"|final answer|the answer is|my answer is|response"
    r"|as an ai(?:(?: \w+){0,3}(?=,)|(?: (?:language|vision|large|assistant|model|system|chatbot))*)"
    r"|i (?:would|have to|must) (?:say|admit)"
    r"|i think|i believe|i'm afraid|i am afraid|that|to be honest"
    rf"|(?:based on|from|given|according to|judging by|looking at|with|in) {_MATERIAL}(?: alone)?)"
    r"[\s,.:;!-]+)*"
)
_REFUSAL = re.compile(rf"{_LEAD}(?:{'|'.join(f'(?:{clause})' for clause in _CLAUSES)})")
_PASSIVE = re.compile(
    rf"\b{_CANNOT} be {_KNOWN}"
    rf"(?:\s*$|\s*[.,;]|\s+(?:from|based on|with|without|in|by|using|given) {_MATERIAL})"
)
_BREAK = re.compile(r"[.!?;:,\n–—()]+\s*|\s-\s|\s(?=(?:but|so|because|since|and|as|that) (?:i|we|it)\b)")


def is_refusal(text: str | None) -> bool:
    """Return whether the text says that there is no answer; an empty one says so too."""
    if text is None:
        return True
    if not any(character.isalnum() for character in text):
        # "√", "♀" or "©" may be an answer; dots, dashes and question marks are none.
        return all(unicodedata.category(character)[0] != "S" for character in text)
    plain = _plain(text)
    folded = plain.casefold()
    is_word = _WHOLE.fullmatch(re.sub(rf"^{_LEAD}", "", folded).strip(" .!?()[]"))
    if is_word or _PASSIVE.search(folded):
        return True
    starts = (0, *(gap.end() for gap in _BREAK.finditer(plain)))
    return any(_refuses(plain[start:]) for start in starts)


def spoken_answer(text: str | None) -> str | None:
    """Return a model's answer without markup, as it may be said; None if it has none."""
    plain = without_markup(text) if text is not None else None
    return None if is_refusal(plain) else plain


def _plain(text: str) -> str:
    """Without hidden characters, markup and what stands in quotation marks: titles are not statements."""
    straight = unicodedata.normalize("NFKC", visible(text[:_LONGEST])).replace("…", "...")
    reply = straight.strip().rstrip(".!")  # one that is a single quotation is what that says
    unquoted = _QUOTED.sub(lambda quote: f" {reply[1:-1] if quote.group() == reply else '@'} ", straight)
    return _SPACE.sub(" ", _MARKUP.sub("", unquoted.translate(_APOSTROPHES))).strip()


def _refuses(clause: str) -> bool:
    folded = clause.casefold()
    if len(folded) != len(clause):  # a letter that folds to two would shift the comparison below
        clause = folded
    match = _REFUSAL.match(folded)
    return match is not None and not _is_title(clause[: match.end()], clause[match.end() :])


def _is_title(matched: str, rest: str) -> bool:
    """ "I Don't Know How to Love Him": words written like a name, and the name goes on."""
    if matched.isupper() or not rest[:1].isspace():
        return False
    words = [word for word in re.findall(r"[^\W\d_][\w']*", matched) if word.casefold() != "i"]
    following = rest.split()[0]
    capitals = [word for word in words if word[0].isupper()]
    return len(capitals) >= 2 and len(capitals) == len(words) and following[:1].isupper()
