"""Pages with general rules that some questions have to be reasoned from."""

from __future__ import annotations

RULE_PAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Liquids in your carry-on bag",
        (
            "At the security check each container of liquid in your carry-on may hold at most 100 ml. "
            "What counts is the size printed on the container, not how much is left in it.",
            "Larger containers of drinks, gels or creams must go into the checked suitcase. Baby food is "
            "exempt, and so is medicine with a prescription.",
        ),
    ),
    (
        "Power banks on board",
        (
            "Spare batteries and power banks travel in the cabin, never in the hold. Up to 100 Wh per power "
            "bank no permission is needed.",
            "Between 100 Wh and 160 Wh the airline has to agree before you fly. Anything above that stays "
            "at home. Tape over the contacts so that nothing can short-circuit.",
        ),
    ),
    (
        "How warranty periods are counted",
        (
            "A warranty starts on the day of purchase and ends on the same calendar day after the stated "
            "number of years. Keep the receipt, because without it the maker may refuse.",
            "Repairs under warranty do not start the period again.",
        ),
    ),
    (
        "Children at public events",
        (
            "Where an event states a minimum age, younger visitors are not let in even when their parents "
            "are with them. Staff may ask for a document with a photograph.",
        ),
    ),
)
