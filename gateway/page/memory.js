// The memory of what was seen, by consent: the switch, the list, the export, and deletion.

import { apiKey } from "./dialogs.js";
import { byId, h, icon } from "./dom.js";
import { freshId, remember, remembered } from "./store.js";

const PATH = "/v1/memory";

/** The id names this browser's memory; it stays while the switch is off, so that the memory can be deleted. */
const own = () => remembered("memory", { id: null, on: false });

/** Returns the consent to send with a question; null without consent, or if the gateway has no memory. */
export function consent() {
  const { id, on } = own();
  return on && remembered("setup", {}).memory_days ? { id, utc_offset_min: -new Date().getTimezoneOffset() } : null;
}

/** Returns the reply; null without one, or if it is an error. */
async function call(path, method = "GET") {
  const key = apiKey();
  const headers = { "Loreglass-Memory": own().id, ...(key && { Authorization: `Bearer ${key}` }) };
  const reply = await fetch(path, { method, headers }).catch(() => null);
  return reply?.ok ? reply : null;
}

/** The small picture of a memory that an answer cites. */
export function thumbnail(url) {
  const image = h("img", { class: "thumbnail", alt: "What you saw then", hidden: true });
  if (url.startsWith(`${PATH}/`)) call(url).then(async (reply) => reply && show(image, await reply.blob()));
  return image;
}

function show(image, blob) {
  image.onload = () => URL.revokeObjectURL(image.src);
  image.src = URL.createObjectURL(blob);
  image.hidden = false;
}

export class Memory {
  constructor() {
    byId("memory").addEventListener("click", () => {
      byId("menu").close();
      this.open();
    });
    byId("memory-on").addEventListener("change", ({ target }) => {
      remember("memory", { id: own().id ?? freshId(), on: target.checked });
      this.tell();
    });
    byId("memory-clear").addEventListener("click", () => this.remove(PATH));
    byId("memory-export").addEventListener("click", () => this.save());
  }

  /** `days`: how long the gateway keeps things; null if it has no memory. */
  setUp(days) {
    byId("memory").hidden = !days;
    byId("memory-days").textContent = days === 1 ? "1 day" : `${days} days`;
    this.tell();
  }

  tell() {
    byId("memory-on").checked = own().on;
    byId("memory-words").textContent = own().on ? "What you see is remembered" : "Nothing is remembered";
    byId("new-words").textContent = consent()
      ? "Deletes this one; what is remembered stays"
      : "Deletes this one with its photos";
  }

  async open() {
    await this.list();
    byId("memory-dialog").showModal();
  }

  /** The newest first. */
  async list() {
    const reply = own().id ? await call(PATH) : undefined;
    this.contents = reply ? await reply.json() : { sightings: [] };
    const { sightings } = this.contents;
    byId("memory-list").replaceChildren(...sightings.map((seen) => this.entry(seen)).reverse());
    byId("memory-empty").hidden = sightings.length > 0;
    byId("memory-empty").textContent = reply === null ? "The memory cannot be read now." : "Nothing is remembered yet.";
    byId("memory-clear").hidden = byId("memory-export").hidden = !sightings.length;
  }

  entry({ id, at, place, name, text, thumbnail: picture }) {
    const title = name || text;
    const when = new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const read = name && text ? `“${text}”` : "";
    const image = picture && h("img", { class: "thumbnail", alt: "", src: `data:image/jpeg;base64,${picture}` });
    const remove = () => this.remove(`${PATH}/${id}`);
    return h(
      "li",
      {},
      image,
      h("span", {}, title, h("small", {}, [when, place, read].filter(Boolean).join(" · "))),
      h("button", { type: "button", class: "round", "aria-label": `Delete “${title}”`, onclick: remove }, icon("close")),
    );
  }

  async remove(path) {
    await call(path, "DELETE");
    await this.list();
    byId("memory-on").focus();
  }

  save() {
    const url = URL.createObjectURL(new Blob([JSON.stringify(this.contents, null, 1)], { type: "application/json" }));
    h("a", { href: url, download: "loreglass-memory.json" }).click();
    URL.revokeObjectURL(url);
  }
}
