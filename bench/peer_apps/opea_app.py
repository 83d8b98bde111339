"""`python -m bench.peer_apps.opea_app`: OPEA's mega-service over three remote microservices.

Written as its own examples are (GenAIExamples: VisualQnA for the photo in a chat request, ChatQnA for
`align_inputs`). Its orchestrator speaks JSON to every service, so that the photo goes as base64.
"""

from typing import Any
from urllib.parse import urlsplit

from comps import MegaServiceEndpoint, MicroService, ServiceOrchestrator, ServiceRoleType, ServiceType
from comps.cores.mega.utils import handle_message
from comps.cores.proto.api_protocol import (
    ChatCompletionRequest,
    ChatCompletionResponse,
    ChatCompletionResponseChoice,
    ChatMessage,
    UsageInfo,
)
from fastapi import Request

from bench.peer_apps.settings import PORT, SERVICES_URL

_OCR, _SEARCH, _DOMAIN = (f"{name}/MicroService" for name in ("ocr", "image_search", "domain_router"))


def align_inputs(
    self: ServiceOrchestrator, inputs: Any, cur_node: str, *args: Any, **kwargs: Any
) -> dict[str, Any]:
    """Each service's own body, from the request's or from the replies of those before it."""
    if cur_node == _SEARCH:
        return {"images": [inputs["image"]], "k": 5}
    if cur_node == _DOMAIN:
        return {"question": kwargs["question"], "recognized_text": inputs["text"]}
    return {"image": inputs["image"]}


def align_outputs(self: ServiceOrchestrator, data: Any, cur_node: str, *args: Any, **kwargs: Any) -> Any:
    """Return the input of the next service."""
    if cur_node == _OCR:
        return {"text": "\n".join(line["text"] for line in data["lines"])}
    return data


class AnswerService:
    """The gateway. A question without a photo is about the last one that came."""

    def __init__(self) -> None:
        ServiceOrchestrator.align_inputs = align_inputs
        ServiceOrchestrator.align_outputs = align_outputs
        self.megaservice = ServiceOrchestrator()
        self.endpoint = str(MegaServiceEndpoint.VISUAL_QNA)
        self.image = ""

    def add_remote_service(self) -> None:
        """OCR and image search begin at once; the domain router waits for OCR."""
        address = urlsplit(SERVICES_URL)

        def remote(name: str, path: str) -> MicroService:
            return MicroService(
                name=name,
                host=address.hostname,
                port=address.port,
                endpoint=path,
                use_remote_service=True,
                service_type=ServiceType.UNDEFINED,
            )

        ocr, domain = remote("ocr", "/v1/ocr"), remote("domain_router", "/v1/classify")
        search = remote("image_search", "/v1/image-search")
        self.megaservice.add(ocr).add(search).add(domain)
        self.megaservice.flow_to(ocr, domain)

    async def handle_request(self, request: Request) -> ChatCompletionResponse:
        """A chat request, with or without a photo."""
        chat_request = ChatCompletionRequest.parse_obj(await request.json())
        message = handle_message(chat_request.messages)
        if isinstance(message, tuple):
            message, (self.image,) = message
        result_dict, _ = await self.megaservice.schedule(
            initial_inputs={"image": self.image}, question=message
        )
        domain = result_dict[_DOMAIN]["data"][0]["label"]
        entity = result_dict[_SEARCH]["hits"][0]["entity"]
        content = f"{domain}: {entity}: {result_dict[_OCR]['text']}"
        choice = ChatCompletionResponseChoice(
            index=0, message=ChatMessage(role="assistant", content=content), finish_reason="stop"
        )
        return ChatCompletionResponse(model="answer", choices=[choice], usage=UsageInfo())

    def start(self) -> None:
        """Serve."""
        service = MicroService(
            self.__class__.__name__,
            service_role=ServiceRoleType.MEGASERVICE,
            host="127.0.0.1",
            port=PORT,
            endpoint=self.endpoint,
            input_datatype=ChatCompletionRequest,
            output_datatype=ChatCompletionResponse,
        )
        service.add_route(self.endpoint, self.handle_request, methods=["POST"])
        service.start()


if __name__ == "__main__":
    answers = AnswerService()
    answers.add_remote_service()
    answers.start()
