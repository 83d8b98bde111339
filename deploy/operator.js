// The operator's view: what is indexed, files to be indexed, a question with its trace. What servers say comes as text.

import { apiKey, openKeyDialog } from "/page/dialogs.js";
import { byId, h, icon, withSentence } from "/page/dom.js";
import { remember, remembered } from "/page/store.js";
import { events, refusal } from "/page/wire.js";
import { adviceWords, stageWords } from "/page/words.js";
import { Administration } from "/operator/administration.js";
import { why } from "/operator/why.js";

const LONG_MS = "600000"; // an upload or a job may take longer than a question
const PAGE = 12;
const KINDS = { photos: ["thing", "photo"], pages: ["page", "passage"] };
const OUTCOMES = {
  added: ["check", "Added"],
  replaced: ["check", "Replaced what was indexed before"],
  unchanged: ["check", "Unchanged"],
  rejected: ["warning"],
};
const STEPS = { photos: "Indexing photos", pages: "Indexing pages" };

const count = (number, word) => `${number.toLocaleString()} ${word}${number === 1 ? "" : "s"}`;
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
const say = (text) => (byId("status").textContent = text);

// ---- talking to the gateway ----

async function send(path, { method = "GET", body, json } = {}) {
  const headers = { "X-Deadline-Ms": LONG_MS, ...(apiKey() && { Authorization: `Bearer ${apiKey()}` }) };
  if (json) Object.assign(headers, { "Content-Type": "application/json" });
  const reply = await fetch(path, { method, headers, body: json ? JSON.stringify(json) : body });
  if (!reply.ok) throw await refusal(reply);
  return reply;
}

const read = async (path, options) => (await send(path, options)).json();

function form(parts) {
  const whole = new FormData();
  for (const [name, part] of Object.entries(parts)) whole.append(name, ...part);
  return whole;
}

// ---- what is indexed ----

let kind = "photos";
let shown = 0;
let asked = 0; // of listings, so that a late one does not overwrite a newer

async function list({ more = false } = {}) {
  const mine = ++asked;
  const query = new URLSearchParams({ offset: more ? shown : 0, limit: PAGE, q: byId("find").value.trim() });
  const [page, ...totals] = await Promise.all([
    read(`/operator/${kind}?${query}`),
    ...Object.keys(KINDS).map((each) => read(`/operator/${each}?limit=1`)),
  ]);
  if (mine !== asked) return;
  const rows = page.items.map(kind === "photos" ? thingRow : pageRow);
  if (!more) byId("things").replaceChildren();
  byId("things").append(...rows);
  byId("things").dataset.kind = kind;
  shown = byId("things").childElementCount;
  byId("older").hidden = shown >= page.found;
  byId("empty").hidden = totals.some(({ total }) => total);
  for (const id of ["kinds", "counted", "search"]) byId(id).hidden = !byId("empty").hidden;
  for (const [place, button] of document.querySelectorAll("[data-kind][aria-pressed]").entries()) {
    button.setAttribute("aria-pressed", button.dataset.kind === kind);
    button.querySelector("b").textContent = totals[place].total.toLocaleString();
  }
  const [one, part] = KINDS[kind];
  const found = page.found < page.total ? `${page.found.toLocaleString()} of ` : "";
  byId("counted").textContent = `${found}${count(page.total, one)}; ${count(page.parts, part)} in all`;
  if (more) byId("things").children[shown - rows.length]?.focus();
}

function thingRow({ name, parts, picture, addresses }) {
  const seen = picture.startsWith("data:image/jpeg;base64,")
    ? h("img", { class: "picture", src: picture, alt: "" })
    : h("span", { class: "picture", "aria-hidden": "true" }, [...name][0]);
  const several = parts > 1 && h("small", {}, count(parts, "photo"));
  return h("li", { tabindex: "-1" }, seen, h("div", {}, h("b", {}, name), several, details(name, addresses)));
}

function pageRow({ name, url, parts, addresses }) {
  const aside = h("small", {}, `${url} · ${count(parts, "passage")}`);
  const told = h("div", {}, h("b", {}, name), aside, details(name, addresses));
  return h("li", { tabindex: "-1" }, icon("page"), told);
}

// ---- one document: shown as it is searched, renamed, removed ----

const INDEXES = { photos: "images", pages: "pages" };

function details(name, addresses) {
  const onclick = () => show(openDocuments(name, kind, addresses));
  return h("button", { type: "button", class: "details", "aria-label": `Details of ${name}`, onclick }, "Details");
}

const pathOf = (of, address) => `/v1/documents/${INDEXES[of]}/document?${new URLSearchParams({ address })}`;

async function openDocuments(name, of, addresses) {
  const contents = await Promise.all(addresses.map((address) => read(pathOf(of, address))));
  byId("documents-title").textContent = name;
  byId("documents-list").replaceChildren(...contents.map((content) => documentPanel(of, content)));
  if (!byId("documents").open) byId("documents").showModal();
}

function documentPanel(of, { address, name, url, attributes, passages }) {
  const facts = Object.entries(attributes).flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, value)]);
  const label = of === "photos" ? "What it shows" : "Title";
  const field = h("input", { "aria-label": label, value: name, required: true, maxlength: 1024 });
  const change = async (words, options) => {
    await send(pathOf(of, address), options);
    byId("documents").close();
    await list();
    say(words);
  };
  const onsubmit = (event) => {
    event.preventDefault();
    show(change("Renamed.", { method: "PATCH", json: { name: field.value.trim() } }));
  };
  const onclick = () => confirm(`Remove ${name} from the index?`) && show(change("Removed.", { method: "DELETE" }));
  return h(
    "article",
    {},
    h("p", {}, h("small", {}, url && url !== address ? `${address} · ${url}` : address)),
    facts.length > 0 && h("dl", {}, facts),
    passages.length > 0 && h("ol", {}, passages.map((text) => h("li", {}, text))),
    h("form", { class: "rename", onsubmit }, field, h("button", { type: "submit" }, "Rename")),
    h("p", { class: "ways" }, h("button", { type: "button", onclick }, "Remove")),
  );
}

byId("documents-close").addEventListener("click", () => byId("documents").close());

for (const button of document.querySelectorAll("#kinds button")) {
  button.addEventListener("click", () => ((kind = button.dataset.kind), show(list())));
}
byId("find").addEventListener("input", () => show(list()));
byId("older").addEventListener("click", () => show(list({ more: true })));

// ---- what is handed over, and the job that indexes it ----

const rows = new Map(); // of files, by the name that they wait by

function row(name, [drawing, words], rejected = false, more = null) {
  const old = rows.get(name);
  const told = h("div", {}, h("b", {}, name), h("small", {}, words), more);
  const fresh = h("li", { class: rejected && "rejected" }, icon(drawing), told);
  rows.set(name, fresh);
  if (old) old.replaceWith(fresh);
  else byId("uploads").append(fresh);
  return fresh;
}

function waits({ thing, photo, replaces }) {
  const also = replaces ? " · replaces what is indexed under this name" : "";
  if (!photo) return ["page", `A page${also}`];
  return ["photo", (thing ? `Shows: ${thing}` : "Named in metadata.jsonl, or not at all") + also];
}

/** A field for a better name: a camera's says nothing of what a photo shows. Several photos of a thing are numbered. */
function renaming(name, file) {
  const told = { "aria-label": `What ${name} shows`, placeholder: "What does it show?" };
  const field = h("input", { required: true, maxlength: 150, ...told });
  const submit = (event) => {
    event.preventDefault();
    const [given, suffix] = [field.value.trim().replaceAll("/", " "), name.slice(name.lastIndexOf("."))];
    let better = given + suffix;
    for (let number = 2; rows.has(better); number += 1) better = `${given} (${number})${suffix}`;
    forget(name);
    show(handOver([[better, file]]));
  };
  return h("form", { class: "rename", onsubmit: submit }, field, h("button", { type: "submit" }, "Name it"));
}

function forget(name) {
  rows.get(name)?.remove();
  rows.delete(name);
}

async function handOver(files) {
  byId("job").hidden = true;
  for (const [name, file] of files) {
    row(name, ["clock", "Waiting"]);
    try {
      const kept = await read("/operator/uploads", { method: "POST", body: form({ file: [file, name] }) });
      if (kept.name !== name) forget(name);
      row(kept.name, waits(kept));
    } catch (error) {
      row(name, ["warning", error.message], true, error.kind === "invalid_request" && renaming(name, file));
      if (error.status === 401) throw error;
    }
  }
  await uploads();
}

/** What waits on the server; an earlier visit may have left something. */
async function uploads() {
  const { files, running } = await read("/operator/uploads");
  for (const file of files) row(file.name, waits(file));
  byId("begin").hidden = byId("forget").hidden = running || !files.length;
  byId("begin").textContent = `Index ${count(files.length, "file")}`;
  if (running) show(follow());
}

async function start(json) {
  await send("/operator/job", { method: "POST", json });
  await follow();
}

/** Watch the job to its end. It does not need us; a stream that breaks off is opened again, and tells all anew. */
async function follow() {
  const disable = (disabled) => ["begin", "forget", "sample"].forEach((id) => (byId(id).disabled = disabled));
  disable(true);
  await watch().finally(() => disable(false));
  await Promise.all([uploads(), list()]);
}

async function watch() {
  let over = false;
  byId("job").hidden = false;
  byId("job").scrollIntoView({ block: "nearest", behavior: "smooth" });
  while (!over) {
    let done = 0;
    let all = 0;
    for await (const [event, data] of events((await send("/operator/job")).body)) {
      if (event === "step") {
        [done, all] = [0, data.files];
        byId("job-words").textContent = STEPS[data.step] ?? data.step;
        say(byId("job-words").textContent);
      } else if (event === "file") {
        done += 1;
        const [drawing, words] = OUTCOMES[data.outcome] ?? ["dash", data.outcome];
        const rejected = data.outcome === "rejected";
        if (rows.has(data.name) || rejected) row(data.name, [drawing, [words, data.reason].filter(Boolean).join(". ")], rejected);
      } else if (event === "done") {
        over = true;
        ended(data);
      }
      if (all) Object.assign(byId("job-bar"), { max: all, value: done });
      else byId("job-bar").removeAttribute("value");
    }
  }
}

function ended({ added, replaced, unchanged, rejected, problem }) {
  const counts = Object.entries({ replaced, unchanged, rejected }).filter(([, number]) => number);
  const parts = [`${added} added`, ...counts.map(([word, number]) => `${number} ${word}`)];
  const words = `${problem ? `${problem.detail} ` : "Done: "}${parts.join(", ")}.`;
  byId("job-words").textContent = words;
  byId("job-words").className = problem ? "fault" : "";
  Object.assign(byId("job-bar"), { max: 1, value: problem ? 0 : 1 });
  say(words);
}

const chosen = (input) => [...input.files].map((file) => [file.webkitRelativePath || file.name, file]);
const isHidden = ([name]) => name.split("/").some((part) => part.startsWith("."));
/** Without hidden files; what names others goes first. */
const visible = (files) =>
  files.filter((file) => !isHidden(file)).sort(([one], [other]) => other.endsWith(".jsonl") - one.endsWith(".jsonl"));

async function dropped(entry) {
  if (entry.isFile) return [[entry.fullPath.slice(1), await new Promise((...settle) => entry.file(...settle))]];
  const reader = entry.createReader();
  const found = [];
  for (let some; (some = await new Promise((...settle) => reader.readEntries(...settle))).length; ) found.push(...some);
  return (await Promise.all(found.map(dropped))).flat();
}

for (const id of ["files", "folder"]) {
  byId(id).addEventListener("change", ({ target }) => (show(handOver(visible(chosen(target)))), (target.value = "")));
}
for (const event of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(event, (moved) => {
    moved.preventDefault(); // also beside the zone: a photo that is let go there would replace this view
    document.body.toggleAttribute("data-dragged", event === "dragover");
    if (event !== "drop") return;
    const entries = [...moved.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    const plain = entries.length ? [] : chosen(moved.dataTransfer);
    show(Promise.all(entries.map(dropped)).then((found) => handOver(visible([...plain, ...found.flat()]))));
  });
}
byId("begin").addEventListener("click", () => show(start({})));
byId("sample").addEventListener("click", () => show(start({ sample: true })));
byId("forget").addEventListener("click", () => {
  rows.clear();
  byId("uploads").replaceChildren();
  show(send("/operator/uploads", { method: "DELETE" }).then(uploads));
});

// ---- a question and its trace ----

byId("ask-photo").addEventListener("change", ({ target: { files } }) => {
  const seen = byId("shot").querySelector("img");
  URL.revokeObjectURL(seen.src);
  seen.hidden = !files[0];
  if (files[0]) seen.src = URL.createObjectURL(files[0]);
});

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  show(ask());
});

async function ask() {
  const [photo] = byId("ask-photo").files;
  const explain = administration.explains && { experiment: ['{"explain": true}'] };
  const body = form({ question: [byId("ask-question").value], ...(photo && { image: [photo] }), ...explain });
  byId("answer").replaceChildren(h("p", { class: "progress" }, h("span", { class: "spinner" }), "Asking"));
  try {
    const answer = await read("/answer", { method: "POST", body });
    const source = ({ title, snippet }, quote = snippet) =>
      h("p", { class: "source" }, h("b", {}, title || "Untitled"), h("small", {}, quote));
    const refusal = [
      answer.closest && h("p", {}, "The closest I found:"),
      answer.closest && source(answer.closest, withSentence(answer.closest)),
      h("p", {}, adviceWords(answer)),
      ...why(answer),
    ].filter(Boolean);
    const told = answer.abstained ? refusal : answer.citations.map((each) => source(each));
    byId("answer").replaceChildren(h("p", { class: "answer" }, answer.answer), ...told);
    history.replaceState(null, "", `#trace=${answer.trace_id}`);
    await trace();
  } catch (error) {
    byId("answer").replaceChildren(h("p", { class: "fault" }, error.message));
  }
}

/** The trace that the address names, as rows of bars. */
async function trace() {
  const [, id] = location.hash.match(/^#trace=([0-9a-f]{32})$/) ?? [];
  if (!id) return;
  try {
    byId("trace").replaceChildren(...timeline(await read(`/traces/${id}`)));
  } catch (error) {
    byId("trace").replaceChildren(h("p", { class: "fault" }, error.message));
  }
}

/** A table: a row a stage, with a bar from when to when it ran, and a line where a plan gave something up. */
function timeline(told) {
  const { stages, total_ms: total } = told;
  const whole = Math.max(total, ...stages.map(({ start_ms, ms }) => start_ms + ms), 1);
  const cuts = told.plans.filter(({ cuts }, place) => String(cuts) !== String(told.plans[place - 1]?.cuts ?? ""));
  const at = (element, from, long = 0) => {
    element.style.setProperty("--from", `${(100 * Math.min(from, whole)) / whole}%`);
    element.style.setProperty("--long", `${(100 * long) / whole}%`);
    return element;
  };
  const line = ({ stage, state, start_ms: from, ms, detail }) => {
    const aside = [stage, state !== "done" && state, detail].filter(Boolean).join(" · ");
    const lane = h("span", { class: "track" }, cuts.map(({ at_ms }) => at(h("s"), at_ms)), at(h("i"), from, ms));
    return h(
      "tr",
      { "data-state": state },
      h("th", { scope: "row" }, stageWords(stage) || "Remembered the turn", h("small", {}, aside)),
      h("td", { class: "lane", "aria-hidden": "true" }, lane),
      h("td", { class: "number from" }, Math.round(from)),
      h("td", { class: "number" }, Math.round(ms)),
    );
  };
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => h("span", {}, seconds(part * whole)));
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "Stage"),
    h("td", { class: "lane", "aria-hidden": "true" }, h("span", { class: "ticks" }, ticks)),
    h("th", { scope: "col", class: "number from" }, "from, ms"),
    h("th", { scope: "col", class: "number" }, "took, ms"),
  );
  const rows = [...stages].sort((one, other) => one.start_ms - other.start_ms).map(line);
  const table = h("table", { class: "timeline" }, verdict(told), h("thead", {}, head), h("tbody", {}, rows));
  return cuts.length ? [table, h("ul", { class: "plans" }, cuts.map(planned))] : [table];
}

function verdict({ total_ms: total, deadline_ms: deadline, pipeline, problem, reason, route, refused_by: by }) {
  const ending = problem ? [`failed: ${problem.detail}`] : [reason, route && `route ${route}`];
  const words = [`${seconds(total)} of ${seconds(deadline)}`, pipeline, ...ending, by && `refused by ${by}`];
  return h("caption", {}, words.filter(Boolean).join(" · "));
}

function planned({ at_ms: at, after, cuts, expected_ms: expected, remaining_ms: left }) {
  const given = cuts.length ? `gave up ${cuts.join(", ")}` : "nothing is given up any more";
  const why = `${seconds(expected)} expected, ${seconds(left)} left`;
  return h("li", {}, `At ${seconds(at)}${after && `, after ${after}`}: ${given} (${why})`);
}

// ---- a phone joins ----

async function invite() {
  const { url, code, fingerprint } = await read("/operator/invitations", { method: "POST" });
  byId("invitation").replaceChildren(
    h("p", {}, h("img", { src: code, alt: "QR code of the address", width: 240, height: 240 })),
    h("p", {}, "Scan it with the phone’s camera, or open ", h("code", {}, url), ". It works once, within an hour."),
    h("p", { class: "soft" }, "The phone warns about the certificate once. Its SHA-256: ", h("code", {}, fingerprint)),
  );
}

byId("invite").addEventListener("click", () =>
  invite().catch((error) => byId("invitation").replaceChildren(h("p", { class: "fault" }, error.message))),
);

// ---- who may see it ----

const administration = new Administration({ read, show, say });

/** Show what went wrong; ask for a key if it is missing. */
async function show(work) {
  try {
    await work;
  } catch (error) {
    if (error.status === 401) {
      byId("shut").hidden = false;
      byId("shut-words").textContent = error.message;
      for (const id of ["indexed", "add", "manage"]) byId(id).hidden = true;
    } else {
      byId("job").hidden = false;
      byId("job-words").textContent = error.status ? error.message : "No connection to the gateway.";
      byId("job-words").className = "fault";
    }
    say(error.message);
  }
}

function open() {
  byId("shut").hidden = true;
  for (const id of ["indexed", "add", "manage"]) byId(id).hidden = false;
  show(Promise.all([list(), uploads(), administration.load()]));
  trace();
}

byId("enter-key").addEventListener("click", () => openKeyDialog());
byId("key-form").addEventListener("submit", () => (remember("key", byId("key-input").value.trim()), open()));
byId("key-forget").addEventListener("click", () => (remember("key", null), byId("key-dialog").close(), open()));
addEventListener("hashchange", trace);
document.documentElement.dataset.theme = remembered("theme", "auto");
open();
