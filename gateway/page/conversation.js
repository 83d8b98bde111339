// Which conversation the gateway knows this as, and the newest photo that it has of it. All windows have the same one.

import { freshId, remember, remembered } from "./store.js";

export class Conversation {
  held = {}; // where this browser keeps nothing

  /** { session, photoId, generation }: the generation changes whenever a conversation is forgotten. */
  known() {
    this.held = remembered("conversation", this.held);
    return this.held;
  }

  /** How to send a turn: the photo where the gateway's newest is another, and a conversation that has none of its own
   * that the turn is not about. */
  whatToSend(turn) {
    const { session, photoId, generation } = this.known();
    if (!session || (photoId && !turn.photo)) return { session: null, photo: Boolean(turn.photo), generation };
    return { session, photo: Boolean(turn.photo) && photoId !== turn.photoId, generation };
  }

  /** A turn was answered. One that the gateway could not keep, or from before "New conversation", changes nothing. */
  answered({ sent, photoId }, answer) {
    const current = this.known();
    if (answer.degraded.includes("session") || sent.generation !== current.generation) return;
    const newest = sent.photo ? photoId : sent.session && current.photoId;
    this.keep({ session: answer.session_id, photoId: newest, generation: current.generation });
  }

  forget() {
    this.keep({ generation: freshId() });
  }

  keep(held) {
    this.held = held;
    remember("conversation", held);
  }
}
