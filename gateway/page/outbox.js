// Sends the waiting turns, one after the other and each until it is answered. A key goes with each, under which the
// gateway answers once: whatever was lost on the way may be sent again.

import { consent } from "./memory.js";
import { ask, NetworkFailed, Refused } from "./wire.js";
import { freshId } from "./store.js";

const LONGEST_PAUSE_S = 60;
const MOST_REFUSALS = 8; // of one turn, that promise to pass; the network may fail for ever
const PASSING = new Set([429, 502, 503, 504]);

export class Outbox {
  /** `on`: what is told of a turn's way: begun, event, answered, failed, delayed, cancelled, keyNeeded. All windows are
   * told, whichever sends. */
  constructor(store, { apiKey, conversation, on }) {
    Object.assign(this, { store, apiKey, conversation, on });
    this.running = null;
    this.wanted = false; // somebody called while it was at it
    this.sending = null;
    this.cancelled = new Set();
    this.wakeUp = () => {};
    this.others = window.BroadcastChannel && new BroadcastChannel("loreglass-outbox");
    this.others?.addEventListener("message", ({ data: [name, ...told] }) => this.hear(name, ...told));
  }

  /** Tell the page, here and in other windows. A page that fails at that does not stop what is on its way. */
  tell(name, ...told) {
    this.others?.postMessage([name, ...told]);
    this.hear(name, ...told);
  }

  hear(name, ...told) {
    try {
      if (name === "wake") this.work();
      else if (name === "cancelled") this.drop(...told);
      this.on[name]?.(...told);
    } catch (error) {
      reportError(error);
    }
  }

  /** Begin to send, or stop pausing: there is a new turn, a network, a key, or somebody who looks. */
  wake() {
    this.tell("wake"); // it may be another window that pauses
  }

  work() {
    this.wakeUp();
    this.wanted = true;
    this.running ??= this.run();
  }

  async run() {
    try {
      while (this.wanted) await this.alone(() => this.drain());
    } finally {
      this.running = null;
    }
  }

  /** Two windows share a store; one of them sends. */
  alone(work) {
    return navigator.locks ? navigator.locks.request("loreglass-outbox", work) : work();
  }

  /** Forget a turn that is not answered yet, wherever it is on its way. */
  async cancel({ id }) {
    this.tell("cancelled", { id });
    await this.store.remove(id);
    this.wakeUp();
  }

  drop({ id }) {
    this.cancelled.add(id);
    if (this.sending?.id === id) this.sending.abort.abort();
  }

  async drain() {
    let fails = 0;
    for (;;) {
      this.wanted = false;
      const turn = (await this.store.all()).find(({ id, status }) => status === "waiting" && !this.cancelled.has(id));
      if (!turn) return;
      const again = await this.attempt(turn);
      fails = again ? fails + 1 : 0;
      if (again && !this.wanted) await this.pause(turn, again, fails);
    }
  }

  /** Send a turn once. Null when it is settled, else why it must be tried again. */
  async attempt(turn) {
    const abort = new AbortController();
    this.sending = { id: turn.id, abort };
    try {
      turn.sent ??= this.conversation.whatToSend(turn);
      await this.keep(turn);
      this.tell("begun", turn);
      const answer = await ask({
        form: formOf(turn),
        idempotencyKey: turn.key,
        apiKey: this.apiKey(),
        signal: abort.signal,
        on: (event, data) => this.tell("event", turn, event, data),
      });
      await this.keep(Object.assign(turn, { status: "done", answer }));
      this.conversation.answered(turn, answer);
      this.tell("answered", turn);
      return null;
    } catch (error) {
      if (abort.signal.aborted) return null; // it was cancelled
      if (error instanceof Refused) return await this.refused(turn, error);
      if (error instanceof NetworkFailed) return { kind: "offline" };
      reportError(error);
      return await this.fail(turn, { kind: "internal", detail: "" });
    } finally {
      this.sending = null;
    }
  }

  async refused(turn, error) {
    if (error.kind === "unauthorized") {
      this.tell("keyNeeded");
      return { kind: error.kind, until: "woken" };
    }
    if (error.kind === "session_not_found") {
      this.conversation.forget(); // it has expired: ask anew, photo included
      await this.keep(Object.assign(turn, { key: freshId(), sent: null }));
      return null;
    }
    turn.refusals = (turn.refusals ?? 0) + 1;
    if (PASSING.has(error.status) && turn.refusals < MOST_REFUSALS) return error;
    return await this.fail(turn, { kind: error.kind, detail: error.detail });
  }

  async fail(turn, problem) {
    await this.keep(Object.assign(turn, { status: "failed", problem }));
    this.tell("failed", turn);
    return null;
  }

  /** Write a turn down, unless it was cancelled meanwhile. */
  async keep(turn) {
    if (!this.cancelled.has(turn.id)) await this.store.put(turn);
  }

  async pause(turn, why, fails) {
    const backoff = Math.min(LONGEST_PAUSE_S, 2 ** (fails - 1)) * (0.75 + Math.random() / 2);
    const wait = Math.max(why.retryAfter ?? 0, backoff);
    const { kind, detail, until } = why;
    this.tell("delayed", turn, { kind, detail, until }, wait);
    await new Promise((resolve) => {
      this.wakeUp = resolve;
      if (why.until !== "woken") setTimeout(resolve, wait * 1000);
    });
    this.wakeUp = () => {};
  }
}

function formOf(turn) {
  const form = new FormData();
  if (turn.question) form.append("question", turn.question);
  if (turn.audio) form.append("audio", turn.audio, "question.wav");
  if (turn.sent.session) form.append("session_id", turn.sent.session);
  const memory = consent();
  if (memory) form.append("memory", JSON.stringify(memory));
  if (turn.sent.photo) form.append("image", turn.photo, "photo.jpg");
  return form;
}
