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
    return new Stored(await promised(opening()));
  } catch {
    return new Remembered();
  }
}

function opening() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore("turns", { keyPath: "id" });
  return request;
}

const promised = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error);
  });

class Stored {
  constructor(database) {
    this.database = database;
  }

  turns(mode = "readonly") {
    return this.database.transaction("turns", mode).objectStore("turns");
  }

  /** All of them, the oldest first. */
  async all() {
    return inOrder(await promised(this.turns().getAll()));
  }

  get = (id) => promised(this.turns().get(id));
  put = (turn) => promised(this.turns("readwrite").put(turn));
  remove = (id) => promised(this.turns("readwrite").delete(id));
}

class Remembered {
  held = new Map();
  all = async () => inOrder([...this.held.values()]);
  get = async (id) => this.held.get(id);
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
