// The ring around the button, while a question is on its way.

import { byId } from "./dom.js";

export class Countdown {
  current = null; // { id, at, length }: of which question, until when on performance.now()'s clock, of how many ms

  /** `onLeft(id, ms)` is told ten times a second what is left. */
  constructor(onLeft) {
    this.onLeft = onLeft;
  }

  begin(id, length) {
    this.current = { id, at: performance.now() + length, length };
    this.tick();
  }

  /** The gateway says what is left. */
  correct(ms) {
    if (this.current) this.current.at = performance.now() + ms;
  }

  stop() {
    this.current = null;
  }

  tick() {
    clearTimeout(this.timer);
    document.body.toggleAttribute("data-asking", Boolean(this.current));
    if (!this.current) return;
    const { id, at, length } = this.current;
    const left = Math.max(0, at - performance.now());
    byId("ring").querySelector(".left").style.strokeDashoffset = 1 - left / length;
    this.onLeft(id, left);
    this.timer = setTimeout(() => this.tick(), 100);
  }
}
