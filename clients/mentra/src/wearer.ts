import type { AppSession, PhotoData } from "@mentra/sdk";
import type { Clock } from "./clock.js";
import { type Answer, Failure, type Gateway } from "./gateway.js";
import { type Order, isEcho, isQuestion, orderOf, wantsPhoto, wantsText } from "./meaning.js";
import { Screen, Voice } from "./output.js";
import { takePhoto } from "./photo.js";

const FOLLOW_UP_MS = 120_000; // after this long a question is about something new, whatever its words
const MAX_QUESTION_CHARS = 500;
const MAX_REMEMBERED_CHARS = 4_000;
const MAX_CLOSEST_CHARS = 160;

/** One wearer's conversation: what was heard goes in, what is shown and said comes out. */
export class Wearer {
  private readonly screen: Screen;
  private readonly voice: Voice;
  private quiet = false;
  private sent = false; // whether a question is with the gateway
  private asking = new AbortController();
  private sessionId: string | undefined;
  private last: { at: number; words: string } | undefined;

  constructor(private readonly session: AppSession, private readonly gateway: Gateway, private readonly clock: Clock) {
    this.screen = new Screen(session, clock);
    this.voice = new Voice(session, clock);
  }

  /** A whole utterance. A new question takes the place of the one that is being answered. */
  hear(said: string): void {
    const text = said.trim().slice(0, MAX_QUESTION_CHARS);
    const order = orderOf(text);
    if (order !== undefined) this.obey(order);
    else if (isQuestion(text) && !isEcho(text, this.voice.said)) void this.answer(text, this.interrupt());
  }

  /** Says what the wearer must know and did not ask for. */
  tell(words: string): void {
    this.screen.show(words);
    if (!this.quiet) this.voice.say(words);
  }

  /** Nothing is asked, shown or said any more. */
  close(): void {
    this.asking.abort();
    this.voice.stop();
    this.screen.clear();
  }

  private obey(order: Order): void {
    if (order === "stop") {
      this.interrupt();
      this.screen.show("Stopped.");
    } else if (order === "speak") {
      this.quiet = false;
      this.tell("I speak again.");
    } else if (this.screen.exists) {
      this.quiet = true;
      this.voice.stop();
      this.screen.show("Quiet. Answers are shown only.");
    } else {
      this.tell("These glasses have no display, so I can only speak.");
    }
  }

  /** Ends what goes on. The signal: of what comes next. */
  private interrupt(): AbortSignal {
    if (this.sent) this.forget(); // the gateway goes on with it, and would keep its photo in this session
    this.asking.abort();
    this.voice.stop();
    this.screen.clear();
    this.sent = false;
    this.asking = new AbortController();
    return this.asking.signal;
  }

  private async answer(text: string, signal: AbortSignal): Promise<void> {
    try {
      if (this.last !== undefined && this.clock.now() - this.last.at > FOLLOW_UP_MS) this.forget();
      const answer = await this.askWithPhotoIfMeant(text, signal);
      this.sessionId = answer.session_id;
      const words = [text, answer.answer, answer.entity ?? ""].join(" ").slice(0, MAX_REMEMBERED_CHARS);
      this.last = { at: this.clock.now(), words };
      this.deliver(answer);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Failure)) this.session.logger.error({ error: String(error) }, "A question failed");
      this.tell(error instanceof Failure ? error.words : "Something went wrong in this app.");
    }
  }

  private async askWithPhotoIfMeant(text: string, signal: AbortSignal): Promise<Answer> {
    const sees = this.session.capabilities?.hasCamera ?? true;
    const isNew = wantsPhoto(text, this.last?.words);
    if (isNew) this.last = undefined; // should this question end without an answer, "it" is not the thing before
    const photo = isNew && sees ? await this.look(text, signal) : undefined;
    try {
      const answer = await this.ask(text, photo, signal);
      if (answer.reason !== "needs_photo" || photo !== undefined || !sees) return answer;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "session_not_found") throw error;
      this.forget();
    }
    return this.ask(text, photo ?? (sees ? await this.look(text, signal) : undefined), signal);
  }

  private async look(text: string, signal: AbortSignal): Promise<PhotoData> {
    if (this.screen.exists) this.screen.show("Looking …");
    else this.voice.say("Looking.");
    const kind = wantsText(text) ? "text" : "view";
    return takePhoto(this.session.camera, kind, this.clock, signal, (words) => this.tell(words));
  }

  private async ask(text: string, photo: PhotoData | undefined, signal: AbortSignal): Promise<Answer> {
    this.screen.show(`“${text}” …`);
    const progress = {
      identified: (sentence: string) => {
        if (!this.voice.said.includes(sentence)) this.tell(sentence); // not twice where it was asked twice
      },
      waiting: (words: string) => this.tell(words),
    };
    this.sent = true;
    try {
      return await this.gateway.ask({ text, photo, sessionId: this.sessionId }, progress, signal);
    } finally {
      if (!signal.aborted) this.sent = false;
    }
  }

  private deliver(answer: Answer): void {
    const text = [answer.answer, closestWords(answer), answer.advice].filter((part) => part !== "").join(" ");
    this.screen.show(text, answer.entity);
    const sound = answer.speech === null ? undefined : this.gateway.soundUrl(answer.speech);
    if (!this.quiet) this.voice.say(text, sound);
  }

  private forget(): void {
    this.sessionId = undefined;
    this.last = undefined;
  }
}

/** The sentence that comes closest to an answer, short enough to be heard; empty where there is none. */
function closestWords({ closest }: Answer): string {
  if (!closest) return "";
  const { title, sentence } = closest;
  const text = sentence || closest.snippet; // an older gateway sends no sentence
  const heard = text.length > MAX_CLOSEST_CHARS ? `${text.slice(0, MAX_CLOSEST_CHARS).replace(/\s\S*$/, "")} …` : text;
  return `The closest I found: "${heard}"${title === "" ? "" : ` (${title})`}.`;
}
