"""Ask about a photo with OpenAI's client; sources come as `url_citation` annotations."""

import base64
import os
from pathlib import Path

from openai import OpenAI

PHOTO = Path(__file__).parents[2] / "samples" / "photos" / "q0007.jpg"
url = os.environ.get("LOREGLASS_GATEWAY_URL", "http://127.0.0.1:7100")

client = OpenAI(base_url=f"{url}/v1", api_key=os.environ.get("LOREGLASS_API_KEY", "none"))
photo = f"data:image/jpeg;base64,{base64.b64encode(PHOTO.read_bytes()).decode()}"
question = "In which year was this game published?"
reply = client.chat.completions.create(
    model="loreglass",
    messages=[
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": photo}},
                {"type": "text", "text": question},
            ],
        }
    ],
)
message = reply.choices[0].message
print(message.content)
for annotation in message.annotations or []:
    print(f"    from {annotation.url_citation.title}")
