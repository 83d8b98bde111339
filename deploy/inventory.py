"""Every app to run, with its facts for images, manifests and Prometheus."""

from dataclasses import dataclass
from importlib import import_module

from fastapi import FastAPI

from chassis.settings import AppSettings
from gateway.settings import GatewaySettings
from services.cropper.settings import CropperSettings
from services.domain_router.settings import DomainRouterSettings
from services.image_search.settings import ImageSearchSettings
from services.ocr.settings import OcrSettings
from services.reader.settings import ReaderSettings
from services.reranker.settings import RerankerSettings
from services.text_search.settings import TextSearchSettings
from services.verifier.settings import VerifierSettings


@dataclass(frozen=True, slots=True)
class App:
    """One app. `cuda_group`: the dependency group of its GPU engine, empty where it has none."""

    name: str
    settings: type[AppSettings]
    cuda_group: str = ""
    keeps_data: bool = False

    @property
    def module(self) -> str:
        """`python -m` this."""
        return self.name if self.name == "gateway" else f"services.{self.name}"

    def create(self, settings: AppSettings) -> FastAPI:
        """Return it with these settings. Its engine is opened when it starts."""
        created: FastAPI = import_module(f"{self.module}.app").create_app(settings)
        return created

    @property
    def host(self) -> str:
        """Return its name on a network, in images and in manifests: DNS has no underscores."""
        return self.name.replace("_", "-")

    @property
    def port(self) -> int:
        return int(self.settings.model_fields["port"].default)

    @property
    def prefix(self) -> str:
        return str(self.settings.model_config["env_prefix"])


APPS = (
    App("gateway", GatewaySettings),
    App("domain_router", DomainRouterSettings, "domain-router-blip2"),
    App("cropper", CropperSettings, "cropper-grounding-dino"),
    App("image_search", ImageSearchSettings, "image-search-clip", keeps_data=True),
    App("text_search", TextSearchSettings, "text-search-bge", keeps_data=True),
    App("reranker", RerankerSettings, "reranker-cascade"),
    App("verifier", VerifierSettings),
    App("ocr", OcrSettings),
    App("reader", ReaderSettings, "reader-extractive"),
)
VLM_HOST, VLM_PORT = "vlm", 8000
"""vLLM, in its own image."""
