// What is said aloud: an answer's own sound where the gateway has a voice, else the browser's, sentence by sentence
// (Chrome falls silent in the middle of anything longer than some fifteen seconds).

import { remember, remembered } from "./store.js";

const SENTENCE = /.+?(?:[.!?…]+["'”’)]*(?=\s|$)|$)\s*/gs; // a point within "$4.99" ends nothing
const STARTS_WITHIN_MS = 5_000; // a browser without a voice says nothing, and does not say so
const synthesis = window.speechSynthesis;

export class Voice {
  /** `onChange` is told when it begins or ends to speak; `onWord` when a sound begins. */
  constructor({ onChange, onWord }) {
    Object.assign(this, { onChange, onWord });
    this.muted = remembered("muted", false);
    this.audio = new Audio();
    this.queue = [];
    this.current = null;
    this.primed = false;
  }

  get speaking() {
    return this.current !== null;
  }

  /** Within a gesture: browsers let a page speak later only where it has made a sound in one. */
  prime() {
    if (this.primed || this.muted || this.current) return;
    synthesis?.speak(new SpeechSynthesisUtterance(" "));
    this.audio.src = URL.createObjectURL(silence());
    const primed = () => (this.primed = true);
    this.audio.play().then(primed, () => {}); // then with the next gesture
  }

  /** Say a text after what is being said. */
  say(text) {
    if (this.muted || !synthesis) return;
    this.queue.push(...(text.match(SENTENCE) ?? []).map((sentence) => ({ text: sentence.trim() })));
    this.next();
  }

  /** Play an answer's sound after what is being said; the browser says the text where that fails. */
  play(address, text) {
    if (this.muted) return;
    this.queue.push({ address, text });
    this.next();
  }

  stop() {
    this.queue = [];
    this.current = null;
    synthesis?.cancel();
    this.audio.pause();
    this.onChange();
  }

  mute(muted) {
    this.muted = muted;
    remember("muted", muted);
    if (muted) this.stop();
  }

  next() {
    if (this.current) return;
    this.current = this.queue.shift() ?? null;
    if (this.current?.address) this.sound(this.current);
    else if (this.current) this.utter(this.current);
    this.onChange();
  }

  ended(one) {
    if (this.current !== one) return; // stopped meanwhile
    this.current = null;
    this.next();
  }

  sound(one) {
    this.audio.src = one.address;
    this.audio.onplaying = () => this.onWord();
    this.audio.onended = () => this.ended(one);
    const failed = () => {
      if (this.current !== one) return;
      this.queue.unshift({ text: one.text });
      this.ended(one);
    };
    this.audio.onerror = failed; // in the middle of it
    this.audio.play().catch(failed);
  }

  utter(one) {
    const utterance = (one.utterance = new SpeechSynthesisUtterance(one.text)); // held, or Chrome may drop it half said
    utterance.lang = document.documentElement.lang;
    const silent = setTimeout(() => this.ended(one), STARTS_WITHIN_MS);
    utterance.onstart = () => {
      clearTimeout(silent);
      this.onWord();
    };
    utterance.onend = utterance.onerror = () => this.ended(one);
    synthesis.speak(utterance);
  }
}

/** A WAV file of one silent sample. */
function silence() {
  const bytes = "RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0";
  return new Blob([Uint8Array.from(bytes, (letter) => letter.charCodeAt(0))], { type: "audio/wav" });
}
