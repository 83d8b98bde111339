#!/bin/sh
# Ask about a photo with curl, then ask a follow-up in the same conversation.
set -eu
url=${LOREGLASS_GATEWAY_URL:-http://127.0.0.1:7100}
photo=$(dirname "$0")/../../samples/photos/q0007.jpg

reply=$(curl -sf "$url/answer" -F image=@"$photo" -F question="In which year was this game published?")
echo "$reply"
session=$(echo "$reply" | sed -E 's/.*"session_id":"([^"]+)".*/\1/')
curl -sf "$url/answer" -F session_id="$session" -F question="Who designed it?"
