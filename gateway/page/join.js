// A phone that scanned the code of `loreglass serve --lan` exchanges the token in the address for a key of its own.

import { remember } from "./store.js";
import { refusal } from "./wire.js";

const MARK = "#join=";

/** Keep the key. Resolves to what went wrong, or to "" (also if there is no token). */
export async function join() {
  if (!location.hash.startsWith(MARK)) return "";
  const token = location.hash.slice(MARK.length);
  history.replaceState(null, "", "/"); // neither history nor a bookmark keeps the token
  try {
    const reply = await fetch("/devices/join", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (!reply.ok) throw await refusal(reply);
    remember("key", (await reply.json()).key);
    return "";
  } catch (error) {
    return error.detail || "This phone could not join. Check the network, and scan a new code.";
  }
}
