"""Formulas as a line of text: "8 1/2", "10⁷", "√16". They are MathML, or Office's math (OMML)."""

from collections.abc import Sequence

from lxml.etree import _Element

SUPERSCRIPTS = str.maketrans("0123456789-−+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁺")
_RAISABLE = frozenset("0123456789-−+")
_NOT_SHOWN = frozenset(
    {"annotation", "annotation-xml", "mphantom", "rPr", "ctrlPr", "fPr", "radPr", "sSupPr"}
)
_PARTS = {
    "mfrac": "fraction", "f": "fraction", "msup": "raised", "sSup": "raised", "mover": "base",
    "munder": "base", "msubsup": "both", "sSubSup": "both", "msqrt": "root", "mroot": "root of",
    "rad": "office root", "d": "brackets", "mtr": "row", "mtd": "row",
}  # fmt: skip


def formula_text(element: _Element) -> str:
    """Return what the formula shows. A formula is at most as deep as libxml2 lets a tree be (256)."""
    name = _name(element)
    parts = [formula_text(each) for each in element if _name(each) not in _NOT_SHOWN]
    match _PARTS.get(name), parts:
        case "fraction", [above, below]:
            return f" {_group(above)}/{_group(below)}"
        case "raised", [base, power]:
            return base + superscript(power)
        case "both", [base, below, power]:
            return base + below + superscript(power)
        case "base", [base, *_]:
            return base
        case "root of", [base, degree]:
            return f"{superscript(degree)}√{_group(base)}"
        case "office root", [*degree, base]:
            return f"{superscript(''.join(degree)) if any(degree) else ''}√{_group(base)}"
        case "root", _:
            return f"√{_group(_join(element, parts))}"
        case "brackets", _:
            return f"({_join(element, parts)})"
        case "row", _:
            return f"{_join(element, parts)} "
    return _join(element, parts)


def superscript(power: str) -> str:
    """Return an exponent as it stands behind its base: "⁷", "^n", "^(n+1)"."""
    bare = "".join(power.split())
    if bare and _RAISABLE.issuperset(bare):
        return bare.translate(SUPERSCRIPTS)
    return f"^{_group(bare)}" if bare else ""


def _join(element: _Element, parts: Sequence[str]) -> str:
    return "".join([(element.text or "").strip(), *parts]) if parts else (element.text or "").strip()


def _group(text: str) -> str:
    bare = text.strip()
    return bare if bare.replace(".", "").replace(",", "").isalnum() else f"({bare})"


def _name(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]
