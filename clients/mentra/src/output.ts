import type { AppSession, AudioPlayResult } from "@mentra/sdk";
import { createDisplayToolkit, G1_PROFILE } from "@mentra/sdk/display-utils";
import { type Clock, LATE, within } from "./clock.js";

const MS_PER_WORD = 350; // of a slow reader, and of a slow voice
const LEAST_MS = 3_000;
const MAX_SPOKEN_CHARS = 800; // Mentra's voice takes its text in an address
const { helpers } = createDisplayToolkit(G1_PROFILE, { breakMode: "word" });

const timeFor = (text: string): number => Math.max(LEAST_MS, text.split(/\s+/).length * MS_PER_WORD);

/** The display, if there is one: a text at a time, in pages that turn by themselves. */
export class Screen {
  private cancel = () => {};

  constructor(private readonly session: AppSession, private readonly clock: Clock) {}

  get exists(): boolean {
    return this.session.capabilities?.hasDisplay ?? true; // not told: shown, it does no harm
  }

  /** `title`: shown above a text of one page. */
  show(text: string, title?: string | null): void {
    this.clear();
    if (!this.exists) return;
    const pages = helpers.paginate(text).map((page) => page.lines.join("\n"));
    const { layouts } = this.session;
    if (pages.length !== 1 || !title) this.turn(pages);
    else layouts.showReferenceCard(title, text, { durationMs: 2 * timeFor(text) });
  }

  /** No page turns any more. */
  clear(): void {
    this.cancel();
  }

  private turn([page, ...rest]: string[]): void {
    if (page === undefined) return;
    const ms = timeFor(page);
    const { layouts } = this.session;
    layouts.showTextWall(page, rest.length === 0 ? { durationMs: 2 * ms } : {});
    if (rest.length > 0) this.cancel = this.clock.after(ms, () => this.turn(rest));
  }
}

/** The ear: one text after the other. */
export class Voice {
  private last: Promise<void> = Promise.resolve();
  private saying = new AbortController();
  private texts: string[] = [];

  constructor(private readonly session: AppSession, private readonly clock: Clock) {}

  /** What was said since the last `stop`. */
  get said(): string {
    return this.texts.join(" ");
  }

  /** After what was said before. `sound`: its address; where that cannot be played, Mentra's voice says the text. */
  say(text: string, sound?: string): void {
    const { signal } = this.saying;
    this.texts.push(text);
    this.last = this.last
      .then(() => this.one(text, sound, signal))
      .catch((error: unknown) => {
        if (!signal.aborted) this.session.logger.warn({ error: String(error) }, "An answer was not spoken");
      });
  }

  /** At once; what was to follow is not said either. */
  stop(): void {
    if (this.texts.length > 0) this.session.audio.stopAudio();
    this.saying.abort();
    this.saying = new AbortController();
    this.texts = [];
  }

  private async one(text: string, sound: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { audio } = this.session;
    if (sound !== undefined && (await this.played(audio.playAudio({ audioUrl: sound }), text, signal))) return;
    if (!(await this.played(audio.speak(shortened(text)), text, signal))) throw new Error("the glasses refused");
  }

  /** Whether it was; what is not confirmed in the time that it takes is taken for played. */
  private async played(playing: Promise<AudioPlayResult>, text: string, signal: AbortSignal): Promise<boolean> {
    const result = await within(this.clock, LEAST_MS + timeFor(text), playing, signal);
    return result === LATE || result.success;
  }
}

/** Whole sentences of it, as many as fit. */
function shortened(text: string): string {
  if (text.length <= MAX_SPOKEN_CHARS) return text;
  const start = text.slice(0, MAX_SPOKEN_CHARS);
  const end = start.search(/[.!?] [^.!?]*$/);
  return end < 0 ? start : start.slice(0, end + 1);
}
