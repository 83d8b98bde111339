"""image_search: which known thing is in the photo. `POST /v1/image-search`, multipart `images`*, `k`."""

from contracts.message import Message, Request


class ImageHit(Message):
    """`score` is the probability that the photo shows the same thing; `image_index` says which upload.

    `cosine`: of the two photos' vectors, which `score` was made from, where the engine compares vectors.
    """

    id: str
    score: float
    entity: str
    attributes: dict[str, str]
    title: str = ""
    url: str = ""
    image_index: int
    inliers: int | None = None
    cosine: float | None = None


class ImageSearchReply(Message):
    """Hits of all uploads fused, one per entity, by falling score."""

    hits: list[ImageHit]
    collection: str


class ImageItem(Request):
    """What is known of one photo to be indexed; `id` is a UUID made from its content."""

    id: str
    entity: str
    attributes: dict[str, str] = {}
    title: str = ""
    url: str = ""


class ImageItems(Request):
    """The `items` part of `PUT /v1/collections/{name}/images`: one per uploaded photo, same order."""

    items: list[ImageItem]
