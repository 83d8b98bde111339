import { randomUUID } from "node:crypto";
import type { PhotoData } from "@mentra/sdk";
import { type Clock, LATE, pause, within } from "./clock.js";
import { Failure } from "./failure.js";

/** What this app reads of the gateway's `Answer`. */
export interface Answer {
  answer: string;
  abstained: boolean;
  reason: string;
  entity: string | null;
  session_id: string;
  advice: string;
  speech: string | null;
}

export interface Identified {
  entity: string;
  sentence: string;
}

interface Problem {
  type: string;
  detail: string;
}

export interface Question {
  text: string;
  photo: PhotoData | undefined;
  sessionId: string | undefined;
}

/** Told while an answer is worked on. */
export interface Progress {
  identified(event: Identified): void;
  waiting(words: string): void;
}

interface SentEvent {
  name: string;
  data: string;
}

const ATTEMPTS = 3;
const PATIENCE_MS = 30_000; // the gateway's own deadline of 10 s, and a slow upload before it
const LONGEST_WAIT_S = 20;
const NETWORK_WAIT_S = 1;
const MAX_STREAM_CHARS = 1_000_000;

/** Worth asking again, under the same key, after some seconds. */
class Passing extends Failure {
  constructor(
    words: string,
    readonly waitS: number,
  ) {
    super(words);
  }
}

/** `POST /answer` of a Loreglass gateway. `url`: its address, which the wearers' phones can reach too. */
export class Gateway {
  private readonly url: string;

  constructor(
    url: string,
    private readonly key: string | undefined,
    private readonly clock: Clock,
  ) {
    this.url = url.replace(/\/+$/, "");
  }

  /** Where an answer's sound is; never on another host. */
  soundUrl(speech: string): string {
    return `${this.url}/${speech.replace(/^\/+/, "")}`;
  }

  /**
   * The answer. Asked again under the same idempotency key where the gateway was busy or the network gone, so
   * nothing is answered twice. Raises `Failure`, or the signal's reason once that is aborted.
   */
  async ask(question: Question, progress: Progress, signal: AbortSignal): Promise<Answer> {
    const idempotencyKey = randomUUID();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.once(question, idempotencyKey, progress, signal);
      } catch (error) {
        if (!(error instanceof Passing) || attempt === ATTEMPTS) throw error;
        if (error.waitS > LONGEST_WAIT_S) {
          throw new Failure(`${error.words} Ask again in ${inSeconds(error.waitS)}.`);
        }
        progress.waiting(`${error.words} I try again in ${inSeconds(error.waitS)}.`);
        await pause(this.clock, error.waitS * 1000, signal);
      }
    }
  }

  private async once(
    question: Question,
    idempotencyKey: string,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<Answer> {
    const leaving = new AbortController();
    try {
      const exchange = this.exchange(question, idempotencyKey, progress, leaving.signal);
      const answer = await within(this.clock, PATIENCE_MS, exchange, signal);
      if (answer === LATE) throw new Failure("Loreglass took too long to answer.");
      return answer;
    } finally {
      leaving.abort(); // the gateway stops working on what nobody waits for
    }
  }

  private async exchange(
    question: Question,
    idempotencyKey: string,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<Answer> {
    try {
      const form = new Response(formOf(question)); // as bytes: some proxies keep bodies of unknown length
      const reply = await fetch(`${this.url}/answer`, {
        method: "POST",
        headers: {
          "Content-Type": form.headers.get("content-type")!,
          Accept: "text/event-stream",
          "Idempotency-Key": idempotencyKey,
          ...(this.key === undefined ? {} : { Authorization: `Bearer ${this.key}` }),
        },
        body: await form.arrayBuffer(),
        signal,
      });
      if (!reply.ok) throw await refusal(reply);
      for await (const { name, data } of eventsOf(reply)) {
        if (signal.aborted) break;
        if (name === "identified") progress.identified(JSON.parse(data) as Identified);
        if (name === "error") throw failureOf(JSON.parse(data) as Problem);
        if (name === "final") return JSON.parse(data) as Answer;
      }
    } catch (error) {
      if (error instanceof Failure || error instanceof SyntaxError) throw error;
      throw new Passing("I cannot reach Loreglass over the network.", NETWORK_WAIT_S);
    }
    throw new Passing("The connection to Loreglass broke.", NETWORK_WAIT_S);
  }
}

function formOf(question: Question): FormData {
  const form = new FormData();
  form.set("question", question.text);
  if (question.sessionId !== undefined) form.set("session_id", question.sessionId);
  if (question.photo !== undefined) {
    const { buffer, mimeType, filename } = question.photo;
    form.set("image", new Blob([new Uint8Array(buffer)], { type: mimeType }), filename);
  }
  return form;
}

/** The events of a stream (https://html.spec.whatwg.org/#server-sent-events), as this gateway writes them. */
async function* eventsOf(reply: Response): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of reply.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop()!;
    if (rest.length > MAX_STREAM_CHARS) throw new Failure("Loreglass sent more than I can read.");
    for (const block of blocks) {
      const [, name] = /^event: (.*)$/m.exec(block) ?? [];
      const [, data] = /^data: (.*)$/m.exec(block) ?? [];
      if (name !== undefined && data !== undefined) yield { name, data };
    }
  }
}

async function refusal(reply: Response): Promise<Failure> {
  if (reply.status === 401) return new Failure("The key of this app is not accepted by Loreglass.");
  if (reply.status === 503) {
    return new Passing("Loreglass is busy.", Number(reply.headers.get("retry-after")) || NETWORK_WAIT_S);
  }
  if (!(reply.headers.get("content-type") ?? "").startsWith("application/problem+json")) {
    return new Failure(`What answers at the address of Loreglass is something else: status ${reply.status}.`);
  }
  return failureOf((await reply.json()) as Problem);
}

function failureOf(problem: Problem): Failure {
  return new Failure(`Loreglass cannot answer: ${problem.detail}`, problem.type.split(":").at(-1));
}

const inSeconds = (seconds: number): string => (seconds === 1 ? "a second" : `${seconds} seconds`);
