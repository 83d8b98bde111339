// An AudioWorklet: what the microphone hears, as 16 kHz mono in 16 bits. Posts { samples: ArrayBuffer, level: 0..1 }.

const RATE = 16_000;
const PIECE = 1_600; // a tenth of a second

class Recorder extends AudioWorkletProcessor {
  piece = new Int16Array(PIECE);
  filled = 0;
  sum = 0; // of the input samples that make the next output sample
  count = 0;
  due = 0;
  loudest = 0;

  process([[heard]]) {
    for (const sample of heard ?? []) {
      this.sum += sample;
      this.count += 1;
      this.due += RATE;
      if (this.due >= sampleRate) this.keep();
    }
    return true;
  }

  keep() {
    const mean = Math.max(-1, Math.min(1, this.sum / this.count));
    this.due -= sampleRate;
    this.sum = this.count = 0;
    this.loudest = Math.max(this.loudest, Math.abs(mean));
    this.piece[this.filled++] = mean * 0x7fff;
    if (this.filled < PIECE) return;
    const samples = this.piece.slice().buffer;
    this.port.postMessage({ samples, level: this.loudest }, [samples]);
    this.filled = this.loudest = 0;
  }
}

registerProcessor("recorder", Recorder);
