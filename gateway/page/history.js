// What was asked, as this browser keeps it: a list from which entries are deleted, one by one or all.

import { byId, h, icon } from "./dom.js";

const TITLE_CHARS = 120;

export class History {
  /** `show(turn)` goes to a turn, `remove(turn)` deletes one, `clear()` all. */
  constructor(store, { show, remove, clear }) {
    Object.assign(this, { store, show, remove });
    byId("history").addEventListener("click", () => {
      byId("menu").close();
      this.open();
    });
    byId("history-clear").addEventListener("click", async () => {
      byId("history-dialog").close();
      await clear();
    });
  }

  async open() {
    await this.list();
    byId("history-dialog").showModal();
  }

  /** The newest first. */
  async list() {
    const turns = (await this.store.all()).reverse();
    byId("history-list").replaceChildren(...turns.map((turn) => this.entry(turn)));
    byId("history-empty").hidden = turns.length > 0;
    byId("history-clear").hidden = !turns.length;
  }

  entry(turn) {
    const { question, answer, at } = turn;
    const title = (question || answer?.transcript || "A spoken question").slice(0, TITLE_CHARS);
    const when = new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    const show = () => {
      byId("history-dialog").close();
      this.show(turn);
    };
    const remove = async () => {
      await this.remove(turn);
      await this.list();
      byId("history-dialog").querySelector("button").focus();
    };
    return h(
      "li",
      {},
      h("button", { type: "button", class: "row", onclick: show }, h("span", {}, title, h("small", {}, when))),
      h("button", { type: "button", class: "round", "aria-label": `Delete “${title}”`, onclick: remove }, icon("close")),
    );
  }
}
