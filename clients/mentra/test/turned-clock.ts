import type { Clock } from "../src/clock.js";

/** A clock that stands still until it is turned. */
export class TurnedClock implements Clock {
  private time = 0;
  private readonly timers = new Set<{ at: number; then: () => void }>();

  now(): number {
    return this.time;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { at: this.time + ms, then };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  get waiting(): number {
    return this.timers.size;
  }

  /** What is due in the next `ms` happens, in order. */
  turn(ms: number): void {
    const until = this.time + ms;
    for (;;) {
      const due = [...this.timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.timers.delete(due);
      this.time = due.at;
      due.then();
    }
    this.time = until;
  }
}
