// What this browser keeps: turns in IndexedDB (a waiting turn is the outbox's), a few settings in localStorage.
//
// A turn: { id, at, question, audio, photo, photoId, width, height, key, sent, status, answer, problem }
//   photo, audio: Blob or null; width, height: of the photo in pixels, null where this browser cannot read it
//   key: what the gateway answers once and remembers; sent: what the first attempt decided, kept for the next ones
//   status: "waiting", "done" (answer: the gateway's body) or "failed" (problem: { kind, detail })

const NAME = "loreglass";

/** Turns by id. Where there is no IndexedDB (some private windows), they live as long as the page. */
export async function openStore() {
  try {
    return await new Stored().opened();
  } catch {
    return new Remembered();
  }
}

function opening() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore("turns", { keyPath: "id" });
  return request;
}

class Stored {
  unwritten = new Remembered(); // turns for which there was no room: they live as long as the page

  async opened() {
    this.database ??= await new Promise((resolve, reject) => {
      const request = opening();
      request.onsuccess = () => resolve(request.result);
      request.onerror = request.onblocked = () => reject(request.error);
    });
    this.database.onclose = () => (this.database = null); // the browser may take it away; it is opened again
    return this;
  }

  /** What `act` asks of the turns, once it is on the disk. */
  async done(mode, act) {
    await this.opened();
    const transaction = this.database.transaction("turns", mode);
    const request = act(transaction.objectStore("turns"));
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
    return request.result;
  }

  /** All of them, the oldest first. */
  async all() {
    const written = await this.done("readonly", (turns) => turns.getAll()).catch(() => []);
    const unwritten = await this.unwritten.all();
    const ids = new Set(unwritten.map(({ id }) => id));
    return inOrder([...written.filter(({ id }) => !ids.has(id)), ...unwritten]);
  }

  async put(turn) {
    await this.unwritten.put(turn);
    const written = await this.done("readwrite", (turns) => turns.put(turn)).then(
      () => true,
      () => false, // a full disk, say: it is asked all the same
    );
    if (written) await this.unwritten.remove(turn.id);
  }

  async remove(id) {
    await this.unwritten.remove(id);
    await this.done("readwrite", (turns) => turns.delete(id));
  }
}

class Remembered {
  held = new Map();
  all = async () => inOrder([...this.held.values()]);
  put = async (turn) => void this.held.set(turn.id, { ...turn });
  remove = async (id) => void this.held.delete(id);
}

const inOrder = (turns) => turns.sort((one, other) => one.at - other.at);

/** 32 hex digits that nobody else has. (`crypto.randomUUID` is only for pages that come by https.) */
export function freshId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

let last = 0;

/** Milliseconds since 1970, later than any before: turns are put in order by it. */
export function nextMoment() {
  last = Math.max(Date.now(), last + 1);
  return last;
}

/** A setting by name; `otherwise` where there is none. */
export function remembered(name, otherwise = null) {
  try {
    return JSON.parse(localStorage.getItem(`${NAME}.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keep a setting; null forgets it. A window that keeps nothing goes on without. */
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(`${NAME}.${name}`);
    else localStorage.setItem(`${NAME}.${name}`, JSON.stringify(value));
  } catch {
    // Private windows may refuse; the page works, and asks again next time.
  }
}
