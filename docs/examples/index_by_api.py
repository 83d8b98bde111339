"""Add a page over HTTP, ask about it, list the pages of its source, and remove it."""

import os

import httpx

ADDRESS = {"address": "file:examples/mill.md"}
PAGE = b"# Aldren Mill\n\nAldren Mill was built in 1784. It is open from April to October."
url = os.environ.get("LOREGLASS_GATEWAY_URL", "http://127.0.0.1:7100")

# With keys, this needs one that `loreglass key new --operator` made.
headers = {"Authorization": f"Bearer {key}"} if (key := os.environ.get("LOREGLASS_API_KEY")) else {}
with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
    documents = "/v1/documents/pages"
    put = client.put(f"{documents}/document", params=ADDRESS, files={"file": ("mill.md", PAGE)})
    print(put.raise_for_status().json()["outcome"])

    answer = (
        client.post("/answer", json={"question": "When was Aldren Mill built?"}).raise_for_status().json()
    )
    print(answer["answer"], [citation["title"] for citation in answer["citations"]])

    listing = client.get(documents, params={"source": "examples"}).raise_for_status().json()
    print([document["name"] for document in listing["documents"]])

    client.delete(f"{documents}/document", params=ADDRESS).raise_for_status()
