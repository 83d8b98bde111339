// What opens over the page: the menu with the theme, and the key.

import { byId } from "./dom.js";
import { remember, remembered } from "./store.js";

export const apiKey = () => remembered("key");

/** `onKey`: a key was entered or forgotten; `onNew`: a new conversation is wanted. */
export function setUpDialogs({ onKey, onNew }) {
  for (const button of document.querySelectorAll("[data-close]")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close()); // beside it
  }
  setUpThemes();
  byId("more").addEventListener("click", () => {
    byId("key-words").textContent = apiKey() ? "Saved in this browser" : "No key saved";
    byId("menu").showModal();
  });
  byId("new").addEventListener("click", () => {
    byId("menu").close();
    onNew();
  });
  byId("key").addEventListener("click", () => {
    byId("menu").close();
    openKeyDialog();
  });
  byId("key-form").addEventListener("submit", () => {
    remember("key", byId("key-input").value.trim());
    onKey();
  });
  byId("key-forget").addEventListener("click", () => {
    remember("key", null);
    byId("key-dialog").close();
    onKey();
  });
}

/** Ask for a key; `fault` says why, where the one that is kept did not do. */
export function openKeyDialog(fault = "") {
  byId("key-fault").textContent = fault;
  byId("key-input").value = "";
  byId("key-forget").hidden = !apiKey();
  if (!byId("key-dialog").open) byId("key-dialog").showModal();
}

function setUpThemes() {
  const chosen = remembered("theme", "auto");
  document.documentElement.dataset.theme = chosen;
  for (const choice of document.querySelectorAll("[name=theme]")) {
    choice.checked = choice.value === chosen;
    choice.addEventListener("change", () => {
      document.documentElement.dataset.theme = choice.value;
      remember("theme", choice.value);
    });
  }
}
