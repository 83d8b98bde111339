// An index without content: the built-in sample is indexed from here, and then there are photos of it to ask about.

import { apiKey } from "./dialogs.js";
import { byId, h } from "./dom.js";
import { events, refusal } from "./wire.js";

const STEPS = { photos: "Indexing photos", pages: "Indexing pages" };
const LONG_MS = "600000";

async function send(path, options = {}) {
  const headers = { "X-Deadline-Ms": LONG_MS, ...(apiKey() && { Authorization: `Bearer ${apiKey()}` }) };
  const reply = await fetch(path, { ...options, headers: { ...headers, ...options.headers } });
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

/** Index the sample; `tell` gets the progress in words. Throws `Refused`, for one who is not the operator too. */
async function indexSample(tell) {
  const headers = { "Content-Type": "application/json" };
  await send("/operator/job", { method: "POST", headers, body: '{"sample": true}' });
  for (;;) {
    let progress = { words: "", files: 0, done: 0 };
    for await (const [event, data] of events((await send("/operator/job")).body)) {
      if (event === "step") progress = { words: STEPS[data.step] ?? data.step, files: data.files, done: 0 };
      if (event === "file") progress.done += 1;
      if (event === "done" && data.problem) throw new Error(data.problem.detail);
      if (event === "done") return;
      tell(`${progress.words}: ${progress.done} of ${progress.files}`);
    }
  }
}

/** A notice that nothing is indexed. `onIndexed` is called when the sample is. */
export function nothingIndexed(onIndexed) {
  const hasOperator = !byId("operator").hidden; // this deployment has one
  const status = h("p", { role: "status" });
  const start = async () => {
    button.disabled = true;
    try {
      await indexSample((words) => (status.textContent = words));
      await onIndexed();
    } catch (error) {
      status.textContent = error.kind === "unauthorized" ? `Only the operator can index. ${error.message}` : error.message;
      button.disabled = false;
    }
  };
  const button = h("button", { type: "button", class: "primary", onclick: start }, "Index the sample");
  return h(
    "div",
    { class: "empty-index" },
    h("p", {}, h("b", {}, "Nothing is indexed yet.")),
    hasOperator && h("p", {}, "Try the built-in sample: photos of a few things, and pages about them."),
    hasOperator && h("p", { class: "ways" }, button),
    status,
    hasOperator
      ? h("p", {}, h("a", { href: "/operator" }, "Add your own photos and pages"))
      : h("p", {}, "The operator of this service can index photos and pages."),
  );
}

/** Photos of the sample with a question each; `ask(file, question)` asks one. */
export async function sampleQuestions(ask) {
  const questions = await (await send("/operator/examples")).json();
  return h(
    "div",
    { class: "sample" },
    h("p", {}, h("b", {}, "The sample is indexed."), questions.length > 0 && " Ask about one of its photos:"),
    questions.map(({ question, photo }) => {
      const bytes = Uint8Array.from(atob(photo), (byte) => byte.charCodeAt(0));
      const file = new File([bytes], "sample.jpg", { type: "image/jpeg" });
      const picture = h("img", { alt: "", src: `data:image/jpeg;base64,${photo}` });
      return h("button", { type: "button", onclick: () => ask(file, question) }, picture, h("span", {}, question));
    }),
  );
}
