// Which conversation the gateway knows this as, and the newest photo that it has of it.

import { remember, remembered } from "./store.js";

export class Conversation {
  constructor() {
    this.held = remembered("conversation", {});
  }

  known() {
    return { session: this.held.session ?? null, photoId: this.held.photoId ?? null };
  }

  /** A turn was answered; one that the gateway could not keep changes nothing. */
  answered(turn, answer) {
    if (answer.degraded.includes("session")) return;
    const photoId = turn.sent.photo ? turn.photoId : this.held.photoId;
    this.held = { session: answer.session_id, photoId };
    remember("conversation", this.held);
  }

  forget() {
    this.held = {};
    remember("conversation", null);
  }
}
