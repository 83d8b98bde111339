"""The thresholds file: one version of every cut-off, refused in one sentence when it cannot be used."""

from pathlib import Path

import pytest

from gateway.settings import GatewaySettings
from gateway.thresholds import PACKAGED, Risk, load_thresholds

GIVEN = PACKAGED.read_text("utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "thresholds.toml"
    path.write_text(text, "utf-8")
    return path


def test_the_packaged_file_holds_the_papers_values() -> None:
    thresholds = load_thresholds()
    assert (thresholds.token_min, thresholds.token_mean) == (0.25, 0.50)
    assert thresholds.relevant == pytest.approx(thresholds.tau_coarse * thresholds.tau_fine)
    assert thresholds.version >= 2


def test_a_more_careful_risk_asks_more_of_an_answer() -> None:
    eager, balanced, careful = (
        load_thresholds(risk=risk) for risk in (Risk.EAGER, Risk.BALANCED, Risk.CAREFUL)
    )
    assert balanced == load_thresholds()
    assert eager.answer_confidence < balanced.answer_confidence < careful.answer_confidence
    assert eager.supported < balanced.supported < careful.supported


def test_a_named_risk_and_a_file_are_not_both_taken(tmp_path: Path) -> None:
    mine = written(tmp_path, GIVEN)
    with pytest.raises(ValueError, match="not both"):
        GatewaySettings(risk=Risk.EAGER, thresholds=mine)
    assert GatewaySettings(thresholds=mine).thresholds == mine


def test_a_file_of_ones_own_replaces_all_values(tmp_path: Path) -> None:
    mine = GIVEN.replace("version = 7", "version = 7").replace("decisive = 0.90", "decisive = 1")
    thresholds = load_thresholds(written(tmp_path, mine))
    assert (thresholds.version, thresholds.decisive) == (7, 1.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("decisive = 0.90", "decisive = 0.90\ndecisiv = 0.90"), "decisiv: "),
        (("decisive = 0.90", ""), "decisive: "),
        (("decisive = 0.90", "decisive = 1.5"), "decisive: "),
        (("decisive = 0.90", "decisive = nan"), "decisive: "),
        (("decisive = 0.90", "decisive = -0.1"), "decisive: "),
        (("decisive = 0.90", "decisive = true"), "decisive: "),
        (("decisive = 0.90", 'decisive = "high"'), "decisive: "),
        (("decisive = 0.90", "supported = 0.9"), "supported is given twice"),
        (("version = 7", "version = 0"), "version: "),
        (("version = 7", "version = 2.5"), "version: "),
        (("version = 7", "version = "), "is not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, change: tuple[str, str], sentence: str
) -> None:
    assert change[0] in GIVEN
    with pytest.raises(ValueError, match=r"\.$") as refused:
        load_thresholds(written(tmp_path, GIVEN.replace(*change)))
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.toml"
    for _ in range(2):
        with pytest.raises(ValueError, match=r"thresholds\.toml"):
            load_thresholds(path)
        path.write_bytes(b"\xff\xfe")
