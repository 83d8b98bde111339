"""What a photo's lines say of their thing, by relation."""

from collections.abc import Callable

from gateway.reasoning.extractive.labels import (
    read_age,
    read_author,
    read_brand,
    read_energy,
    read_flavour,
    read_goods,
    read_model,
    read_net_content,
    read_plant,
    read_publisher,
    read_series,
    read_sowing,
    read_title,
    read_variety,
)
from gateway.reasoning.extractive.readings import Read
from gateway.reasoning.extractive.signs import (
    read_address,
    read_birth,
    read_closing_day,
    read_death,
    read_event_date,
    read_honoree,
    read_hours,
    read_performer,
    read_phone,
    read_price,
    read_reason,
    read_start_time,
    read_venue,
)
from gateway.state import PhotoText

Reader = Callable[[PhotoText, str], Read | None]


def read_hop(relation: str, photo_text: PhotoText) -> Read | None:
    """A name on the photo that leads one hop on: its author, maker, venue, performer, the person honoured."""
    if relation not in _HOPS:
        return None
    read = READERS[relation](photo_text, "")
    return read if read is not None and read.sure >= 0.5 else None


_HOPS = frozenset({"author", "publisher", "brand", "manufacturer", "venue", "performer", "honoree", "series"})
READERS: dict[str, Reader] = {
    "title": read_title,
    "author": read_author,
    "publisher": read_publisher,
    "series": read_series,
    "brand": read_brand,
    "manufacturer": read_brand,
    "model": read_model,
    "flavour": read_flavour,
    "weight": read_net_content,
    "volume": read_net_content,
    "energy": read_energy,
    "date": read_event_date,
    "start time": read_start_time,
    "start date": read_event_date,
    "venue": read_venue,
    "performer": read_performer,
    "price": read_price,
    "entry fee": read_price,
    "birth date": read_birth,
    "death date": read_death,
    "honoree": read_honoree,
    "reason for fame": read_reason,
    "opening hours": read_hours,
    "closing day": read_closing_day,
    "address": read_address,
    "phone number": read_phone,
    "age limit": read_age,
    "sowing time": read_sowing,
    "plant": read_plant,
    "variety": read_variety,
    "product type": read_goods,
}
"""By relation; what is not here is looked for with the relation's own cues."""
