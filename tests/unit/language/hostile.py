"""Texts that slow a careless reader down or crash it."""

_LENGTH = 20_000
_PIECES = (
    "1~123 ~ ~one ~a~A ~1,~1.000~1/~½~1-~5 kg ~1894-~€5~June ~5'1~!?~\"~(~\n~a.b.~'s~é\u0301~\u0301~. ~Mr. "
    "~A-~von ~Of the ~|~aB~¿~東~\x00~\u202e~٣ ~ﬁ~İ"
)
TEXTS = tuple((piece * _LENGTH)[:_LENGTH] for piece in _PIECES.split("~"))
