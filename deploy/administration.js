// How much risk answers are given with, and the keys of those who may ask.

import { byId, h } from "/page/dom.js";

/** `read` talks to the gateway; `show` tells what goes wrong with a piece of work; `say`: to screen readers. */
export class Administration {
  explains = false;

  constructor({ read, show, say }) {
    Object.assign(this, { read, show, say });
    for (const choice of document.querySelectorAll("[name=risk]")) {
      choice.addEventListener("change", () => show(this.choose(choice.value)));
    }
    byId("new-key").addEventListener("submit", (event) => {
      event.preventDefault();
      show(this.make());
    });
  }

  async load() {
    this.tell(await this.read("/operator/administration"));
  }

  tell({ risk, risk_is_set: isSet, explains, keys }) {
    this.explains = explains;
    for (const choice of document.querySelectorAll("[name=risk]")) {
      Object.assign(choice, { checked: choice.value === risk, disabled: isSet });
    }
    byId("risk-set").hidden = !isSet;
    byId("no-keys").hidden = keys !== null;
    byId("new-key").hidden = keys === null;
    byId("keys-list").replaceChildren(...(keys ?? []).map((key) => this.row(key)));
  }

  async choose(risk) {
    this.tell(await this.read("/operator/risk", { method: "PUT", json: { risk } }));
    this.say(`Thresholds: ${risk}.`);
  }

  row({ prefix, tenant, priority, operator, own }) {
    const aside = [`lg_${prefix}_…`, priority, operator && "operator", own && "the key you use"];
    const revoke = async () => {
      if (!confirm(`Revoke the key of ${tenant}? Requests with it are refused at once.`)) return;
      this.tell(await this.read(`/operator/keys/${prefix}`, { method: "DELETE" }));
      this.say("Revoked.");
    };
    const button = h("button", { type: "button", onclick: () => this.show(revoke()) }, "Revoke");
    button.setAttribute("aria-label", `Revoke the key of ${tenant}, lg_${prefix}`);
    const words = h("div", {}, h("b", {}, tenant), h("small", {}, aside.filter(Boolean).join(" · ")));
    return h("li", {}, words, !own && button);
  }

  /** Make a key; it is shown until the next one is made or the view is left. */
  async make() {
    const json = { tenant: byId("key-tenant").value.trim(), operator: byId("key-operator").checked };
    const { key } = await this.read("/operator/keys", { method: "POST", json });
    byId("new-key").reset();
    byId("made-key").replaceChildren("This key is shown once. Copy it now:", h("code", { tabindex: "0" }, key));
    byId("made-key").hidden = false;
    await this.load();
    this.say("Key created. It is shown once.");
  }
}
