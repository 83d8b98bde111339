// One question over HTTP: the form, the stream of events, and what can go wrong with either.

const FIRST_BYTE_MS = 60_000; // a photo goes up slowly where the network is bad
const SILENCE_MS = 16_000; // three heartbeats of the gateway

/** The gateway's refusal. `retryAfter`: seconds it asks to wait, or null; `status`: 0 for a broken stream. */
export class Refused extends Error {
  constructor({ kind, detail = "", status = 0, retryAfter = null }) {
    super(detail || kind);
    Object.assign(this, { kind, detail, status, retryAfter });
  }
}

/** Nothing came, or nothing that a gateway says (a hotel's page that wants a room number, for one). */
export class NetworkFailed extends Error {}

/** Ask, and have `on(event, data)` called with each event before the last. Resolves to the answer.
 *
 * Throws `Refused` and `NetworkFailed`; the latter, too, when `signal` says stop.
 */
export async function ask({ form, idempotencyKey, apiKey, signal, on }) {
  const watch = new Watch(signal);
  const failed = ({ message }) => {
    throw new NetworkFailed(message);
  };
  try {
    watch.within(FIRST_BYTE_MS);
    const reply = await fetch("/answer", {
      method: "POST",
      body: form,
      headers: {
        Accept: "text/event-stream",
        "Idempotency-Key": idempotencyKey,
        ...(apiKey && { Authorization: `Bearer ${apiKey}` }),
      },
      signal: watch.signal,
    }).catch(failed);
    if (!reply.ok) throw await refusal(reply);
    if (!reply.headers.get("content-type")?.startsWith("text/event-stream")) return await reply.json().catch(failed);
    const stream = events(reply.body, () => watch.within(SILENCE_MS));
    for (;;) {
      const { value, done } = await stream.next().catch(failed);
      if (done) throw new NetworkFailed("the stream ended before the answer");
      const [event, data] = value;
      if (event === "final") return data;
      if (event === "error") throw new Refused(problem(data));
      on(event, data);
    }
  } finally {
    watch.stop();
  }
}

/** Aborts on the caller's signal, or when nothing came for too long. */
class Watch {
  constructor(signal) {
    this.controller = new AbortController();
    this.signal = this.controller.signal;
    signal?.addEventListener("abort", () => this.controller.abort());
  }

  within(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.controller.abort(), ms);
  }

  stop() {
    clearTimeout(this.timer);
  }
}

/** The message of an error reply. */
export async function refusal(reply) {
  const retryAfter = Number(reply.headers.get("retry-after")) || null;
  const body = await reply.json().catch(() => ({}));
  return new Refused({ ...problem(body), status: reply.status, retryAfter });
}

function problem({ type = "", detail = "", status = 0 }) {
  return { kind: type.split(":").pop() || "internal", detail, status };
}

/** The events of a stream as [name, data]; comments are heartbeats, of which only `alive` hears. */
export async function* events(body, alive = () => {}) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    held += value;
    const blocks = held.split("\n\n");
    held = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: ?(.*)/s, 2)));
      if (fields.data) yield [fields.event, JSON.parse(fields.data)];
    }
  }
}
