// Why a question was refused: what was measured, what it was held against, and the evidence that was seen.

import { h } from "/page/dom.js";

/** Signals of an explanation with the threshold that each had to reach. */
const CHECKS = [
  ["answer_confidence", "answer_confidence", "Confidence of the answer"],
  ["support", "supported", "Support by the evidence"],
  ["judged", "judged", "The model judge"],
  ["token_min", "token_min", "The least certain word"],
  ["token_mean", "token_mean", "Certainty of the words"],
  ["image_top", "same_thing", "Likeness of the photo to an indexed one"],
];
const share = (number) => number.toFixed(2);

/** Elements below a refusal; without an explanation, how to get one. */
export function why({ explanation }) {
  if (!explanation) return [h("p", {}, "Start with LOREGLASS_GATEWAY_EXPERIMENTS=true to see what was checked.")];
  const { proposed, signals, thresholds, evidence } = explanation;
  const checks = CHECKS.filter(([signal, threshold]) => signal in signals && threshold in thresholds);
  return [
    h("h3", {}, "Why it was refused"),
    proposed && h("p", {}, "The answer that was withheld: ", h("b", {}, proposed)),
    checks.length > 0 && h("ul", { class: "checks" }, checks.map((check) => checked(check, signals, thresholds))),
    h(
      "details",
      { class: "evidence" },
      h("summary", {}, `Evidence that was seen: ${evidence.length}`),
      evidence.map(({ title, text, score }) =>
        h("p", { class: "source" }, h("b", {}, `${title || "Untitled"} · ${share(score)}`), h("small", {}, text)),
      ),
    ),
  ].filter(Boolean);
}

function checked([signal, threshold, name], signals, thresholds) {
  const [value, needed] = [signals[signal], thresholds[threshold]];
  const fails = value < needed;
  const words = `${name}: ${share(value)}, needed ${share(needed)}${fails ? " (too low)" : ""}`;
  return h("li", { class: fails && "fault" }, words);
}
