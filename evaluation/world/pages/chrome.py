"""The HTML around an article: navigation, cookie banner, advertisements, related links, footer."""

from __future__ import annotations

import random
from html import escape

_SECTIONS = ("Home", "News", "Guides", "Reviews", "Archive", "About us", "Contact", "Newsletter")
_ADS = (
    "Save 20% on garden chairs this weekend only!",
    "Your new mattress is waiting. Order now, pay later.",
    "Learn the accordion in thirty days.",
    "Cheap flights to nowhere in particular.",
)
_COOKIES = (
    "We use cookies to improve your experience. Accept all or manage your preferences.",
    "This site stores cookies on your device. By continuing you agree.",
    "Cookies help us deliver our services. Settings | Reject | Accept",
)
_FOOTERS = (
    "© All rights reserved. Imprint. Privacy policy. Terms of use.",
    "Follow us on social media. Subscribe to our newsletter. © The editors.",
    "All content without guarantee. Privacy | Imprint | Cookies",
)


def _navigation(rng: random.Random) -> str:
    items = "".join(
        f'<li><a href="/{escape(name.lower().replace(" ", "-"))}">{name}</a></li>'
        for name in rng.sample(_SECTIONS, 5)
    )
    return f'<nav class="menu"><ul>{items}</ul></nav>'


def _related(titles: list[str]) -> str:
    links = "".join(f'<li><a href="#r{n}">{escape(t)}</a></li>' for n, t in enumerate(titles))
    return f'<aside class="related"><h4>Read next</h4><ul>{links}</ul></aside>'


def dress(title: str, body: str, *, site: str, modified: str, related: list[str], rng: random.Random) -> str:
    """A whole HTML page around the article's inner HTML `body`."""
    tag = rng.choice(("article", "main", "div"))
    opening = f'<{tag} class="article-body">' if tag == "div" else f"<{tag}>"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)} | {escape(site)}</title>\n"
        f'<meta property="article:modified_time" content="{modified}">\n'
        "<style>body{font-family:serif}.ad{color:red}</style>\n"
        "<script>window.dataLayer=[];</script>\n</head>\n<body>\n"
        f'<div id="cookie-banner" class="cookie-banner">{rng.choice(_COOKIES)}</div>\n'
        f"<header>{_navigation(rng)}</header>\n"
        f"{opening}\n<h1>{escape(title)}</h1>\n{body}\n</{tag}>\n"
        f'<div class="ad banner">Advertisement: {rng.choice(_ADS)}</div>\n'
        f"{_related(related)}\n"
        f"<footer><p>{rng.choice(_FOOTERS)}</p></footer>\n</body>\n</html>\n"
    )
