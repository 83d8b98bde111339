// What the wearer says while the button is held, as a WAV file of 16 kHz, mono: every transcription server reads it.

const RATE = 16_000;
const LONGEST_S = 30;
const LEAST_S = 0.4;

export class Microphone {
  /** `onLevel` is told ten times a second how loud it is, in 0..1; `onFull` that nothing more is taken. */
  constructor({ onLevel, onFull }) {
    Object.assign(this, { onLevel, onFull });
    this.pieces = null;
  }

  /** Take over the stream's sound; silent until `start`. */
  async attach(stream) {
    this.track?.stop();
    this.context?.close();
    [this.track] = stream.getAudioTracks();
    this.track.enabled = false;
    this.context = new AudioContext();
    await this.context.audioWorklet.addModule("/page/recorder.js");
    const recorder = new AudioWorkletNode(this.context, "recorder", { numberOfOutputs: 0 });
    this.context.createMediaStreamSource(new MediaStream([this.track])).connect(recorder);
    recorder.port.onmessage = ({ data }) => this.heard(data);
  }

  get isLive() {
    return this.track?.readyState === "live";
  }

  /** Within a gesture: a finger that touches is none yet for the browser, one that lets go is. */
  prime() {
    if (this.pieces && this.context.state === "suspended") this.context.resume();
  }

  /** Begin to keep what is heard. Resolves once the sound flows. */
  async start() {
    this.pieces = [];
    this.track.enabled = true;
    await this.context.resume();
  }

  /** The WAV file of what was said, or null where that was too short to be anything. */
  stop() {
    const pieces = this.pieces ?? [];
    this.pieces = null;
    this.track.enabled = false;
    this.context.suspend();
    const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    return bytes < LEAST_S * RATE * 2 ? null : new Blob([header(bytes), ...pieces], { type: "audio/wav" });
  }

  heard({ samples, level }) {
    if (!this.pieces) return;
    this.pieces.push(samples);
    this.onLevel(level);
    if (this.pieces.length >= LONGEST_S * 10) this.onFull();
  }
}

/** The 44 bytes before the samples of a WAV file. */
function header(bytes) {
  const view = new DataView(new ArrayBuffer(44));
  const text = (at, word) => [...word].forEach((letter, i) => view.setUint8(at + i, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + bytes, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true); // of this chunk
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // mono
  view.setUint32(24, RATE, true);
  view.setUint32(28, RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, bytes, true);
  return view;
}
