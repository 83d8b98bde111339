// JavaScript client of a Loreglass gateway, for browsers and Node 18 or later. One file, no dependencies.
// Types are in loreglass.d.ts. Replies are the gateway's JSON, with its names.

const GRACE_MS = 5_000; // the gateway keeps the deadline; this is for the reply's way back
const MOST_BYTES = 64 * 2 ** 20; // of a reply
const BUSY = new Set([429, 503]);
const OF_PROXIES = new Set([502, 503, 504]);
const TYPE = "urn:loreglass:problem:";
const RETRIES = { most: 4, firstMs: 250, longestMs: 8_000 };

/** A refusal of the gateway, or a failure on the way (`unreachable`, `broken_reply`, `deadline_exceeded`). */
export class LoreglassError extends Error {
  constructor(kind, detail, { status = null, traceId = null, retryAfterMs = null } = {}) {
    super(detail);
    this.name = "LoreglassError";
    Object.assign(this, { kind, detail, status, traceId, retryAfterMs });
  }
}

export class Loreglass {
  /** `fetch`, `sleep` and `random` can be replaced, for tests. */
  constructor(baseUrl = "http://127.0.0.1:7100", options = {}) {
    const { key = "", timeoutMs = 65_000, retries = {}, ...own } = options;
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.headers = key ? { Authorization: `Bearer ${key}` } : {};
    this.timeoutMs = timeoutMs;
    this.retries = { ...RETRIES, ...retries };
    this.fetch = own.fetch ?? ((...given) => fetch(...given));
    this.sleep = own.sleep ?? ((ms) => new Promise((done) => setTimeout(done, ms)));
    this.random = own.random ?? Math.random;
  }

  /** Answer a question about `photo`, or about the session's photo. */
  async ask(question, photo = null, options = {}) {
    return this.#answer("application/json", question, photo, options).json();
  }

  /** As `ask`, but yields `{ event, data }` as they happen; the last event is `final` with the answer. */
  async *stream(question, photo = null, options = {}) {
    yield* this.#answer("text/event-stream", question, photo, options).events();
  }

  /** Start a conversation; its first question sends the photo. */
  conversation(photo = null) {
    return new Conversation(this, photo);
  }

  /** Delete a conversation with its photo. No error if it is already gone. */
  async forget(sessionId) {
    try {
      await this.#call("DELETE", `/sessions/${encodeURIComponent(sessionId)}`).bytes();
    } catch (error) {
      if (error.kind !== "session_not_found") throw error;
    }
  }

  /** The sound of an answer, for a short time after it. */
  async speech(answer) {
    if (!answer.speech) throw new LoreglassError("not_configured", "This answer has no sound.");
    if (!answer.speech.startsWith("/")) throw new LoreglassError("broken_reply", "The sound is at another site.");
    return this.#call("GET", answer.speech).bytes();
  }

  /** What happened to one request, stage by stage. */
  trace(traceId) {
    return this.#call("GET", `/traces/${encodeURIComponent(traceId)}`).json();
  }

  /** The names of the pipelines, the default first. */
  async pipelines() {
    return (await this.#call("GET", "/v1/models").json()).data.map(({ id }) => id);
  }

  /** The gateway's health checks. Throws `not_ready` if it cannot work. */
  ready() {
    return this.#call("GET", "/health/ready").json();
  }

  /** Passages of indexed pages that fit best, from a platform of `loreglass serve`. */
  async search(query, limit = 5) {
    return (await this.#call("GET", `/v1/search?${new URLSearchParams({ q: query, limit })}`).json()).passages;
  }

  /** Facts of indexed things by name, from a platform of `loreglass serve`. */
  async lookUp(name, limit = 5) {
    return (await this.#call("GET", `/v1/things?${new URLSearchParams({ name, limit })}`).json()).things;
  }

  #answer(accept, question, photo, options) {
    const { audio, sessionId, deadlineMs, pipeline, memory, idempotencyKey = randomKey(), signal } = options;
    const fields = given({ question, session_id: sessionId, deadline_ms: deadlineMs, pipeline, memory });
    const headers = { Accept: accept, "Idempotency-Key": idempotencyKey };
    const files = Object.entries(given({ image: photo, audio }));
    let body = JSON.stringify(fields);
    if (files.length) {
      body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.append(name, name === "memory" ? JSON.stringify(value) : value);
      for (const [name, bytes] of files) body.append(name, bytes instanceof Blob ? bytes : new Blob([bytes]), name);
    } else {
      headers["Content-Type"] = "application/json";
    }
    return this.#call("POST", "/answer", { headers, body, deadlineMs, signal });
  }

  #call(method, path, { headers = {}, ...rest } = {}) {
    return new Call(this, method, path, { headers: { ...this.headers, ...headers }, ...rest });
  }
}

/** A conversation. `sessionId`: the gateway's id, null before the first answer. */
export class Conversation {
  constructor(client, photo) {
    Object.assign(this, { client, photo, sessionId: null });
  }

  /** Answer the next question. `photo`: a new one, from now on. */
  async ask(question, photo = null, options = {}) {
    this.photo = photo ?? this.photo;
    return this.#update(await this.client.ask(question, this.photo, { sessionId: this.sessionId, ...options }));
  }

  /** As `ask`, but yields events as they happen. */
  async *stream(question, photo = null, options = {}) {
    this.photo = photo ?? this.photo;
    for await (const each of this.client.stream(question, this.photo, { sessionId: this.sessionId, ...options })) {
      if (each.event === "final") this.#update(each.data);
      yield each;
    }
  }

  /** Delete it at the gateway. It may go on, as a new one. */
  async forget() {
    if (this.sessionId) await this.client.forget(this.sessionId);
    this.sessionId = null;
  }

  #update(answer) {
    if (!answer.degraded.includes("session")) {
      this.sessionId = answer.session_id;
      this.photo = null; // the gateway remembers it
    }
    return answer;
  }
}

/** One call: the same request at every attempt. */
class Call {
  constructor(client, method, path, { headers, body, deadlineMs, signal }) {
    Object.assign(this, { client, method, path, headers, body, signal, tried: 0 });
    const patienceMs = Math.min(Math.max(deadlineMs ?? Infinity, 0), client.timeoutMs);
    this.graceMs = deadlineMs == null ? 0 : Math.min(GRACE_MS, client.timeoutMs - patienceMs);
    this.due = performance.now() + patienceMs;
  }

  get leftMs() {
    return Math.max(0, this.due + this.graceMs - performance.now());
  }

  async bytes() {
    for (;;) {
      try {
        const pieces = [];
        for await (const piece of this.#arriving()) pieces.push(piece);
        return new Uint8Array(await new Blob(pieces).arrayBuffer());
      } catch (error) {
        await this.#pause(error);
      }
    }
  }

  async json() {
    return parsed(new TextDecoder().decode(await this.bytes()));
  }

  /** Retries before the first event only. */
  async *events() {
    for (let begun = false; ; ) {
      try {
        for await (const [event, data] of frames(this.#arriving())) {
          begun = true;
          if (event === "error") throw problemOf(200, data, null);
          yield { event, data: parsed(data) };
          if (event === "final") return;
        }
        throw new LoreglassError("unreachable", "The gateway broke off before the answer.");
      } catch (error) {
        if (begun) throw error;
        await this.#pause(error);
      }
    }
  }

  /** The body of a successful reply, in pieces. */
  async *#arriving() {
    const { client, signal } = this;
    const stop = new AbortController();
    const abort = () => stop.abort();
    let late = false;
    const timer = setTimeout(() => ((late = true), abort()), this.leftMs);
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    try {
      const deadlineMs = this.leftMs - (this.tried ? this.graceMs : 0); // a retry has only the rest of the time
      const headers = { ...this.headers, "X-Deadline-Ms": String(Math.ceil(Math.max(deadlineMs, 1))) };
      const options = { method: this.method, headers, body: this.body, signal: stop.signal };
      const reply = await client.fetch(client.baseUrl + this.path, options);
      const body = reply.body ? pieces(reply) : [];
      if (!reply.ok) throw await refusal(reply, body);
      yield* body;
    } catch (error) {
      if (error instanceof LoreglassError) throw error;
      if (signal?.aborted) throw signal.reason;
      if (late) throw new LoreglassError("deadline_exceeded", "The gateway did not answer in time.");
      throw new LoreglassError("unreachable", `No Loreglass server at ${client.baseUrl}, or the connection broke off.`);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      abort(); // nobody reads the rest
    }
  }

  /** Wait for the next attempt. Throws `error` if there is none. */
  async #pause(error) {
    const { most, firstMs, longestMs } = this.client.retries;
    const afterMs = BUSY.has(error.status) ? error.retryAfterMs : null;
    if (this.tried >= most || !(error.kind === "unreachable" || afterMs !== null)) throw error;
    const pauseMs = afterMs ?? this.client.random() * Math.min(longestMs, firstMs * 2 ** this.tried);
    if (pauseMs >= this.leftMs - this.graceMs) throw error;
    await this.client.sleep(pauseMs);
    this.tried += 1;
  }
}

async function* pieces(reply) {
  const reader = reply.body.getReader(); // Safari's streams cannot be iterated over
  for (let read = 0; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    read += value.byteLength;
    if (read > MOST_BYTES) throw new LoreglassError("broken_reply", "The reply is too large.", { status: reply.status });
    yield value;
  }
}

/** Server-sent events as [name, data]. */
async function* frames(body) {
  const decoder = new TextDecoder();
  let rest = "";
  let [event, data] = ["message", []];
  for await (const piece of body) {
    const text = decoder.decode(piece, { stream: true });
    rest += text;
    if (!text.includes("\n")) continue;
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines.map((each) => each.replace(/\r$/, ""))) {
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (field === "event") event = value;
      else if (field === "data") data.push(value);
      else if (!line) {
        if (data.length) yield [event, data.join("\n")];
        [event, data] = ["message", []];
      }
    }
  }
}

async function refusal(reply, body) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body) text += decoder.decode(piece, { stream: true });
  return problemOf(reply.status, text, retryAfterMs(reply.headers));
}

function problemOf(status, text, retryAfter) {
  let problem = null;
  try {
    problem = JSON.parse(text);
  } catch {
    // a proxy's page is no problem of the gateway
  }
  if (typeof problem?.type !== "string") {
    const kind = OF_PROXIES.has(status) ? "unreachable" : "broken_reply";
    return new LoreglassError(kind, `The gateway answered with status ${status}.`, { status, retryAfterMs: retryAfter });
  }
  const more = { status: problem.status, traceId: problem.trace_id ?? null, retryAfterMs: retryAfter };
  return new LoreglassError(problem.type.replace(TYPE, ""), problem.detail, more);
}

/** `Retry-After` in milliseconds; a date counts by the server's own clock. */
function retryAfterMs(headers) {
  const text = headers.get("retry-after") ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  const now = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(at) ? null : Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new LoreglassError("broken_reply", "The gateway sent a reply that breaks its contract.");
  }
}

const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));

/** `crypto.randomUUID` is missing on pages without HTTPS. */
const randomKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, "0")).join("");
