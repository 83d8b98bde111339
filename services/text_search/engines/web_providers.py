"""Search the web through SearXNG, Brave or Tavily: which pages may answer a query."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import anyio
import httpx

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from contracts.addresses import is_source_address
from corpus.values import moment
from services.text_search.engine import Provider

_MOST_BYTES = 4 * 2**20
_MOST_RESULTS = 20
_TITLE_CHARS, _TEXT_CHARS = 300, 2_000


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page that a provider found. `text`: the provider's own excerpt of it, which may be empty."""

    url: str
    title: str
    text: str
    last_modified: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Api:
    """A provider's API: its address, its request for a query, and the names of a result's fields."""

    url: str
    request: Callable[[str, str], Mapping[str, Any]]
    text: str
    date: str
    inside: str = ""


_APIS = {
    # https://docs.searxng.org/dev/search_api.html; `json` must be among the instance's formats.
    Provider.SEARXNG: _Api(
        "",
        lambda query, _: {"method": "GET", "url": "/search", "params": {"q": query, "format": "json"}},
        "content",
        "publishedDate",
    ),
    # https://api-dashboard.search.brave.com/app/documentation/web-search
    Provider.BRAVE: _Api(
        "https://api.search.brave.com",
        lambda query, key: {
            "method": "GET",
            "url": "/res/v1/web/search",
            "params": {"q": query, "count": str(_MOST_RESULTS), "text_decorations": "false"},
            "headers": {"X-Subscription-Token": key},
        },
        "description",
        "page_age",
        inside="web",
    ),
    # https://docs.tavily.com/documentation/api-reference/endpoint/search
    Provider.TAVILY: _Api(
        "https://api.tavily.com",
        lambda query, key: {
            "method": "POST",
            "url": "/search",
            "json": {"query": query, "max_results": _MOST_RESULTS},
            "headers": {"Authorization": f"Bearer {key}"},
        },
        "content",
        "published_date",
    ),
}


class WebProvider:
    """A client of one search API; of one event loop."""

    def __init__(self, provider: Provider, url: str = "", key: str = "") -> None:
        """`url`: another address of the API; SearXNG has none of its own."""
        self._name, self._api, self._key = provider.value, _APIS[provider], key
        base = (url or self._api.url).rstrip("/")
        plain = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._http = httpx.AsyncClient(base_url=base, headers=plain, trust_env=False, timeout=None)

    async def search(self, query: str, seconds: float) -> list[WebResult]:
        """Return the pages for the query, best first.

        Raises `DeadlineExceeded`, `Overloaded` and `DependencyUnavailable`.
        """
        try:
            with anyio.fail_after(seconds):
                request = self._http.build_request(**self._api.request(query, self._key))
                response = await self._http.send(request, stream=True)
                try:
                    return self._results(await self._body(response))
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise DeadlineExceeded(f"{self._name} did not answer in time.") from error
        except httpx.HTTPError as error:
            raise DependencyUnavailable(f"{self._name} cannot be reached.") from error

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _body(self, response: httpx.Response) -> bytes:
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            raise Overloaded(f"{self._name} refuses more searches for now.", retry_after_s=60.0)
        if not response.is_success:
            raise DependencyUnavailable(f"{self._name} answered with status {response.status_code}.")
        body = bytearray()
        async for block in response.aiter_bytes():
            body += block
            if len(body) > _MOST_BYTES:
                raise DependencyUnavailable(f"{self._name} sent more than {_MOST_BYTES >> 20} MiB.")
        return bytes(body)

    def _results(self, body: bytes) -> list[WebResult]:
        try:
            reply = json.loads(body)
            items = (reply[self._api.inside] if self._api.inside else reply)["results"]
            results = [self._result(item) for item in items[:_MOST_RESULTS]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DependencyUnavailable(f"{self._name} sent a reply of another shape.") from error
        return [each for each in results if is_source_address(each.url) and each.url.startswith("http")]

    def _result(self, item: Mapping[str, Any]) -> WebResult:
        text = {name: str(item.get(name) or "") for name in ("url", "title", self._api.text, self._api.date)}
        return WebResult(
            text["url"],
            text["title"][:_TITLE_CHARS],
            text[self._api.text][:_TEXT_CHARS],
            moment(text[self._api.date]),
        )
