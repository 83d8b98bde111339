// One turn of the conversation as it is seen: asked, on its way, answered with sources, refused, or failed.

import { byId, h, icon, withSentence } from "./dom.js";
import { thumbnail } from "./memory.js";
import { nothingIndexed } from "./sample.js";
import * as words from "./words.js";

export class TurnView {
  /** `act`: what the buttons do with a turn: show, cancel, again, say; `indexed`: the sample was indexed. */
  constructor(turn, act) {
    this.turn = turn;
    this.act = act;
    this.stages = h("ol", { class: "stages" });
    this.thing = h("p", { class: "thing", hidden: true });
    this.body = h("div", { class: "reply" });
    this.question = h("h2", { class: "question" });
    this.element = h("article", { class: "turn" }, this.asked(), this.thing, this.body);
    this.tellQuestion();
    if (turn.status === "done") this.answered();
    else if (turn.status === "failed") this.failed();
    else this.waiting("Waiting for its turn");
  }

  /** Off the page; who had the focus in it goes on where questions are typed. */
  takeAway() {
    if (this.element.contains(document.activeElement)) byId("question").focus({ preventScroll: true });
    const thumb = this.element.querySelector(".thumb img");
    if (thumb) URL.revokeObjectURL(thumb.src);
    this.element.remove();
  }

  asked() {
    const { turn } = this;
    if (!turn.photo || !turn.width) return h("header", { class: "asked" }, this.question);
    const thumb = h("img", { alt: "", src: URL.createObjectURL(turn.photo) });
    const show = h("button", { class: "thumb", type: "button", onclick: () => this.act.show(turn) }, thumb);
    show.setAttribute("aria-label", "Show this photo again");
    return h("header", { class: "asked" }, show, this.question);
  }

  /** The words, as soon as they are known: typed, or understood from the sound. */
  tellQuestion(transcript = this.turn.answer?.transcript) {
    const { question, audio } = this.turn;
    this.question.textContent = question || words.capital(transcript ?? "") || (audio ? "What you said" : "");
  }

  is(status) {
    this.element.dataset.status = status;
  }

  waiting(why) {
    this.is("waiting");
    this.body.replaceChildren(h("p", { class: "progress" }, icon("clock"), why), this.cancel());
  }

  asking() {
    this.is("asking");
    this.stages.replaceChildren();
    this.left = h("span", { class: "left" });
    const progress = h("p", { class: "progress" }, h("span", { class: "spinner" }), "Looking it up", this.left);
    this.body.replaceChildren(progress, this.stages, this.cancel());
  }

  /** A stage ended. Returns what that was, in words. */
  stage({ stage, state, ms }) {
    const lines = words.stageWords(stage);
    if (!lines || state === "cancelled" || (stage === "admission" && ms < 100)) return "";
    const aside = state === "done" ? words.seconds(ms) : state === "skipped" ? "left out" : "did not work";
    this.stages.append(
      h("li", { "data-state": state }, icon(state === "done" ? "check" : "dash"), lines, h("span", {}, aside)),
    );
    return lines;
  }

  timeLeft(ms) {
    if (this.left) this.left.textContent = `${Math.ceil(ms / 1000)} s left`;
  }

  identified({ entity, sentence }) {
    this.thing.hidden = false;
    this.thing.replaceChildren(icon("glass"), sentence || entity);
  }

  answered() {
    const { answer } = this.turn;
    this.is("done");
    this.tellQuestion();
    this.element.classList.toggle("refused", answer.abstained);
    if (answer.entity) this.identified({ entity: answer.entity });
    this.body.replaceChildren(
      ...[
        h("p", { class: "answer" }, words.answerLines(answer)),
        ...(answer.abstained ? this.refusal(answer) : []),
        h("div", { class: "verdict" }, !answer.abstained && sureness(answer), this.actions()),
        note(words.cautionWords(answer)),
        note(words.degradedWords(answer.degraded)),
        sources(answer.citations),
        this.how(answer),
      ].filter(Boolean),
    );
  }

  refusal(answer) {
    const lines = [closest(answer), h("p", { class: "advice" }, icon("lamp"), words.adviceWords(answer))];
    if (answer.reason === "nothing_indexed") lines.push(nothingIndexed(this.act.indexed));
    return lines;
  }

  failed() {
    const { problem } = this.turn;
    this.is("failed");
    this.body.replaceChildren(
      h("p", { class: "advice" }, icon("warning"), words.problemWords(problem)),
      this.actions(),
    );
  }

  actions() {
    const again = () => this.act.again(this.turn);
    const say = () => this.act.say(this.turn);
    return h(
      "p",
      { class: "actions" },
      this.turn.answer && h("button", { type: "button", onclick: say }, icon("sound"), "Read aloud"),
      (!this.turn.answer || this.turn.answer.abstained) &&
        h("button", { type: "button", onclick: again }, icon("again"), "Ask again"),
    );
  }

  cancel() {
    const cancel = () => this.act.cancel(this.turn);
    return h("p", { class: "actions" }, h("button", { type: "button", onclick: cancel }, icon("close"), "Cancel"));
  }

  /** Stages, times and what was read, folded away. */
  how(answer) {
    if (!this.stages.childElementCount) {
      for (const [stage, ms] of Object.entries(answer.timings_ms)) {
        if (!["total", "first_word"].includes(stage)) this.stage({ stage, state: "done", ms });
      }
    }
    const read = answer.looked_at.filter((region) => region.text).map((region) => region.text);
    const total = answer.timings_ms.total;
    return h(
      "details",
      { class: "how" },
      h("summary", {}, "How I found it", total && h("span", { class: "took" }, words.seconds(total))),
      this.stages,
      read.length > 0 && h("p", { class: "read" }, h("b", {}, "Read in the photo\n"), read.join("\n")),
    );
  }
}

function sureness({ confidence }) {
  const { words: lines, dots } = words.sureness(confidence);
  const dot = (place) => h("span", { class: place < dots ? "dot full" : "dot" });
  return h("p", { class: "sure" }, dots > 0 && h("span", { class: "dots" }, [0, 1, 2].map(dot)), lines);
}

const note = (text) => text && h("p", { class: "degraded" }, icon("warning"), text);

function sources(citations) {
  if (!citations.length) return null;
  const heading = citations.length === 1 ? "Source" : `${citations.length} sources`;
  return h("section", { class: "sources" }, h("h3", {}, heading), citations.map((each) => source(each)));
}

/** The passage closest to an answer, unfolded, with its sentence in bold. */
function closest({ closest: passage }) {
  if (!passage) return null;
  const shown = source(passage, withSentence(passage));
  shown.open = true;
  return h("section", { class: "sources closest" }, h("h3", {}, "The closest I found"), shown);
}

function source({ title, url, snippet, kind }, quote = snippet) {
  const page = webAddress(url);
  const name = { photo: "camera", image: "glass", page: "page", memory: "clock" }[kind] ?? "page";
  const link = page && { href: page.href, target: "_blank", rel: "noopener noreferrer" };
  return h(
    "details",
    { class: "source" },
    h(
      "summary",
      {},
      icon(name),
      h("span", {}, h("b", {}, title || "Untitled"), h("small", {}, words.SOURCE_KINDS[kind] ?? "")),
    ),
    kind === "memory" && thumbnail(url),
    h("blockquote", {}, quote),
    page && h("p", {}, h("a", link, `Open ${page.host}`, icon("out"))),
  );
}

/** An address that may be opened: http or https, nothing else. */
function webAddress(url) {
  try {
    const parsed = new URL(url);
    return /^https?:$/.test(parsed.protocol) ? parsed : null;
  } catch {
    return null;
  }
}

/** For a model without photos. The start, the doctor and the API say it in the same words. */
export function textOnly() {
  const services = "photos are answered by what the services read and recognise";
  return h("p", { class: "text-only" }, `The model reads text; does not see photos: ${services}.`);
}
