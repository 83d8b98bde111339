"""Relations as texts word them, so that a birth year is not taken for the year of death.

A row: the kind of value, the relation, and how it is said. Rows with one name are one relation; a starred
relation is general: it counts only where no other relation of the kind is said.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ROWS = r"""
    date  | born          | born|birth\w*
    date  | died          | died|dies?|death|passed away|deceased
    date  | founded       | founded|founding|foundation|set up|establish\w*|exist\w*|goes back to|inception
    date  | founded       | entered in the register|started out|first (?:opened|steps)|in business since
    date  | opened        | open(?:ed|ing)\b(?! hours)|opens? its doors|first guests?|inaugurat\w*|exist\w*
    date  | opened        | first served|welcom\w*|in business since
    date  | published     | publish\w*|publication|releas\w*|launch\w*|c[ao]me out|appear\w*|introduc\w*
    date  | published     | (?:on|to) the market|first met|reached the shops|printed|first edition|debut\w*
    date  | published     | \d{4} (?:novel|book|album|film|drama|comedy|record|edition|game|story)
    date  | made          | \d{4} (?:painting|oil|canvas|drawing|watercolour|picture)
    date  | made          | painted|painting|creat\w+|finished|complet\w*|made in
    date  | built         | buil[dt]\w*|construct\w*|complet\w*
    date  | erected       | erect\w*|unveil\w*|put up|inaugurat\w*|install\w*
    date  | acquired      | acquir\w*|acquisition|(?:bought|purchased) by|donat\w*|bequ\w+
    date  | acquired      | (?:enter|join)(?:s|ed) the collection|came to the (?:museum|gallery)
    date  | restored      | restor\w*|renovat\w*|refurbish\w*|conservat\w*
    date  | married       | marr(?:y|ied|iage)|wedding
    date  | ended         | clos(?:ed|ing) down|shut down|dissol\w*|discontinu\w*|ceased|demolish\w*
    date  | taken over    | t[ao]ken? over|takeover|took over
    date  | won           | won|awarded|prize
    date  | moved         | moved|relocat\w*
    date  | translated    | translat\w*
    date  | sown          | sow\w*|plant(?:ed|ing)? out
    date  | harvested     | harvest\w*|pick(?:ed|ing)?|ripe\w*
    date  | closed        | closed|shut|except|closing day|does not open|not open|rest day|day off
    date  | opened        | year (?:of|is)|dates? (?:back to|from)|dated|from (?:the year )?\d{4}
    date  | founded       | year (?:of|is)|dates? (?:back to|from)|dated|from (?:the year )?\d{4}
    date  | published     | year (?:of|is)|dates? (?:back to|from)|dated|from (?:the year )?\d{4}
    date  | made          | year (?:of|is)|dates? (?:back to|from)|dated|from (?:the year )?\d{4}
    date  | built         | year (?:of|is)|dates? (?:back to|from)|dated|from (?:the year )?\d{4}
    date  | erected       | year (?:of|is)|dates? (?:back to|from)|dated|from (?:the year )?\d{4}
    name  | author        | (?:novel|book|story|tale|poem|play|thriller|memoir|guide) by
    name  | author        | wr[io]t\w*|author\w*|novelist|penned|(?:book|novel) by|writing
    name  | translator    | translat\w*|(?:put|rendered|turned) into
    name  | illustrator   | illustrat\w*|drawings|drew|(?:pictures|images) (?:\w+ )?by
    name  | cover artist  | (?:cover|jacket) (?:was |is )?(?:drawn|by|design|paint|art|image)\w*
    name  | narrator      | narrat\w*|read (?:aloud )?by|voice
    name  | setting       | setting|set in|story (?:happens?|takes place)|unfolds
    name  | editor        | edit(?:or|ed)\b
    name  | publisher     | publish\w*|imprint|brought out by
    name  | foreword      | foreword|preface|introduction
    name  | painter       | paint(?:er|ed)|artist|painting by|brush of
    name  | composer      | compos\w*|music by|melod\w*
    name  | director      | direct(?:or|ed)\b
    name  | actor         | starr\w*|actor|actress|plays the part
    name  | designer      | design\w*|invent\w*|behind .{1,40} stands|architect\w*
    name  | architect     | architect\w*|built by|buil(?:d|t)er|plans (?:by|of)|drawn up
    name  | architect     | design\w*
    name  | founder       | found(?:er|ed|ress)\b|set up|goes back to|start(?:ed|er)\b|establish\w*
    name  | owner         | own(?:s|ed|er|ers|ership)?\b|belongs? to|taken over|proprietor|in the hands of
    name  | chef          | chef|cook(?:s|ed|ing)?\b|heads? the kitchen|in the kitchen
    name  | maker         | makers?\b|made by|manufactur\w*|brand|produce[rd]\b
    name  | breeder       | bred|breed\w*
    name  | sitter        | sitter|sat for|model for|portrait of|portray\w*
    name  | spouse        | marr(?:y|ied|iage)|wife|husband|spouse
    name  | teacher       | taught|teacher|pupil|studied under
    name  | sponsor       | sponsor\w*|supported by
    name  | donor         | erected by|put up by|gift of|donat\w*|unveiled by|given by|set up by
    name  | patron        | commission\w*|ordered by
    name  | leader        | headed|mayor|leads?|led by|manage[rds]\w*|chair\w*
    name  | birthplace    | born|birth\w*
    name  | place of death| died|death|passed away
    name  | residence     | liv(?:es|ed)|resid\w*|settled
    name  | grave         | buried|grave|rests in
    name  | headquarters  | headquart\w*|head office|based|main office|its seat|seat of
    name  | headquarters  | (?:is|are) run from|runs .{0,20}business
    name  | factory       | assembl\w*|factory|leaves the|made in|plant in|production|manufactured in
    name  | factory       | rolls? off
    name  | origin        | origin|comes? from|grown|import\w*
    name  | *venue        | venue|takes place|held (?:in|at)
    name  | scene         | depict\w*|shows?|view of|seen|seeing|scene|portray\w*
    name  | *museum       | hangs?|museum|gallery|display\w*|exhibit\w*|collection
    name  | education     | stud(?:y|ied)|universit\w*|degree|educat\w*
    name  | address       | address|stands? at \d+
    name  | series        | series|cycle|volumes? of
    name  | *location     | locat\w*|town|city|village|stands|situat\w*|lies|travel\w* to|pride of
    name  | *location     | is in|found in|find|where
    name  | closed        | closed|shut|except|closing day|does not open|not open|rest day|day off
    thing | colour        | colou?r\w*|comes? in|sold in|available in|finish\w*
    thing | material      | made (?:of|from|with|in)|materials?|consists? of|built (?:of|from)|cast
    thing | technique     | medium|technique|painted|oil|watercolou?r|tempera|canvas
    thing | allergens     | allerg\w*|contains?|traces|ingredients?
    thing | cuisine       | cuisine|cooking|kitchen|dishes|serves?
    thing | language      | languages?|written in|printed in|translated
    thing | genre         | genre|novel|story|thriller|kind of
    thing | profession    | profession|occupation|worked as|living as|job|trade
    thing | studies       | stud(?:y|ied)|degree|subject
    thing | soil          | soil|ground|earth
    thing | use           | used (?:for|as|to)|use|purpose|once
    length| height        | tall(?:er)?|height|high(?:er)?|stands?|rises?|grows?
    length| width         | wide(?:r)?|width|broad(?:er)?|across
    length| length        | long(?:er)?|length
    length| depth         | deep(?:er)?|depth
    length| thickness     | thick\w*
    length| diameter      | diameter
    length| spacing       | apart|spacing|space between|between (?:the )?plants
    length| screen        | screen|diagonal
    length| distance      | distance|away|walk
    thing | colour        | colou?r\w*|comes? in|sold in|available in|finish\w*
    thing | material      | made (?:of|from|with|in)|materials?|consists? of|built (?:of|from)|cast
    thing | technique     | medium|technique|painted|oil|watercolou?r|tempera|canvas
    thing | allergens     | allerg\w*|contains?|traces|ingredients?
    thing | cuisine       | cuisine|cooking|kitchen|dishes|serves?
    thing | language      | languages?|written in|printed in|translated
    thing | genre         | genre|novel|story|thriller|kind of
    thing | profession    | profession|occupation|worked as|living as|job|trade
    thing | studies       | stud(?:y|ied)|degree|subject
    thing | soil          | soil|ground|earth
    thing | use           | used (?:for|as|to)|use|purpose|once
    length| height        | dimensions?|measur\w+|size
    length| width         | dimensions?|measur\w+|size
    length| length        | dimensions?|measur\w+|size
    mass  | weight        | weigh\w*|heavy|heavier|light|lighter|mass|scales|carry
    mass  | sugar         | sugars?|sweet\w*
    mass  | saturates     | saturat\w*
    mass  | fat           | (?<!saturated )fats?\b
    mass  | protein       | proteins?
    mass  | salt          | salt|sodium
    mass  | carbohydrate  | carbohydrates?|carbs
    mass  | fibre         | fib(?:re|er)
    mass  | *net content  | net|contents?|pack(?:et|age)? (?:holds|contains|of)
    mass  | load          | load|bears?|payload
    span  | charging      | (?:re)?charg(?:es?|ed|ing) (?:takes|in|time|fully)|to (?:re)?charge
    span  | charging      | full(?:y charged)? in
    span  | battery       | batter\w*|on (?:a|one|its|each|every) (?:single |full )?charge
    span  | battery       | runtime|running time
    span  | warranty      | warrant\w*|guarant\w*
    span  | shelf life    | shelf|keeps?|stor(?:e|ed|age)|stale|use up|best before|unopened|expir\w*
    span  | playing time  | play(?:s|ed|ing)?|round|game
    span  | preparation   | cook\w*|bak(?:e|ed|ing)|boil\w*|prepar\w*|simmer\w*|oven
    span  | returns       | returns?|returned|bring .{0,30}back|takes? .{0,20}back|refund\w*|exchang\w*
    span  | germination   | germinat\w*|sprout\w*
    span  | delivery      | deliver\w*|arriv\w*|shipp\w*
    span  | *age          | old(?:er)?|(?:minimum )?age[ds]?(?: limit)?|reached|young\w*|at least
    span  | *age          | under|below|admitted|admits
    clock | opening       | open\w*|lets? .{0,20}in|doors|from
    clock | opening       | \d{1,2}(?:[:.]\d\d)?(?: ?[ap]m)?\s?(?:[-–—]|to)\s?\d{1,2}
    clock | closing       | clos\w*|until|till|shuts?
    clock | closing       | \d{1,2}(?:[:.]\d\d)?(?: ?[ap]m)?\s?(?:[-–—]|to)\s?\d{1,2}
    clock | start         | starts?|begins?|beginning|curtain
    clock | last entry    | last (?:entry|admission|orders?)
    money | launch price  | launch\w*|first day|at first|originally|initially|introduc\w*|debut\w*
    money | launch price  | when it (?:came out|appeared)|back then|at release
    money | current price | now|current\w*|today|these days
    money | delivery fee  | deliver\w*|shipping|postage
    money | *price        | tickets?|admission|entrance|entry|to get in
    money | *admission    | tickets?|admission|entrance|entry|to get in
    money | deposit       | deposit|refundable
    money | turnover      | turnover|revenue|sales of|profit\w*
    money | worth         | insured|valued|estimate[ds]?
    money | last sale     | auction\w*|fetched|hammer|sale price|last sale|resold
    money | repair        | repair\w*|spare
    money | *membership   | member\w*|annual|yearly|subscri\w*
    money | *price        | costs?|pric\w+|sells?|sold|pays?|charges?|fee|stock|buy
    count | employees     | employ\w*|staff|work(?:s|ers|force)?\b|gives work|jobs
    count | population    | inhabitants|population|residents|people live|liv(?:e|es|ing)
    count | seats         | seat\w*|guests|tables|sit|capacity|room for
    count | address       | address|stands? at \d+
    count | visitors      | visit\w*|came to see
    count | audience      | audience|spectators
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation and the kind of value it gives; `general` ones yield to any other of their kind."""

    kind: str
    name: str
    general: bool
    pattern: re.Pattern[str]


def _read(row: str) -> Relation:
    kind, name, wording = (part.strip() for part in row.split("|", 2))
    pattern = re.compile(rf"\b(?:{wording})(?!\w)", re.IGNORECASE)
    return Relation(kind, name.removeprefix("*"), name.startswith("*"), pattern)


RELATIONS = tuple(_read(row) for row in _ROWS.strip().splitlines())

GENERAL = frozenset(row.name for row in RELATIONS if row.general)
_OF_WHAT = re.compile(r"\b(?:year|date) (?:of|is)\b|\bdates? from\b", re.IGNORECASE)
_SPAN_START, _SPAN_DASH = re.compile(r"\((?:born )?$"), re.compile(r"\s?[-–—]")
_SPAN_END = re.compile(r"\([^()]{4,}[-–—]\s?$")  # "(1880-1931)"
_BEGINNINGS = frozenset({"born", "founded", "opened", "built", "made", "published"})
_ENDINGS = frozenset({"died", "ended", "built", "made"})
_PIECE = re.compile(r"[,;:(]\s|\s(?:and|but|while|whereas)\s", re.IGNORECASE)


def relations_in(text: str, kinds: Iterable[str]) -> frozenset[str]:
    """Names of the relations of these kinds that the text states; general ones only if no other is."""
    wanted = set(kinds)
    found = [row for row in RELATIONS if row.kind in wanted and row.pattern.search(text)]
    exact = frozenset(row.name for row in found if not row.general)
    return exact or frozenset(row.name for row in found)


def exact_relations_in(text: str, kinds: Iterable[str]) -> frozenset[str]:
    """What a question asks exactly: none where a general relation is asked too, which may be meant.

    "The year of the restoration" asks for the restoration's.
    """
    wanted = set(kinds)
    text = _OF_WHAT.sub(" ", text)
    found = [row for row in RELATIONS if row.kind in wanted and row.pattern.search(text)]
    return frozenset() if any(row.general for row in found) else frozenset(row.name for row in found)


def relations_near(text: str, start: int, end: int, kinds: Iterable[str]) -> frozenset[str]:
    """Those stated in the part of the sentence that holds `text[start:end]`, else in the whole sentence."""
    kinds = tuple(kinds)
    if "date" in kinds and _SPAN_START.search(text[:start]) and _SPAN_DASH.match(text, end):
        return _BEGINNINGS
    if "date" in kinds and _SPAN_END.search(text[:start]) and text[end : end + 1] == ")":
        return _ENDINGS
    left = max((m.end() for m in _PIECE.finditer(text, 0, start + 1) if m.end() <= start), default=0)
    right = next((m.start() for m in _PIECE.finditer(text, end)), len(text))
    return relations_in(text[left:right], kinds) or relations_in(text, kinds)


def wordings(text: str, names: frozenset[str]) -> list[tuple[int, int]]:
    """Where the text says one of the relations."""
    rows = (row for row in RELATIONS if row.name in names)
    return [match.span() for row in rows for match in row.pattern.finditer(text)]
