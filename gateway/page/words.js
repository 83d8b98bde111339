// Plain words for the gateway's names.

const STAGES = {
  admission: "Your turn",
  speech: "",
  transcription: "Heard what you said",
  ocr: "Read the text in the photo",
  image_search: "Compared with known pictures",
  domain_router: "Worked out the topic",
  draft: "Had a first look",
  lite_draft: "Had a first look",
  tool_router: "Decided where to look",
  object_list: "Listed what is there",
  object_selection: "Found what you mean",
  cropper: "Looked closer",
  crop_search: "Compared the details",
  select_entity: "Chose the thing in question",
  query_split: "Split the question",
  query_enhancement: "Put the question in better words",
  query_rewrite: "Put the question in better words",
  query_sampling: "Tried other words",
  tool_plan: "Made a plan",
  caption: "Described the photo",
  text_search: "Searched the pages",
  web_search: "Searched the web",
  memory: "Used the memory of what you saw",
  reranker: "Picked the best passages",
  listwise_rerank: "Picked the best passages",
  knowledge_filter: "Left out what does not help",
  answer: "Wrote the answer",
  lite_answer: "Wrote the answer",
  verifier: "Checked it against the sources",
  judge: "Checked it once more",
  session: "",
};

/** What a stage did; empty for one that concerns nobody. */
export function stageWords(stage) {
  return STAGES[stage] ?? capital(stage.replaceAll("_", " "));
}

const DEGRADED = {
  ocr: "reading the text in the photo",
  image_search: "comparing with known pictures",
  crop_search: "comparing the details",
  cropper: "looking closer",
  domain_router: "working out the topic",
  text_search: "searching the pages",
  web_search: "searching the web",
  memory: "the memory of what you saw",
  reranker: "sorting what was found",
  verifier: "checking against the sources",
  judge: "the second check",
  session: "remembering this turn",
  draft: "the model's first look",
  answer: "the model's own words",
};

/** What an answer did without, as one sentence; empty where it had everything. */
export function degradedWords(names) {
  const told = [...new Set(names.map((name) => DEGRADED[name] ?? name.replaceAll("_", " ")))];
  return told.length ? `Answered without ${told.join(", ").replace(/, ([^,]*)$/, " and $1")}.` : "";
}

/** An answer's text. Print of the photo, which is sent as one line to be spoken, gets its lines back. */
export function answerLines({ answer, citations }) {
  if (!citations.every(({ kind }) => kind === "photo")) return answer;
  const lines = [];
  let rest = answer;
  for (const { snippet } of citations) {
    if (!rest.startsWith(`${snippet} `)) break;
    lines.push(snippet);
    rest = rest.slice(snippet.length).trimStart();
  }
  return [...lines, rest].join("\n");
}

/** How sure the answer is, and how many of three dots to fill; null if confidence was not measured. */
export function sureness(confidence) {
  if (confidence === null) return { words: "Confidence not measured", dots: 0 };
  if (confidence >= 0.75) return { words: "Sure of this", dots: 3 };
  if (confidence >= 0.5) return { words: "Fairly sure of this", dots: 2 };
  return { words: "Not very sure of this", dots: 1 };
}

/** A warning that the answer was not checked; empty if it was. */
export function cautionWords(answer) {
  return answer.verification === "unverified" ? "Not checked against its sources." : "";
}

export const SOURCE_KINDS = {
  photo: "Read in your photo",
  image: "From your index",
  page: "From a page",
  web: "From the web",
  memory: "What you saw before",
};

const ADVICE = {
  model_unsure: "Come closer, hold still, or ask about one thing by its name.",
  low_confidence: "Come closer, hold still, or ask about one thing by its name.",
  unsupported: "Ask for one thing at a time, or come closer so that I can see it better.",
  no_evidence: "Come closer and fill the picture with the thing, or ask for it by its name.",
  nothing_indexed: "Pictures and pages have to be indexed first.",
  timed_out: "Ask again; it may be quicker the second time.",
  overloaded: "Ask again in a moment.",
  unavailable: "Ask again in a minute: a part of the service is down.",
  language: "Ask in English.",
  needs_photo: "Point the camera at it, or choose a photo, and ask again.",
};

/** What would help after a refusal: the gateway's word for it, or ours. */
export const adviceWords = (answer) => answer.advice || ADVICE[answer.reason] || "";

/** Returns what to say of the passage closest to an answer; empty if there is none. */
export function closestWords({ closest }) {
  if (!closest) return "";
  const { snippet, sentence = snippet } = closest;
  return `The closest I found: “${sentence}”${closest.title && ` (${closest.title})`}.`;
}

const PROBLEMS = {
  overloaded: "Too many people are asking just now.",
  not_ready: "The service is still starting.",
  dependency_unavailable: "A part of the service is not answering.",
  deadline_exceeded: "There was not enough time to answer. Ask again.",
  payload_too_large: "This is too large to send. Choose a smaller photo or say less.",
  image_too_large: "This photo has too many pixels. Choose a smaller one.",
  unsupported_image: "This file cannot be read as a photo. Choose a JPEG, PNG or WebP.",
  corrupt_image: "This photo is damaged. Take it again, or choose another.",
  not_configured: "Voice is not set up here. Type the question instead.",
  unsupported_audio: "The sound could not be read. Type the question instead.",
  corrupt_audio: "The sound could not be read. Speak again, or type.",
  unauthorized: "A key is needed to ask here.",
  internal: "Something went wrong on our side. Ask again.",
  offline: "You are offline.",
};

/** A failure as a plain sentence. `refused`: its kind, and the detail that the gateway sent with it. */
export const problemWords = ({ kind, detail }) => PROBLEMS[kind] ?? detail ?? PROBLEMS.internal;

/** Why there is no camera, by the name of what getUserMedia threw. */
export function cameraWords(name) {
  const told = {
    NotAllowedError: "The camera is not allowed here. Allow it in the browser's settings, or choose a photo.",
    NotFoundError: isSecureContext
      ? "There is no camera here. Choose a photo, drop one, or paste one."
      : "Browsers allow the camera only over HTTPS. Choose a photo, drop one, or paste one.",
    NotReadableError: "Another program uses the camera. Close it there, or choose a photo.",
  };
  return told[name] ?? "The camera could not be opened. Choose a photo.";
}

/** Why a question waits, and for how long. */
export function waitWords(why, wait) {
  if (why.kind === "offline") return "You are offline. The question will be sent when you reconnect.";
  const when = why.until === "woken" ? "" : ` Trying again in ${Math.ceil(wait)} s.`;
  return problemWords(why) + when;
}

export const seconds = (ms) => (ms < 50 ? "at once" : `${(ms / 1000).toFixed(1)} s`);

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
