"""What wording gives away: cues in the question, the draft's answer and its reasoning (QA-Dragon, 3.2).

Each cue is one pattern over folded text (lower case, straight apostrophes). They are features of a trained
classifier, not rules: a cue may be wrong now and then.
"""

import re
from enum import Enum

from language import words


def fold(text: str) -> str:
    """Lower case without accents, straight apostrophes, single spaces."""
    return " ".join(words.fold(text).split())


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b")


class Cue(Enum):
    """A pattern; `in_text` looks for it in folded text."""

    UNKNOWN = _words(
        r"(?:do not|don't|dont|does not|doesn't|can't|cannot|can not|could not"
        r"|couldn't) (?:\w+ )?(?:know|tell|say|determine|identify|answer|make out|be (?:determined"
        r"|identified|known))|no idea|not (?:entirely |quite |at all |really )?(?:sure|certain)|unsure"
        r"|uncertain|unknown|unclear|unable to|impossible to (?:say|tell|know|determine|read)"
        r"|not possible to (?:say|tell|know|determine)"
    )
    GAP = _words(
        r"not (?:visible|shown|given|stated|written|printed|legible|readable|included|mentioned"
        r"|available|in the (?:photo|picture|image))|(?:is|are) (?:missing|hidden|cut off|illegible"
        r"|out of (?:frame|view))|(?:isn't|aren't) (?:visible|shown|given|stated|legible)"
        r"|nothing in the (?:photo|picture|image)|(?:needs?|must|should|has to|have to|requires?"
        r"|would) (?:to )?(?:be )?(?:look\w*(?: \w+)? up|search\w*|check\w*|external|outside"
        r"|more (?:facts|information|details))|(?:photo|picture|image) (?:alone )?(?:does not|doesn't"
        r"|cannot|can't)|no (?:information|mention|sign|label|text|name|price)|depends on"
    )
    SPECULATION = _words(
        r"probably|perhaps|maybe|possibly|presumably|might|could be|may be|i (?:think|believe|guess"
        r"|suspect)|my guess|seems?|appears? to|looks (?:like|as if)|likely|suggests?|resembles?"
        r"|at a guess|if i am right"
    )
    FALLBACK = _words(
        r"general(?:ly)? (?:knowledge|speaking)|generally|typical(?:ly)?|usual(?:ly)?|normally"
        r"|in most cases|most (?:\w+ ){1,2}(?:are|have|do|cost|live|take)|on average|as a rule|tends? to"
        r"|assum(?:e|es|ed|ing)|by default|from memory|as far as i (?:know|recall|remember)"
        r"|without (?:more|further|knowing)|common for"
    )
    CONTRADICTION = _words(
        r"on second thought|wait|actually|then again|contradicts?|inconsistent|does not (?:match|fit"
        r"|agree)|doesn't (?:match|fit|agree)|on the other hand|but (?:it|that|this|the \w+) (?:could"
        r"|might|may) (?:also )?be|either \w+(?: \w+){0,4} or|not consistent|yet the"
    )
    READING = _words(
        r"(?:written|printed|engraved|inscribed|handwritten|displayed|listed)|(?:say|says|spell"
        r"|spells) (?:on|here|there)|(?:does|do|did) (?:it|this|that|these|those"
        r"|the \w+(?: \w+)?) (?:say|read|list|spell|state)|read (?:this|that|it|the|me|out|aloud)"
        r"|transcribe|text|words?|lettering|slogan|caption|headline|label says|according to (?:this"
        r"|the) (?:sign|menu|label|poster|plaque|notice|page|board|box|packet|receipt|ticket)"
        r"|on the (?:sign|menu|label|poster|plaque|notice|page|board|receipt|ticket|screen|display"
        r"|timetable|clock)"
    )
    READ_OFF = _words(
        r"(?:sign|label|cover|board|plaque|menu|poster|tag|display|page|letter|notice|sticker|table"
        r"|stone|ticket|receipt|badge|plate|banner|screen|wrapper|scoreboard|worksheet|sheet|line|row"
        r"|panel|package|bag|box|door|hours|headline)(?: \w+){0,5} (?:says?|reads?|shows?|names?|lists?"
        r"|gives?|states?|spells?|marks?|is printed)|(?:printed|stamped|written|marked|engraved"
        r"|spelled) (?:on|with|in|above|below)|its letters|legible: "
    )
    TRANSLATION = _words(
        r"translat\w+|in (?:english|french|german|spanish|italian|chinese|japanese|portuguese|dutch"
        r"|polish)|what does \w+(?: \w+)? mean in|mean in english"
    )
    COMPUTATION = _words(
        r"solve|calculate|compute|work out|evaluate|simplify|equation|add up|sum|subtract|multiply"
        r"|divide|square root|what is \d[\d.,]*|\d+ ?[-+*/x×÷] ?\d+|altogether|in total|how much change"
        r"|area of (?:this|the) |perimeter|hypotenuse|derivative|integral|percent(?:age)? of"
        r"|answer to (?:question|problem|exercise)"
    )
    VISIBLE = _words(
        r"what colou?rs?|which colou?rs?|how many (?:\w+ ){0,3}(?:are there|do you see|can you see"
        r"|in (?:this|the) (?:photo|picture|image)|on (?:this|the|my)|are (?:on|in|here))|what shape"
        r"|which (?:way|direction|side|hand)|do you see|can you see|is there (?:a|an|any)|are there any"
        r"|what time (?:is it|does this (?:clock|watch))|in the (?:background|foreground)"
        r"|what am i holding|wearing|leftmost|rightmost|pattern"
    )
    CURRENT = _words(
        r"price|cost|costs|how much (?:is|are|does|do|would|for)|cheap\w*|expensive|worth|buy"
        r"|order online|for sale|today|tonight|now|current(?:ly)?|latest|newest|this (?:week|month|year)"
        r"|open|opens?|close[sd]?|closing|hours|weather|score|ranking|in stock|available|rating|reviews?"
        r"|tickets?"
    )
    DATED = _words(
        r"when|what (?:year|date|day|month|century|decade)|which (?:year|century|decade|month)"
        r"|how (?:old|long ago)|since when|what age"
    )
    OPEN_WORLD = _words(
        r"who (?:\w+ )?(?:wrote|founded|invented|designed|built|made|makes|owns|discovered|painted"
        r"|directed|created|is|was|played|composed|published|runs|won|named|first)|founde[rd]|inventor"
        r"|designer|author|manufacturer|maker|headquarter\w*|native|origin(?:s|ally|ate\w*)?|come from"
        r"|histor\w+|famous|population|tallest|largest|capital|country|countries|species|breed|lifespan"
        r"|live|lives|height|weigh\w*|top speed|horsepower|engine|fuel|mpg|range|battery|warranty"
        r"|calorie\w*|protein|nutrit\w+|ingredients?|allerg\w+|toxic|poisonous|edible|safe|used for"
        r"|known for|sequel|awards?|other (?:books|novels|works|films|models|products)|compared? (?:to"
        r"|with)|than (?:the|a|an)|difference between|how (?:far|tall|big|fast|heavy|long|deep|large)"
        r"|where (?:is|was|were|are|does|did|can)|why|recipe|grow\w*|bloom\w*|water\w*"
    )

    def in_text(self, folded: str) -> bool:
        """Whether the folded text has it."""
        pattern: re.Pattern[str] = self.value
        return pattern.search(folded) is not None
