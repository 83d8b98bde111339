/**
 * What an English utterance wants: an order, a question, and whether that question is about what is in front
 * of the wearer now. Function words, word order and general words only. In doubt a new photo is taken: an
 * answer about the last thing to a question about this one is worse than a photo too many.
 */

export type Order = "stop" | "quiet" | "speak";

const words = (text: string): Set<string> => new Set(text.split(" "));

const ORDERS: Record<Order, readonly string[]> = {
  stop: [
    "stop", "stop it", "stop that", "stop talking", "stop speaking", "never mind", "nevermind", "cancel",
    "cancel that", "forget it", "forget that", "enough", "that is enough", "shut up",
  ],
  quiet: ["quiet", "be quiet", "silence", "be silent", "mute", "quiet mode", "do not speak", "don't speak"],
  speak: ["speak", "speak again", "talk again", "unmute", "speak to me", "you can speak", "you can speak again"],
};
const POLITE = words("please ok okay hey oh well now just thanks so hm hmm um uh yes no");
const ASKING = words(
  "what who whom whose when where which why how is are am was were do does did can could will would should " +
    "has have had tell show explain describe read translate name identify compare repeat spell count summarize say",
);
const FUNCTION = words(
  "a an the of in on at to from by for with about as than and or but if so not no is are am was were be been " +
    "being do does did has have had can could will would should may might must what who whom whose when where " +
    "which why how i you we me my your our us it its he him his she her they them their theirs that those this " +
    "these there then else more much many also again too very really still ever yet already any some all same " +
    "tell say go on show explain repeat give get got up out please ok exactly",
);
const ANAPHOR = words("it its he him his she her hers they them their theirs that those same again else more");
const POINTING = new RegExp(
  [
    String.raw`\b(?:this|these)\b(?! (?:year|week|month|morning|afternoon|evening|time|way)\b)`,
    // Not in "is it true that …", "after that", "what does that mean", "why is that".
    String.raw`(?<!\b(?:true|sure|know|say|said|mean|think|believe|so|after|before|because|like|of|all|why is) )` +
      String.raw`\b(?:that|those)\b(?! means?\b)`,
    String.raw`\bhere\b|\bover there\b|\bahead\b|\bin front of (?:me|us)\b|\bin my hands?\b|\bon the (?:left|right)\b`,
    String.raw`\b(?:which|next|left|right|first|second|third|last|[a-z]+er|[a-z]+est) ones?\b|\bwhich of\b|\banother\b`,
    String.raw`\b(?:am i|i am|i have|you see|i see|look|looking)\b`,
    String.raw`^(?:(?:can|could) you )?(?:read|translate|spell|describe|identify|count|compare)\b`,
    String.raw`\bwhat (?:does|do) .*\bsay\b|\bwhat is (?:written|printed)\b`,
  ].join("|"),
);
const READING = /\b(?:read|written|writing|print(?:ed)?|translate|spell(?:ed)?|text|says?)\b/;

/** Lower case, without punctuation, contractions of "is" written out. */
function plain(said: string): string {
  const lower = said.toLowerCase().replaceAll("’", "'");
  const kept = lower.replace(/[^\p{L}\p{N}' ]+/gu, " ").replace(/\s+/g, " ").trim();
  return kept.replace(/\b(what|who|that|it|he|she|where|how|there|here|when)'s\b/g, "$1 is");
}

function withoutPoliteness(said: string): string {
  const left = plain(said).split(" ");
  while (left.length > 1 && POLITE.has(left[0]!)) left.shift();
  while (left.length > 1 && POLITE.has(left.at(-1)!)) left.pop();
  return left.join(" ");
}

/** The order that the whole utterance is, if it is one. */
export function orderOf(said: string): Order | undefined {
  const text = withoutPoliteness(said);
  return (Object.keys(ORDERS) as Order[]).find((order) => ORDERS[order].includes(text));
}

/** Whether it asks for something: people also talk to each other. */
export function isQuestion(said: string): boolean {
  const text = withoutPoliteness(said);
  return text !== "" && (said.includes("?") || (ASKING.has(text.split(" ")[0]!) && text.includes(" ")));
}

/** Whether what was heard is a piece of what was spoken: glasses hear themselves. A word or two are not. */
export function isEcho(said: string, spoken: string): boolean {
  const text = plain(said);
  return text.split(" ").length > 2 && ` ${plain(spoken)} `.includes(` ${text} `);
}

/** Whether letters must be legible in the photo. */
export function wantsText(said: string): boolean {
  return READING.test(plain(said));
}

/**
 * Whether it asks about what is in front of the wearer now, and not on about the last thing. `last`: the words
 * of the last question, its answer and what it was about, while these may still be meant.
 */
export function wantsPhoto(said: string, last: string | undefined): boolean {
  if (last === undefined) return true;
  const text = withoutPoliteness(said);
  if (POINTING.test(text)) return true;
  const spoken = text.split(" ");
  const mentioned = words(plain(last));
  if (repeatsName(said, mentioned)) return false;
  const named = (at: number): string[] => (spoken[at] === "the" ? upToFunctionWord(spoken.slice(at + 1)) : []);
  const isNew = (_: string, at: number): boolean => named(at).some((word) => !mentioned.has(word));
  const isOld = (word: string, at: number): boolean =>
    ANAPHOR.has(word) || (named(at).length > 0 && !isNew(word, at));
  const newAt = spoken.findIndex(isNew);
  const oldAt = spoken.findIndex(isOld);
  if (newAt >= 0) return oldAt < 0 || newAt < oldAt; // "is it the tallest tower?" is about "it"
  return oldAt < 0 && !isElliptic(text, spoken);
}

function upToFunctionWord(spoken: string[]): string[] {
  const end = spoken.findIndex((word) => FUNCTION.has(word));
  return end < 0 ? spoken : spoken.slice(0, end);
}

/** "and when?", "why?", "how tall?": the rest of it is in the last question. */
function isElliptic(text: string, spoken: string[]): boolean {
  return spoken.every((word) => FUNCTION.has(word)) || /^(?:and )?how \S+$/.test(text);
}

/** "when was Monet born?", where Monet was in the last answer. */
function repeatsName(said: string, mentioned: Set<string>): boolean {
  const [, ...rest] = said.trim().split(/\s+/);
  return rest.some((word) => /^\p{Lu}\p{L}/u.test(word) && mentioned.has(plain(word)));
}
