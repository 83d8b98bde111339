/** JavaScript client of a Loreglass gateway. Replies are the gateway's JSON, with its names. */

/** Bytes of a photo or a sound. */
export type Source = Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer>;

/** An answer may have reasons that this version does not know. */
export type Reason =
  | "answered" | "model_unsure" | "unsupported" | "no_evidence" | "timed_out" | "overloaded" | "unavailable"
  | "nothing_indexed" | "language" | "needs_photo" | "not_heard" | "not_remembered" | "low_confidence"
  | (string & {});

/** Where a part of an answer is from; `snippet` is verbatim, or a fact: `Doge's Palace, begun: 1340.` */
export interface Citation {
  title: string;
  url: string;
  snippet: string;
  score: number;
  /** Of the page, if that is known. */
  last_modified: string | null;
  kind: "photo" | "image" | "page" | "web" | "memory" | (string & {});
  /** Of `closest`: the sentence or two of the passage that come closest. */
  sentence: string;
}

/** A region of the photo, in 0..1 of its width and height. */
export interface LookedAt {
  kind: "crop" | "text" | (string & {});
  left: number;
  top: number;
  right: number;
  bottom: number;
  text: string;
  /** Whether the answer's `entity` was found there. */
  shows_entity: boolean;
}

/** The answer, or an honest refusal (`abstained`). With `session` in `degraded` the turn was not stored. */
export interface Answer {
  answer: string;
  abstained: boolean;
  reason: Reason;
  confidence: number | null;
  route: "direct" | "verify" | "rag" | (string & {});
  domain: string | null;
  entity: string | null;
  citations: Citation[];
  degraded: string[];
  timings_ms: Record<string, number>;
  trace_id: string;
  session_id: string;
  model_usage: { calls: number; prompt_tokens: number; completion_tokens: number };
  looked_at: LookedAt[];
  advice: string;
  transcript: string | null;
  speech: string | null;
  verification: "none" | "verified" | "unverified" | (string & {});
  closest: Citation | null;
}

/** An event of a stream; the last one is `final`. Ignore events that you do not know. */
export type StreamEvent =
  | { event: "stage"; data: { stage: string; state: string; ms: number; left_ms: number } }
  | { event: "transcript"; data: { text: string } }
  | { event: "identified"; data: { entity: string; sentence: string } }
  | { event: "citation"; data: Citation }
  | { event: "token"; data: { text: string } }
  | { event: "final"; data: Answer };

export interface AskOptions {
  /** The question as sound, instead of words. */
  audio?: Source | null;
  /** Continue a conversation. */
  sessionId?: string | null;
  /** How long to wait, retries included; the reply may take 5 s more to arrive. */
  deadlineMs?: number | null;
  pipeline?: string | null;
  /** Remember what the photo shows. `id`: 32 random letters and digits, your own secret. */
  memory?: { id: string; place?: string; utc_offset_min?: number } | null;
  /** Questions with the same key are answered once; by default each call makes its own. */
  idempotencyKey?: string;
  /** Stops waiting; the call throws the signal's reason. */
  signal?: AbortSignal;
}

export interface ClientOptions {
  /** If the gateway requires one. */
  key?: string;
  /** The longest time for a call with all its retries. */
  timeoutMs?: number;
  retries?: { most?: number; firstMs?: number; longestMs?: number };
  fetch?: typeof fetch;
  sleep?: (ms: number) => Promise<void>;
  random?: () => number;
}

export interface StageTrace {
  stage: string;
  state: string;
  start_ms: number;
  ms: number;
  detail: string;
}

export interface Trace {
  trace_id: string;
  pipeline: string;
  route: string | null;
  reason: Reason | null;
  deadline_ms: number;
  total_ms: number;
  stages: StageTrace[];
  refused_by: string | null;
}

export interface Passage {
  title: string;
  url: string;
  text: string;
}

export interface Thing {
  name: string;
  url: string;
  facts: Record<string, string>;
}

export class LoreglassError extends Error {
  /** A stable word: `overloaded`, `session_not_found`, `unreachable`, … */
  readonly kind: string;
  /** What to fix. */
  readonly detail: string;
  /** HTTP's; null without a reply. */
  readonly status: number | null;
  /** For the gateway's operator. */
  readonly traceId: string | null;
  readonly retryAfterMs: number | null;
}

export class Loreglass {
  constructor(baseUrl?: string, options?: ClientOptions);
  ask(question?: string | null, photo?: Source | null, options?: AskOptions): Promise<Answer>;
  stream(question?: string | null, photo?: Source | null, options?: AskOptions): AsyncGenerator<StreamEvent, void, void>;
  conversation(photo?: Source | null): Conversation;
  forget(sessionId: string): Promise<void>;
  speech(answer: Answer): Promise<Uint8Array>;
  trace(traceId: string): Promise<Trace>;
  pipelines(): Promise<string[]>;
  ready(): Promise<{ status: string; checks: Record<string, string> }>;
  search(query: string, limit?: number): Promise<Passage[]>;
  lookUp(name: string, limit?: number): Promise<Thing[]>;
}

export class Conversation {
  private constructor();
  /** The gateway's id, null before the first answer. */
  readonly sessionId: string | null;
  ask(question?: string | null, photo?: Source | null, options?: AskOptions): Promise<Answer>;
  stream(question?: string | null, photo?: Source | null, options?: AskOptions): AsyncGenerator<StreamEvent, void, void>;
  forget(): Promise<void>;
}
