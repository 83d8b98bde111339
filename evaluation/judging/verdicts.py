"""Verdicts: what judges return, and where runs keep them.

`<run>/verdicts/<judge>.jsonl` has one JSON line a verdict, so that no judge is asked twice about an answer.
A later line on the same question replaces an earlier one; half a line at the end, of a killed process, is
ignored. Failed judgements are kept, to be counted, and asked for again.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TextIO

from pydantic import BaseModel, ConfigDict, ValidationError

from evaluation.data.model import EvaluationError, Truth
from evaluation.data.progress import counter, in_parallel


class Verdict(StrEnum):
    """CRAG-MM's outcomes, which score 1, 0 and -1; people also say `acceptable`, which scores 0.5."""

    CORRECT = "correct"
    ACCEPTABLE = "acceptable"
    MISSING = "missing"
    INCORRECT = "incorrect"

    @property
    def points(self) -> float:
        """Points that the verdict adds to truthfulness."""
        return _POINTS[self]


_POINTS = {Verdict.CORRECT: 1.0, Verdict.ACCEPTABLE: 0.5, Verdict.MISSING: 0.0, Verdict.INCORRECT: -1.0}
RIGHT = frozenset({Verdict.CORRECT, Verdict.ACCEPTABLE})


@dataclass(frozen=True, slots=True)
class Judgement:
    """`why`: what decided, for whoever reads the results. `failed`: the judge gave no verdict (it timed out,
    or what it wrote could not be read); the verdict is then `incorrect`, as the benchmark has it.
    """

    verdict: Verdict
    why: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged, cut to its length already.

    `abstained`: the system itself says that this is a refusal; `failed`: there was no answer at all.
    """

    interaction_id: str
    question: str
    gold: str
    answer: str
    truth: Truth | None = None
    abstained: bool = False
    failed: bool = False


class Judge(Protocol):
    """Judges whether an answer is right. It raises nothing: an error is a judgement that `failed`."""

    @property
    def name(self) -> str:
        """The name of its stored verdicts: `rules`, `model:<model>`, `human`, `bem`."""
        ...

    async def judge(self, case: Case) -> Judgement:
        """Return the verdict."""
        ...


class Choice(StrEnum):
    """A kind of judge."""

    RULES = "rules"
    MODEL = "model"
    HUMAN = "human"
    BEM = "bem"


HUMAN, BEM = Choice.HUMAN.value, Choice.BEM.value
MODEL = "model:"
"""Prefix of the names of model judges."""
FOLDER = "verdicts"
_GIVE_UP_AFTER = 8


class JudgeError(EvaluationError):
    """The judge cannot be used at all; the message says what to do."""


class JudgeDown(EvaluationError):
    """The judge gave nothing but failures from the start; the message says which."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    interaction_id: str
    verdict: Verdict
    why: str = ""
    failed: bool = False

    @property
    def judgement(self) -> Judgement:
        return Judgement(self.verdict, self.why, self.failed)


def verdict_file(run: Path, judge: str) -> Path:
    """Return the file of a judge's verdicts on a run; the judge's name can have any characters."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", judge).strip("-.")[:80]
    if plain != judge:
        plain += "-" + hashlib.sha256(judge.encode()).hexdigest()[:8]
    return run / FOLDER / f"{plain}.jsonl"


def verdicts_on(path: Path, keys: Mapping[str, str]) -> dict[str, Judgement]:
    """The judgements in the file that are of just these questions, answers and rules: `keys` by interaction
    id. An answer that was cut otherwise, asked for again, or judged by other rules is not judged yet.
    """
    last = {line.interaction_id: line for line in _lines(path)}
    return {
        name: last[name].judgement for name, key in keys.items() if name in last and last[name].key == key
    }


def key_of(case: Case, judge: str, version: str = "") -> str:
    """Return the key of one question to one judge, equal for equal questions and answers in all runs."""
    content = [judge, version, case.question, case.gold, case.answer, case.abstained, case.failed]
    if case.truth is not None:
        content.append(case.truth.model_dump_json(exclude=case.truth.unkeyed))
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class VerdictCache:
    """Verdicts by key, appended to a file as they arrive. Use it as a context.

    `also`: files of other runs to look in. `fresh`: begin the file anew, for judges that cost nothing. A line
    is handed to the system at once, so that it outlives the process.
    """

    def __init__(self, path: Path | None = None, also: Iterable[Path] = (), *, fresh: bool = False) -> None:
        self._path, self._fresh = path, fresh
        own = [] if path is None or fresh else _lines(path)
        self._last = {line.interaction_id: line.key for line in own if not line.failed}
        lines = [*(line for other in also for line in _lines(other)), *own]
        self._known = {line.key: line.judgement for line in lines if not line.failed}
        self._file: TextIO | None = None

    def __enter__(self) -> "VerdictCache":
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            before = b"" if self._fresh or not self._path.exists() else self._path.read_bytes()
            file = self._path.open("w" if self._fresh else "a", encoding="utf-8", newline="\n")
            if before and not before.endswith(b"\n"):
                file.write("\n")
            self._file = file
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def get(self, key: str) -> Judgement | None:
        """Return the verdict if there is one; a failure is not a verdict."""
        return self._known.get(key)

    def put(self, key: str, case: Case, judgement: Judgement) -> None:
        """Store the judgement, unless it is already the latest one of this key."""
        if not judgement.failed:
            self._known[key] = judgement
        if self._file is None or self._last.get(case.interaction_id) == key:
            return
        line = _Line(key=key, interaction_id=case.interaction_id, **asdict(judgement))
        self._file.write(line.model_dump_json() + "\n")
        self._file.flush()
        self._last[case.interaction_id] = "" if judgement.failed else key


async def judge_all(
    cases: Sequence[Case],
    judge: Judge,
    *,
    concurrency: int = 4,
    cache: VerdictCache | None = None,
) -> dict[str, Judgement]:
    """Return the judgement of every case by interaction id, in order. A terminal shows a progress bar.

    Equal cases are asked once. Raises `JudgeDown` when the first judgements all failed: an endpoint that is
    not there is not asked two thousand times.
    """
    cache = cache if cache is not None else VerdictCache()
    judgements: dict[str, Judgement] = {}
    new: list[Judgement] = []
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[key_of(case, judge.name, getattr(judge, "version", ""))].append(case)

    async def ask(alike: tuple[str, list[Case]]) -> None:
        key, same = alike
        judgement = cache.get(key)
        if judgement is None:
            judgement = await judge.judge(same[0])
            new.append(judgement)
            if len(new) >= _GIVE_UP_AFTER and all(each.failed for each in new):
                raise JudgeDown(f"The judge {judge.name} gave no verdict: {judgement.why}.")
        for case in same:
            cache.put(key, case, judgement)
            judgements[case.interaction_id] = judgement
            bar.update()

    with counter("answers", len(cases)) as bar:
        await in_parallel(groups.items(), ask, concurrency)
    return {case.interaction_id: judgements[case.interaction_id] for case in cases}


def _lines(path: Path) -> list[_Line]:
    """Return every complete line in order; invalid verdicts are left out and asked for again."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    lines = []
    for line in text.split("\n"):
        if line.strip():
            try:
                lines.append(_Line.model_validate_json(line))
            except ValidationError:
                continue
    return lines


def counts(judgements: Mapping[str, Judgement]) -> dict[str, int]:
    """Return the number of each verdict, with failures counted separately."""
    names = ("failed" if each.failed else each.verdict.value for each in judgements.values())
    return dict(sorted(Counter(names).items()))


_LABELS = {
    "perfect": Verdict.CORRECT,
    "acceptable": Verdict.ACCEPTABLE,
    "missing": Verdict.MISSING,
    "incorrect": Verdict.INCORRECT,
}
_ID, _LABEL = "interaction_id", "label"


class LabelsError(EvaluationError):
    """The file of labels cannot be read; the message names the line and says why."""


def read_labels(path: Path, interactions: Collection[str]) -> dict[str, Judgement]:
    """Return judgements by interaction id, from CSV with a heading. `interactions`: the run's.

    Raises `LabelsError`, also for a single row that does not fit.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LabelsError(f"{path} cannot be read as text.") from error
    rows = csv.DictReader(io.StringIO(text, newline=""))
    rows.fieldnames = [heading.strip().lower() for heading in rows.fieldnames or ()]
    if not {_ID, _LABEL} <= set(rows.fieldnames):
        raise LabelsError(f"{path.name} needs the columns {_ID} and {_LABEL} in its first line.")
    judgements: dict[str, Judgement] = {}
    try:
        for row in rows:
            name, label = (row[_ID] or "").strip(), (row[_LABEL] or "").strip().lower()
            if label not in _LABELS:
                raise csv.Error(f"{label[:80]!r} is none of {', '.join(_LABELS)}")
            if name not in interactions or name in judgements:
                raise csv.Error(f"{name[:80]!r} was not asked in this run, or has a label already")
            judgements[name] = Judgement(_LABELS[label], f"a person: {label}")
    except csv.Error as error:
        raise LabelsError(f"{path.name}, line {rows.line_num}: {error}.") from error
    return judgements
