"""Answers are cut before they are judged."""

from pathlib import Path

import pytest

from evaluation.judging.text import APPROXIMATE, TokenizerError, open_cut


def test_without_a_tokenizer_words_are_cut_nearly_so() -> None:
    cut = open_cut(None)
    assert cut is APPROXIMATE
    assert cut("short") == "short"
    assert cut("well " * 80).split() == ["well"] * 75
    assert "approximation" in cut.name


def small_tokenizer(folder: Path) -> Path:
    """A tokenizer of words that begins every text with a token of its own, as Llama's does."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vocabulary = {"<s>": 0, "?": 1, "well": 2, "no": 3}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<s>"])
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $0", special_tokens=[("<s>", 0)]
    )
    folder.mkdir(exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    return folder


def test_with_one_its_own_first_token_is_among_the_75(tmp_path: Path) -> None:
    folder = small_tokenizer(tmp_path / "llama")
    for path in (folder, folder / "tokenizer.json"):
        cut = open_cut(path)
        assert cut("well " * 80).split() == ["well"] * 74
        assert cut("well <s> no") == "well no"
        assert cut("") == ""
        assert cut.name == "llama/tokenizer.json, 75 tokens"


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_file_that_is_no_tokenizer_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        open_cut(path)
