"""A gateway's metrics as a scrape sees them."""

from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True, slots=True)
class Scrape:
    """All samples of one moment, by name and labels."""

    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def value(self, name: str, **labels: str) -> float | None:
        """The sample with exactly these labels; None where there is none."""
        return self.samples.get((name, frozenset(labels.items())))

    def total(self, name: str, **labels: str) -> float:
        """The sum over all samples of that name with these labels, among others perhaps."""
        wanted = set(labels.items())
        return sum(value for (each, has), value in self.samples.items() if each == name and wanted <= has)

    def labels(self, name: str, label: str) -> set[str]:
        """The values of one label."""
        return {dict(has)[label] for each, has in self.samples if each == name}


def read(text: str) -> Scrape:
    """The exposition as samples."""
    return Scrape(
        {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }
    )


async def scrape(client: httpx.AsyncClient) -> Scrape:
    """What `client`'s gateway measures now."""
    return read((await client.get("/metrics")).raise_for_status().text)
