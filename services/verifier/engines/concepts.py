"""Words that state the same relation ("tall", "height"; "came out", "published"), one class a line."""

from services.verifier.engines.text import stem

_CLASSES = """
    tall high height elevation rises
    heavy weigh weighs weight mass
    long length lasts duration runtime running plays
    wide width broad
    big large size dimensions measures measurements
    deep depth
    old age aged
    cost costs price priced sells sold pay charge fee
    write wrote written writes author writer penned novelist
    paint painted painter artist painting
    direct directed director film-maker
    compose composed composer
    design designed designer architect
    invent invented inventor
    illustrate illustrated illustrator
    translate translated translator
    publish published publisher publication released release launched launch appeared came introduced
    found founded founder established founding started opened since inception
    build built construction constructed completed erected
    own owns owned owner proprietor belongs belong
    born birth birthplace birthday
    die died death dead
    marry married wife husband spouse
    live lived lives resident residence home
    make made makes maker manufacturer manufactured produced producer brand
    contain contains content ingredients includes
    calorie calories kcal energy
    serve serves cuisine
    people inhabitants population residents
    visit visitors visited
    museum gallery hangs displayed display exhibited
    located location stands situated lies found
    work works worked job occupation profession
    study studied educated education university school
    win won winner prize award awarded
    speed fast
    colour color colours
    flavour flavor taste
    medium technique
    play players player
    happen happened commemorates
    begin begins starts start
    end ends closes close closing shut
    open opens opening
    page pages
    got buy buys bought purchase purchases purchased buyer
    employee employees staff workforce
    warranty guarantee guaranteed warranties
    restore restored restoration renovated renovation
    name named title titled
"""

CONCEPTS: dict[str, int] = {
    stem(word): number for number, line in enumerate(_CLASSES.split("\n")) for word in line.split()
}
"""Stem to class."""


def concept(word_stem: str) -> str:
    """What two stems must share to state the same relation; the stem itself when it has no class."""
    number = CONCEPTS.get(word_stem)
    return word_stem if number is None else f"#{number}"
