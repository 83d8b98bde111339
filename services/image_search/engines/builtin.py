"""Finds known things by local features: VLAD proposes, geometry verifies, a calibration says how sure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import structlog

from chassis.errors import NotSupported
from chassis.models.cancellation import has_time, until_cancelled, work_in_threads
from chassis.rgb import RGB, probe_picture
from chassis.vectors.port import KEYWORDS, CollectionSchema, ScoredPoint, StoredPoint, VectorStore
from services.image_search.engine import RESERVE_MS, Floats, KnownThing, ThingSeen, replace_photos, thing_at
from services.image_search.engines.classical.calibration import Claim, load, settle
from services.image_search.engines.classical.features import (
    DamagedFeatures,
    DescribeOptions,
    FeatureFolder,
    LocalFeatures,
    content_key,
    describe,
)
from services.image_search.engines.classical.verification import Evidence, QueryFeatures, glance, verify
from services.image_search.engines.classical.vlad import FEWEST_KEYPOINTS

VECTOR = "vlad"

log = structlog.get_logger()


_PER_PART, _GLANCES, _VERIFICATIONS = 8, 20, 6
"""Neighbours of each part of the photo; how many of them are compared quickly, and how many in full."""
_BEYOND_DOUBT, _RIVAL_SHARE = 0.9, 0.15
"""Once a match is this probable, only candidates with this share of the best glance are verified."""
_LONG_SHOTS = 3
"""Candidates that are verified although their glance shows nothing."""
_WORTH_TELLING = 0.05
_AT_ONCE = 2
"""Photos of one call that are searched side by side."""


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A nearby thing with its features; `glance`: how many of the strongest keypoints match."""

    point: ScoredPoint
    features: LocalFeatures
    glance: int


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A candidate with the evidence for it."""

    point: ScoredPoint
    evidence: Evidence
    probability: float


class BuiltinImageSearch:
    """`ImageIndex` without a network, on RootSIFT, VLAD and MAGSAC."""

    name = "rootsift-vlad"

    def __init__(
        self,
        store: VectorStore,
        features_folder: Path,
        options: DescribeOptions | None = None,
    ) -> None:
        """`features_folder` keeps the local features of indexed photos, also where `store` is remote."""
        self.store = store
        self._folder = FeatureFolder(features_folder)
        self._options = options or DescribeOptions()
        self._artefact = load()
        self.schema = CollectionSchema(dense={VECTOR: self._artefact.vlad.size}, keywords=KEYWORDS)

    def search(self, photos: Sequence[RGB], limit: int, collection: str) -> list[ThingSeen]:
        self.store.require(collection, self.schema, whole=False)
        best: dict[str, ThingSeen] = {}
        for each in self._search_photos(photos, collection):
            earlier = best.get(each.entity)
            if earlier is None or each.probability > earlier.probability:
                best[each.entity] = each
        return sorted(best.values(), key=lambda each: -each.probability)[:limit]

    def _search_photos(self, photos: Sequence[RGB], collection: str) -> list[ThingSeen]:
        """Return the hits of each photo. Without time, only the first photo is searched."""

        def look(index: int) -> list[ThingSeen]:
            if index and not has_time(RESERVE_MS):
                return []
            return self._search_photo(photos[index], index, collection)

        results = work_in_threads(look, range(len(photos)), _AT_ONCE)
        return [each for photo in results for each in photo]

    def search_texts(self, texts: Sequence[str], limit: int, collection: str) -> list[ThingSeen]:
        """See the protocol: local features know no words."""
        raise NotSupported("The built-in engine searches by photos only.")

    def index(self, collection: str, things: Sequence[KnownThing]) -> dict[str, str]:
        self.store.require(collection, self.schema)
        rejected = {}
        points = []
        for thing in until_cancelled(things):
            key = content_key(thing.photo, self._options)
            features = self._features_of(key, thing.photo)
            if len(features) < FEWEST_KEYPOINTS:
                rejected[thing.id] = "The photo shows too little detail to be recognised."
                continue
            vector = self._artefact.vlad.encode(QueryFeatures.of(features).vectors)
            points.append(
                StoredPoint(thing.id, {VECTOR: vector.tolist()}, {**thing.payload, "features": key})
            )
        replace_photos(self.store, collection, points)
        return rejected

    def embed(self, photos: Sequence[RGB]) -> Floats:
        rows = [
            self._artefact.vlad.encode(QueryFeatures.of(describe(photo, self._options)).vectors)
            for photo in until_cancelled(photos)
        ]
        return np.stack(rows) if rows else np.zeros((0, self._artefact.vlad.size), np.float32)

    def probe(self) -> None:
        """Describe and encode a drawn pattern, and reach the store."""
        self.embed([probe_picture()])
        self.store.collections()

    def _features_of(self, key: str, photo: RGB) -> LocalFeatures:
        if self._folder.holds(key):
            return self._folder.read(key)
        features = describe(photo, self._options)
        self._folder.write(key, features)
        return features

    def _search_photo(self, photo: RGB, index: int, collection: str) -> list[ThingSeen]:
        query = QueryFeatures.of(describe(photo, self._options))
        candidates = self._candidates(collection, query)
        promising = self._glance(query, candidates)
        verdicts = self._verify(query, promising)
        claims = [
            Claim(
                str(verdict.point.payload["entity"]),
                verdict.probability,
                verdict.evidence.coherent,
                verdict.evidence.query_box,
            )
            for verdict in verdicts
        ]
        settled = settle(claims, self._artefact.calibration.rivalry)
        return [
            thing_at(verdict.point, probability, index, inliers=verdict.evidence.inliers)
            for verdict, probability in zip(verdicts, settled, strict=True)
            if probability >= _WORTH_TELLING
        ]

    def _candidates(self, collection: str, query: QueryFeatures) -> list[ScoredPoint]:
        """The nearest things of the photo and of its parts, by their best similarity.

        Of several records of one picture and one thing the first by id is compared, and no other.
        """
        best: dict[tuple[str, str], ScoredPoint] = {}
        for part in self._artefact.vlad.encode_parts(query.features, query.vectors):
            hits = self.store.search(collection, VECTOR, part.tolist(), _PER_PART)
            for hit in hits:
                shown = str(hit.payload["features"]), str(hit.payload["entity"])
                earlier = best.get(shown)
                if earlier is None or (-hit.score, hit.id) < (-earlier.score, earlier.id):
                    best[shown] = hit
        ranked = sorted(best.values(), key=lambda hit: -hit.score)
        return ranked[:_GLANCES]

    def _glance(self, query: QueryFeatures, points: Sequence[ScoredPoint]) -> list[_Candidate]:
        """The points that can be verified, by how many of the strongest keypoints match coherently."""
        candidates = []
        for point in points:
            if not has_time(RESERVE_MS):
                break
            features = self._features(point)
            if features is not None:
                candidates.append(_Candidate(point, features, glance(query, features)))
        return sorted(candidates, key=lambda candidate: -candidate.glance)

    def _features(self, candidate: ScoredPoint) -> LocalFeatures | None:
        """Without its features a thing cannot be verified, so it is not claimed; others still can be."""
        try:
            return self._folder.read(str(candidate.payload["features"]))
        except (FileNotFoundError, DamagedFeatures):
            log.warning("features_lost", id=candidate.id)
            return None

    def _verify(self, query: QueryFeatures, candidates: Sequence[_Candidate]) -> list[_Verdict]:
        verdicts: list[_Verdict] = []
        for place, candidate in enumerate(candidates[:_VERIFICATIONS]):
            is_worth_it = self._worth_verifying(place, candidate, candidates[0], verdicts)
            if not is_worth_it or not has_time(RESERVE_MS):
                break
            evidence = verify(query, candidate.features)
            probability = self._artefact.calibration.probability(evidence)
            verdicts.append(_Verdict(candidate.point, evidence, probability))
        return verdicts

    def _worth_verifying(
        self, place: int, candidate: _Candidate, best: _Candidate, verdicts: Sequence[_Verdict]
    ) -> bool:
        if any(verdict.probability >= _BEYOND_DOUBT for verdict in verdicts):
            return candidate.glance >= max(1.0, _RIVAL_SHARE * best.glance)
        return candidate.glance > 0 or place < _LONG_SHOTS
