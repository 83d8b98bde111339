import { randomUUID } from "node:crypto";
import type { PhotoData } from "@mentra/sdk";
import { type Clock, LATE, within } from "./clock.js";

/** What this app reads of the gateway's `Answer`. */
export interface Answer {
  answer: string;
  reason: string;
  entity: string | null;
  session_id: string;
  advice: string;
  closest?: { title: string; snippet: string; sentence?: string } | null;
  speech: string | null;
}

export interface Question {
  text: string;
  photo: PhotoData | undefined;
  sessionId: string | undefined;
}

/** Told while an answer is worked on. `identified`: what the thing is; that holds whatever the answer comes to. */
export interface Progress {
  identified(sentence: string): void;
  waiting(words: string): void;
}

/** Something that did not work, in words for the wearer. `kind`: of the gateway's problem, where it is one. */
export class Failure extends Error {
  constructor(readonly words: string, readonly kind = "") {
    super(words);
  }
}

/** Worth asking again after some seconds. */
class Passing extends Failure {
  constructor(words: string, readonly waitS: number) {
    super(words);
  }
}

const ATTEMPTS = 3;
const PATIENCE_MS = 30_000; // the gateway's own deadline of 10 s, and a slow upload before it
const LONGEST_WAIT_S = 20;
const NETWORK_WAIT_S = 1;
const MAX_EVENT_CHARS = 1_000_000;

/** `POST /answer` of a Loreglass gateway. `url`: its address, which the wearers' phones can reach too. */
export class Gateway {
  constructor(private readonly url: string, private readonly key: string | undefined, private readonly clock: Clock) {}

  /** Where an answer's sound is; never on another host. */
  soundUrl(speech: string): string {
    return `${this.url}/${speech.replace(/^\/+/, "")}`;
  }

  /**
   * The answer. Asked again under the same idempotency key where the gateway was busy or the network gone, so
   * nothing is answered twice. Rejects with a `Failure`, or with the signal's reason once that is aborted.
   */
  async ask(question: Question, progress: Progress, signal: AbortSignal): Promise<Answer> {
    const idempotencyKey = randomUUID();
    for (let attempt = 1; ; attempt++) {
      const leaving = new AbortController();
      try {
        const exchange = this.exchange(question, idempotencyKey, progress, leaving.signal);
        const answer = await within(this.clock, PATIENCE_MS, exchange, signal);
        if (answer !== LATE) return answer;
        throw new Failure("Loreglass took too long to answer.");
      } catch (error) {
        if (!(error instanceof Passing) || attempt === ATTEMPTS) throw error;
        const wait = error.waitS === 1 ? "a second" : `${error.waitS} seconds`;
        if (error.waitS > LONGEST_WAIT_S) throw new Failure(`${error.words} Ask again in ${wait}.`);
        progress.waiting(`${error.words} I try again in ${wait}.`);
        await within(this.clock, error.waitS * 1000, new Promise<never>(() => {}), signal);
      } finally {
        leaving.abort();
      }
    }
  }

  private async exchange(
    question: Question, idempotencyKey: string, progress: Progress, signal: AbortSignal,
  ): Promise<Answer> {
    const form = new Response(formOf(question)); // as bytes: some proxies keep bodies of unknown length
    const headers = {
      Accept: "text/event-stream",
      "Content-Type": form.headers.get("content-type")!,
      "Idempotency-Key": idempotencyKey,
      ...(this.key === undefined ? {} : { Authorization: `Bearer ${this.key}` }),
    };
    try {
      const body = await form.arrayBuffer();
      const reply = await fetch(`${this.url}/answer`, { method: "POST", headers, body, signal });
      if (!reply.ok) throw await refusal(reply);
      for await (const [name, data] of eventsOf(reply)) {
        if (name === "identified") progress.identified((JSON.parse(data) as { sentence: string }).sentence);
        if (name === "error") throw failureOf(JSON.parse(data));
        if (name === "final") return JSON.parse(data) as Answer;
      }
    } catch (error) {
      if (error instanceof Failure || error instanceof SyntaxError) throw error;
    }
    throw unreachable();
  }
}

function formOf({ text, photo, sessionId }: Question): FormData {
  const form = new FormData();
  form.set("question", text);
  if (sessionId !== undefined) form.set("session_id", sessionId);
  if (photo !== undefined) {
    form.set("image", new Blob([new Uint8Array(photo.buffer)], { type: photo.mimeType }), photo.filename);
  }
  return form;
}

/** Names and data of a stream's events, as this gateway writes them. */
async function* eventsOf(reply: Response): AsyncGenerator<[name: string, data: string]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of reply.body ?? []) {
    const blocks = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n\n");
    rest = blocks.pop()!;
    if (rest.length > MAX_EVENT_CHARS) throw new Failure("Loreglass sent more than I can read.");
    for (const block of blocks) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []; // the rest are comments
      if (name !== undefined && data !== undefined) yield [name, data];
    }
  }
}

function unreachable(): Passing {
  return new Passing("I cannot reach Loreglass over the network.", NETWORK_WAIT_S);
}

function isProblem(reply: Response): boolean {
  return reply.headers.get("content-type")?.startsWith("application/problem+json") ?? false;
}

async function refusal(reply: Response): Promise<Failure> {
  if (reply.status === 401) return new Failure("The key of this app is not accepted by Loreglass.");
  if (reply.status === 503) {
    return new Passing("Loreglass is busy.", Number(reply.headers.get("retry-after")) || NETWORK_WAIT_S);
  }
  if (reply.status === 502 || (reply.status === 504 && !isProblem(reply))) return unreachable(); // a proxy's
  if (isProblem(reply)) return failureOf(await reply.json());
  return new Failure(`What answers at the address of Loreglass is something else: status ${reply.status}.`);
}

function failureOf(problem: unknown): Failure {
  const { type, detail } = problem as { type: string; detail: string };
  return new Failure(`Loreglass cannot answer: ${detail}`, type.split(":").at(-1));
}
