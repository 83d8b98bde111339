"""The services' engines with models of random weights. Each imports what it needs when it is opened."""

import json
from typing import Any

import numpy as np

from deploy.gpu_stages.building import built
from deploy.gpu_stages.material import LABELS, QUESTION, bert_tokenizer, chat_tokenizer, passage, photo
from deploy.gpu_stages.stages import Bench, Engine, Skipped, Stage

DOMAINS = 13


def open_clip_tower(bench: Bench) -> list[Stage]:
    """image_search's CLIP."""
    try:
        import open_clip
        from safetensors.torch import save_file
    except (ImportError, RuntimeError) as error:  # torchvision of another build raises RuntimeError
        raise Skipped(f"open_clip does not import here: {str(error).splitlines()[0]}") from error
    from services.image_search.engines.clip import ClipEncoder

    described = {"model_cfg": dict(bench.sizes.clip), "preprocess_cfg": {}}
    (bench.folder / "open_clip_config.json").write_text(json.dumps(described), "utf-8")
    made: Any = open_clip.create_model(f"local-dir:{bench.folder}", load_weights=False)
    weights = {name: tensor.contiguous() for name, tensor in made.state_dict().items()}
    save_file(weights, bench.folder / "open_clip_model.safetensors")
    del made, weights
    encoder = ClipEncoder(str(bench.folder), bench.accelerator)
    seen = photo(*bench.sizes.photo)
    view = encoder.views(seen)[0]
    return [
        Stage(
            "image_search: CLIP ViT-L/14-336",
            "view of a photo",
            {1: "8", 8: "24 (3 each)"},
            lambda n: encoder.forward([view] * n),
            lambda: encoder.views(seen),
        )
    ]


def open_bge(bench: Bench) -> list[Stage]:
    """text_search's sentence encoder."""
    from transformers import BertConfig, BertModel

    from services.text_search.engines.bge import BgeModel

    bert_tokenizer(bench.folder)
    built(BertModel, BertConfig(**bench.sizes.bert), bench.accelerator).save_pretrained(bench.folder)
    model = BgeModel(str(bench.folder), bench.accelerator)
    text = passage(bench.sizes.passage)
    (query,), (chunk,) = model.tokenize([QUESTION]), model.tokenize([text])
    return [
        Stage(
            "text_search: bge-large",
            "query",
            {1: "8", 8: ""},
            lambda n: model.forward([query] * n),
            lambda: model.tokenize([QUESTION]),
        ),
        Stage(
            "text_search: bge-large, ingestion",
            f"passage of {bench.sizes.passage} tokens",
            {1: "", 64: ""},
            lambda n: model.forward([chunk] * n),
            lambda: model.tokenize([text]),
        ),
    ]


def open_grounding_dino(bench: Bench) -> list[Stage]:
    """cropper's detector."""
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessorPil,
        SwinConfig,
    )

    from services.cropper.detection.detector import GroundingDinoDetector, Sight

    swin = SwinConfig(**bench.sizes.swin, out_features=["stage2", "stage3", "stage4"])
    text = BertConfig(**bench.sizes.detector_text)
    config = GroundingDinoConfig(backbone_config=swin, text_config=text, **bench.sizes.detector)
    model = built(GroundingDinoForObjectDetection, config, bench.accelerator, "float32")
    shortest, longest = bench.sizes.photo_sides
    images = GroundingDinoImageProcessorPil(size={"shortest_edge": shortest, "longest_edge": longest})
    detector = GroundingDinoDetector(model, images, bert_tokenizer(bench.folder), bench.accelerator)
    seen = photo(*bench.sizes.photo)
    (prompt,) = detector.prompts.write(LABELS, len(LABELS))
    sight = Sight(detector.prepare(seen), prompt.token_ids)
    return [
        Stage(
            "cropper: Grounding-DINO-T",
            f"photo with {len(LABELS)} labels",
            {1: "40–100", 2: "", 4: ""},
            lambda n: detector.forward([sight] * n),
            lambda: detector.prepare(seen),
        )
    ]


def open_qformer(bench: Bench) -> list[Stage]:
    """domain_router's feature and head, and the reranker's coarse stage, on one BLIP-2."""
    from transformers import Blip2Config, Blip2ForImageTextRetrieval, BlipImageProcessorPil

    from chassis.models.qformer import QFormer

    vision, small = dict(bench.sizes.vision), dict(bench.sizes.qformer)
    text = {
        "model_type": "opt",
        "num_hidden_layers": 1,
    }  # the class has no language model; its config has one
    config = Blip2Config(
        vision_config=vision,
        qformer_config={**small, "use_qformer_text_input": True},
        text_config=text,
        **bench.sizes.blip2,
    )
    model = built(Blip2ForImageTextRetrieval, config, bench.accelerator)
    side = vision["image_size"]
    images = BlipImageProcessorPil(size={"height": side, "width": side})
    qformer = QFormer(model, images, bert_tokenizer(bench.folder), bench.accelerator)
    return [_domain_stage(qformer, bench), _coarse_stage(qformer, bench)]


def _domain_stage(qformer: Any, bench: Bench) -> Stage:
    from services.domain_router.engines.blip2 import pooled
    from services.domain_router.engines.domain_head import DomainHead

    size = qformer.hidden_size
    head = DomainHead(
        weight=np.ones((DOMAINS, size), np.float32),
        bias=np.zeros(DOMAINS, np.float32),
        temperature=1.0,
        labels=tuple(map(str, range(DOMAINS))),
        base_model="",
        witness=np.zeros(size, np.float32),
    )
    asked = (QUESTION, photo(*bench.sizes.photo))

    def work(count: int) -> object:
        states = qformer.encode_questions([asked] * count)
        return head.probabilities(np.stack([pooled(each) for each in states]))

    name = "domain_router: BLIP-2 Q-Former, ViT-g"
    return Stage(
        name, "question and photo, the photo's preparation included", {1: "12 (GPU alone)", 4: ""}, work
    )


def _coarse_stage(qformer: Any, bench: Bench) -> Stage:
    asked = photo(*bench.sizes.photo)
    texts = [passage(bench.sizes.passage, seed) for seed in range(100)]

    def work(count: int) -> object:
        return qformer.photo_vectors([asked]), qformer.text_vectors(texts[:count])

    return Stage(
        "reranker: Q-Former, coarse",
        f"chunk of {bench.sizes.passage} tokens; one photo each time",
        {1: "", 100: "20 (GPU alone)"},
        work,
    )


def open_qwen3(bench: Bench) -> list[Stage]:
    """The reranker's fine stage."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from services.reranker.engines.qwen3 import Qwen3Reranker

    model = built(Qwen3ForCausalLM, Qwen3Config(**bench.sizes.qwen3), bench.accelerator)
    judge = Qwen3Reranker(model, chat_tokenizer(), bench.accelerator)
    pairs = [(QUESTION, passage(bench.sizes.passage, seed)) for seed in range(100)]
    return [
        Stage(
            "reranker: Qwen3-Reranker-0.6B, fine",
            f"chunk of {bench.sizes.passage} tokens, the prompt around it not counted",
            {1: "", 30: "40", 100: "125"},
            lambda n: judge.score(pairs[:n]),
        )
    ]


def open_reader(bench: Bench) -> list[Stage]:
    """The reader's two presets."""
    from transformers import BertConfig, BertForQuestionAnswering, RobertaConfig, RobertaForQuestionAnswering

    sizes, tokenizer = bench.sizes, bert_tokenizer(bench.folder)
    minilm = built(BertForQuestionAnswering, BertConfig(**sizes.minilm), bench.accelerator)
    stages = [_reader_stage("MiniLM-L12", minilm, tokenizer, bench)]
    untyped = bert_tokenizer(bench.folder)
    untyped.model_input_names = ["input_ids", "attention_mask"]
    roberta = built(RobertaForQuestionAnswering, RobertaConfig(**sizes.roberta), bench.accelerator)
    return [*stages, _reader_stage("RoBERTa-base", roberta, untyped, bench)]


def _reader_stage(name: str, model: Any, tokenizer: Any, bench: Bench) -> Stage:
    from services.reader.engines.windows import QuestionAnsweringModel

    reading = QuestionAnsweringModel(model, tokenizer, bench.accelerator, name)
    text = passage(bench.sizes.passage)
    (window,) = reading.windows(QUESTION, [text])
    return Stage(
        f"reader: {name}",
        f"passage of {bench.sizes.passage} tokens and a question",
        {1: "", 16: "", 64: ""},
        lambda n: reading.forward([window] * n),
        lambda: reading.windows(QUESTION, [text]),
    )


SERVICE_ENGINES = (
    Engine("clip", open_clip_tower),
    Engine("bge", open_bge),
    Engine("grounding_dino", open_grounding_dino),
    Engine("qformer", open_qformer),
    Engine("qwen3", open_qwen3),
    Engine("reader", open_reader),
)
