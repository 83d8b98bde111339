/** Time, as something that tests can turn. */
export interface Clock {
  /** Milliseconds; only differences mean something. */
  now(): number;
  /** Calls `then` once after `ms`, unless the function that it returns is called first. */
  after(ms: number, then: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, then) => {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

export const LATE = Symbol("late");

/** What `work` comes to, or `LATE` after `ms`. Rejects with the signal's reason once that is aborted. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>, signal: AbortSignal): Promise<T | typeof LATE> {
  return new Promise((resolve, reject) => {
    const leave = () => end(() => reject(signal.reason));
    const cancel = clock.after(ms, () => end(() => resolve(LATE)));
    const end = (settle: () => void) => {
      cancel();
      signal.removeEventListener("abort", leave);
      settle();
    };
    signal.addEventListener("abort", leave);
    work.then((value) => end(() => resolve(value)), (error) => end(() => reject(error)));
    if (signal.aborted) leave();
  });
}
