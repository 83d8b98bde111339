"""What reading costs at real size: `python -m services.reader.measure_passages [--preset roberta]`.

Weights are random, so nothing is downloaded; they do not change how long a pass takes. A word of these
passages is one token; 200 tokens are about 150 words of English.
"""

import argparse
import random
import time
from collections.abc import Mapping
from typing import Any

from chassis.accelerator import Accelerator, Placement, open_accelerator
from services.reader.engine import Passage, Query

PRESETS: Mapping[str, Mapping[str, Any]] = {
    # deepset/minilm-uncased-squad2: microsoft/MiniLM-L12-H384-uncased
    "minilm": {
        "vocab_size": 30522,
        "hidden_size": 384,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
        "max_position_embeddings": 512,
    },
    # deepset/roberta-base-squad2
    "roberta": {
        "vocab_size": 50265,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
    },
}
"""The published configs: a BERT's and a RoBERTa's."""

_VOCABULARY = [f"word{number}" for number in range(2_000)]
_QUESTION_TOKENS = 12


def random_reader(config: Mapping[str, Any], accelerator: Accelerator) -> Any:
    """The extractive engine with random weights and a tokenizer of whole words; no token types: a RoBERTa."""
    from transformers import BertConfig, BertForQuestionAnswering, RobertaConfig, RobertaForQuestionAnswering

    from services.reader.engines.extractive import ExtractiveReader
    from services.reader.engines.windows import QuestionAnsweringModel

    typed = config.get("type_vocab_size") != 1
    described: Any = (BertConfig if typed else RobertaConfig)(**config)
    model: Any = (BertForQuestionAnswering if typed else RobertaForQuestionAnswering)(described)
    model = model.to(accelerator.device, accelerator.torch_dtype).eval()
    return ExtractiveReader(QuestionAnsweringModel(model, _word_tokenizer(typed), accelerator, "random"))


def _word_tokenizer(typed: bool) -> Any:
    """[CLS] question [SEP] passage [SEP]; `typed`: with token type ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    numbers = {piece: number for number, piece in enumerate([*marks, *_VOCABULARY])}
    words = Tokenizer(models.WordLevel(numbers, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = ["input_ids", *(["token_type_ids"] if typed else []), "attention_mask"]
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=words, model_input_names=names, model_max_length=512, **special
    )


def seconds_a_call(reader: Any, passages: int, tokens: int, repeats: int) -> tuple[float, float]:
    """The quickest of the calls that read so many passages for one question, and the least CPU time of one.

    A first call is not counted. Whatever else the machine does makes calls slower, and CPU time hardly.
    """
    draw = random.Random(0)
    query = Query(" ".join(draw.choices(_VOCABULARY, k=_QUESTION_TOKENS)))
    read = [Passage(" ".join(draw.choices(_VOCABULARY, k=tokens)) + ".") for _ in range(passages)]
    reader.read(query, read)
    taken, worked = [], []
    for _ in range(repeats):
        started, busy = time.perf_counter(), time.process_time()
        reader.read(query, read)
        taken.append(time.perf_counter() - started)
        worked.append(time.process_time() - busy)
    return min(taken), min(worked)


def main() -> None:
    """Print what each passage of a request takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=PRESETS, default="minilm")
    parser.add_argument("--passages", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--tokens", type=int, default=200, help="of each passage")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()

    import torch

    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    accelerator = open_accelerator(Placement(arguments.device))
    reader = random_reader(PRESETS[arguments.preset], accelerator)
    print(f"{arguments.preset}, {accelerator.device} {accelerator.dtype}, {arguments.threads} threads")  # noqa: T201
    for passages in arguments.passages:
        found = seconds_a_call(reader, passages, arguments.tokens, arguments.repeats)
        taken, worked = (1000 * seconds / passages for seconds in found)
        print(  # noqa: T201
            f"{passages} of {arguments.tokens} tokens: {taken:.0f} ms each, {worked:.0f} ms of the CPU"
        )


if __name__ == "__main__":
    main()
