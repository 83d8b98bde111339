"""Write PDF files for tests: texts at places, in Helvetica."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A text at a place in points, from the lower left corner of a page of 600 by 800."""

    x: float
    y: float
    text: str
    size: float = 10
    is_bold: bool = False


def pdf(*pages: Sequence[Text], title: str = "", rotated: bool = False) -> bytes:
    """Return a file with these pages."""
    streams = [_stream(page, rotated) for page in pages]
    box = "800 600" if rotated else "600 800"
    kids = " ".join(f"{6 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]/MediaBox[0 0 {box}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold/Encoding/WinAnsiEncoding>>",
        f"<</Title({title})/ModDate(D:20240501120000+02'00')>>",
    ]
    for number, stream in enumerate(streams):
        fonts = "<</Font<</F1 3 0 R/F2 4 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R/Resources{fonts}/Contents {7 + 2 * number} 0 R>>")
        objects.append(f"<</Length {len(stream)}>>stream\n{stream}\nendstream")
    body, places = "%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{each}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer<</Size {len(objects) + 1}/Root 1 0 R/Info 5 0 R>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode("cp1252")


def _stream(page: Sequence[Text], rotated: bool) -> str:
    def matrix(each: Text) -> str:
        return f"0 -1 1 0 {each.y} {600 - each.x}" if rotated else f"1 0 0 1 {each.x} {each.y}"

    return "\n".join(
        f"BT /F{1 + each.is_bold} {each.size} Tf {matrix(each)} Tm ({each.text}) Tj ET" for each in page
    )
