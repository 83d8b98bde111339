// The page: puts its parts together. A question goes from here into the outbox; what becomes of it comes back here.

import { bytesOf, openDevices, photoOfFile, sideFor } from "./camera.js";
import { Conversation } from "./conversation.js";
import { Countdown } from "./countdown.js";
import { apiKey, openKeyDialog, setUpDialogs } from "./dialogs.js";
import { byId } from "./dom.js";
import { isPhoto, setUpFiles } from "./files.js";
import { setUpHold } from "./hold.js";
import { History } from "./history.js";
import { join } from "./join.js";
import { Memory } from "./memory.js";
import { Microphone } from "./microphone.js";
import { Outbox } from "./outbox.js";
import { nothingIndexed, sampleQuestions } from "./sample.js";
import { Stage } from "./stage.js";
import { freshId, nextMoment, openStore, remember, remembered } from "./store.js";
import { textOnly, TurnView } from "./turns.js";
import { Voice } from "./voice.js";
import * as words from "./words.js";

const USUAL_DEADLINE_MS = 10_000;
const MOST_TURNS = 50; // that this browser keeps

const store = await openStore();
const conversation = new Conversation();
const views = new Map(); // of turns, by id
let setup = remembered("setup", { voice: true, empty: false, deadline_ms: USUAL_DEADLINE_MS, operator: false });
let newest = null; // the turn that is spoken
let putting = Promise.resolve(); // questions on their way into the outbox
let opening = null; // camera and microphone, while the browser asks for leave
let arriving = null; // a photo that will soon be seen: what is asked now is about that one
let listening = null; // what the button that is held began

const stage = new Stage({ onChange: stageChanged });
const voice = new Voice({ onChange: showVoice, onWord: () => performance.mark("first-word") });
const countdown = new Countdown((id, left) => views.get(id)?.timeLeft(left));
const microphone = new Microphone({ onLevel: showLevel, onFull: () => hold.stop() });
const memory = new Memory();
const outbox = new Outbox(store, {
  apiKey,
  conversation,
  on: { begun, event: heard, answered, failed, delayed, cancelled, keyNeeded },
});
const hold = setUpHold(byId("hold"), { enabled: () => setup.voice, begin: listen, end: said, drop: unsaid });

// ---- asking ----

/** Put a question into the outbox, with the photo that is seen; one after the other. */
function put(asked) {
  putting = putting
    .then(() => putNow(asked))
    .catch(() => {
      byId("question").value ||= asked.question ?? "";
      hint("This browser could not save the question. Ask again.");
    });
  return putting;
}

async function putNow({ question = "", audio = null }) {
  await arriving;
  if (!stage.shown && stage.isLive) freeze();
  const photo = stage.shown;
  const blob = photo && (await bytesOf(photo, sideFor(question)));
  const turn = {
    ...{ id: freshId(), at: nextMoment(), key: freshId(), status: "waiting", sent: null },
    ...{ question, audio, answer: null, problem: null },
    ...{ photo: blob, photoId: photo?.id ?? null, width: photo?.width ?? null, height: photo?.height ?? null },
  };
  await store.put(turn);
  voice.stop();
  newest = turn.id;
  add(turn).element.scrollIntoView({ block: "start" });
  outbox.wake();
}

function askWritten(question) {
  performance.mark("release");
  if (matchMedia("(pointer: coarse)").matches) byId("question").blur(); // the keyboard would hide the answer
  return put({ question });
}

byId("dock").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = byId("question").value.trim();
  byId("question").value = "";
  return question ? askWritten(question) : byId("question").focus();
});
for (const example of document.querySelectorAll("#examples button")) {
  example.addEventListener("click", () => askWritten(example.textContent));
}

// ---- talking ----

async function listen() {
  voice.stop();
  const mine = (listening = {});
  if (!microphone.isLive && (microphone.track || !stage.isLive)) await openAll(); // it may have been unplugged
  if (listening !== mine) return; // let go while the browser asked for leave
  if (!microphone.isLive) return hint("There is no microphone here. Type the question.");
  if (!stage.shown && stage.isLive) freeze();
  document.body.dataset.talking = "yes";
  byId("hold-words").textContent = "Listening. Let go to ask.";
  announce("Listening");
  await microphone.start();
}

function said() {
  quiet();
  performance.mark("release");
  const deaf = microphone.context?.state === "suspended"; // the first touch of a visit: the next one is heard
  const audio = microphone.track && microphone.stop();
  if (audio) return put({ audio });
  return hint(deaf ? "Press once more, and speak." : "Hold the button while you speak.");
}

for (const gesture of ["pointerup", "click", "keydown"]) {
  document.addEventListener(gesture, () => (microphone.prime(), voice.prime()));
}

function unsaid() {
  quiet();
  if (microphone.track) microphone.stop();
}

function quiet() {
  listening = null;
  delete document.body.dataset.talking;
  showHold();
  showLevel(0);
}

function showLevel(level) {
  byId("level").style.transform = `scale(${1 + Math.min(1, level * 2) * 0.35})`;
}

/** The button's name, and what it is for where there is no voice: look, then type. */
function showHold() {
  document.body.dataset.voice = setup.voice ? "yes" : "no";
  byId("hold-name").textContent = setup.voice ? "Hold to talk" : "Type a question";
  byId("hold-words").textContent = setup.voice ? "Hold and speak" : "Type a question";
  byId("hold-help").textContent = setup.voice ? "Hold the button and speak, or type." : "Type your question.";
}

byId("hold").addEventListener("click", () => {
  if (setup.voice) return;
  if (!stage.shown && stage.isLive) freeze();
  byId("question").focus();
});

// ---- looking ----

function openAll() {
  opening ??= openNow().finally(() => (opening = null));
  return opening;
}

async function openNow() {
  try {
    const stream = await openDevices(setup.voice);
    if (!stream) throw new DOMException("no devices", "NotFoundError");
    if (setup.voice && stream.getAudioTracks().length) await microphone.attach(stream);
    if (stream.getVideoTracks().length) await stage.attach(stream);
  } catch (error) {
    noCamera(error);
  }
}

function noCamera({ name }) {
  byId("no-camera").hidden = false;
  byId("no-camera").textContent = words.cameraWords(name);
  announce(byId("no-camera").textContent);
}

function freeze() {
  stage.freeze(freshId());
  byId("flash").animate?.([{ opacity: 0.7 }, { opacity: 0 }], { duration: 250 });
}

/** Questions wait for a photo that will be seen. */
function soon(photo) {
  arriving = photo.catch(() => hint("This photo cannot be shown."));
}

async function arrive(file) {
  if (!isPhoto(file)) return hint("This file is not a photo.");
  stage.show({ id: freshId(), ...(await photoOfFile(file)) });
  announce("The photo is there. Ask about it.");
  return byId("question").focus({ preventScroll: true });
}

function stageChanged(showing) {
  document.body.dataset.showing = showing;
  document.body.removeAttribute("data-large");
  byId("again-words").textContent = showing === "live" ? "Freeze" : "New photo";
  byId("again").disabled = showing !== "live" && !stage.isLive && !stage.shown;
  byId("hint").textContent = showing === "live" ? "Point at a thing and ask" : "";
}

function hint(text) {
  byId("hint").textContent = text;
  announce(text);
}

byId("open-camera").addEventListener("click", openAll);
byId("regions").addEventListener("click", enlarge);
byId("again").addEventListener("click", () => (stage.shown ? stage.look() : freeze()));
setUpFiles((file) => soon(arrive(file)));

// ---- what becomes of a question ----

function add(turn) {
  const show = (shown) => soon(showTurn(shown));
  const say = (spoken) => {
    voice.stop();
    speak(spoken);
  };
  const view = new TurnView(turn, { show, cancel: (one) => outbox.cancel(one), again, say, indexed });
  views.get(turn.id)?.element.remove();
  views.set(turn.id, view);
  byId("turns").append(view.element);
  document.body.dataset.talk = "some";
  return view;
}

/** The turn's view, which shows the turn as it is now. */
function viewOf(turn) {
  const view = views.get(turn.id) ?? add(turn);
  view.turn = turn;
  return view;
}

function begun(turn) {
  viewOf(turn).asking();
  countdown.begin(turn.id, setup.deadline_ms);
}

function heard(turn, event, data) {
  offline(false);
  const view = viewOf(turn);
  if (event === "stage") {
    view.stage(data);
    countdown.correct(data.left_ms);
  } else if (event === "transcript") {
    view.tellQuestion(data.text);
  } else if (event === "identified") {
    view.identified(data);
    announce(data.sentence);
    if (turn.id === newest) {
      performance.mark("first-said");
      voice.say(data.sentence);
    }
  }
}

function answered(turn) {
  countdown.stop();
  offline(false);
  const view = viewOf(turn);
  view.answered();
  announce(spoken(turn.answer));
  if (turn.photoId && stage.shown?.id === turn.photoId) stage.show(stage.shown, turn);
  if (turn.id !== newest) return;
  performance.mark("answer");
  view.element.scrollIntoView({ block: "start" });
  speak(turn); // after what the thing is, where that is still being said
}

function failed(turn) {
  countdown.stop();
  offline(false);
  viewOf(turn).failed();
  announce(words.problemWords(turn.problem));
  if (turn.problem.kind !== "not_configured") return;
  setup = { ...setup, voice: false };
  showHold();
  byId("question").focus();
}

function delayed(turn, why, wait) {
  countdown.stop();
  offline(why.kind === "offline");
  viewOf(turn).waiting(words.waitWords(why, wait));
  announce(words.waitWords(why, wait));
}

function keyNeeded() {
  openKeyDialog(apiKey() ? "This key is not valid. It may be mistyped or revoked." : "");
}

function cancelled({ id }) {
  if (countdown.current?.id === id) countdown.stop();
  takeAway(id);
}

function takeAway(id) {
  views.get(id)?.takeAway();
  views.delete(id);
}

async function again(turn) {
  if (!views.has(turn.id)) return; // pressed twice
  const anew = { ...turn, id: freshId(), at: nextMoment(), key: freshId() };
  Object.assign(anew, { status: "waiting", sent: null, answer: null, problem: null, refusals: 0 });
  takeAway(turn.id);
  await store.put(anew);
  await store.remove(turn.id);
  newest = anew.id;
  add(anew);
  outbox.wake();
}

/** An earlier turn's photo; the one that is there already, large. */
async function showTurn(turn) {
  if (stage.turn === turn.id) return enlarge();
  const { photo, photoId: id, width, height } = turn;
  return stage.show({ id, width, height, picture: await createImageBitmap(photo) }, turn);
}

function enlarge() {
  document.body.toggleAttribute("data-large");
}

function speak(turn) {
  const text = spoken(turn.answer);
  if (turn.answer.speech) voice.play(turn.answer.speech, text);
  else voice.say(text);
}

/** What is said of an answer: itself, and after a refusal the closest passage and what would help. */
const spoken = (answer) =>
  answer.abstained
    ? [answer.answer, words.closestWords(answer), words.adviceWords(answer)].filter(Boolean).join(" ")
    : answer.answer;

// ---- the rest ----

function announce(text) {
  byId("status").textContent = text;
}

function offline(isOffline) {
  byId("offline").hidden = !isOffline;
}

/** "Stop" takes the place of "Voice" while something is said. */
function showVoice() {
  if (!voice.speaking && document.activeElement === byId("stop")) queueMicrotask(() => byId("sound").focus());
  byId("speaking").hidden = !voice.speaking;
  byId("sound").hidden = voice.speaking;
  byId("sound").setAttribute("aria-pressed", String(!voice.muted));
}

byId("stop").addEventListener("click", () => voice.stop());
byId("sound").addEventListener("click", () => {
  voice.mute(!voice.muted);
  showVoice();
});
document.addEventListener("keydown", (event) => event.key === "Escape" && voice.stop());

async function forget(turn) {
  if (turn.status === "waiting") return outbox.cancel(turn);
  await store.remove(turn.id);
  takeAway(turn.id);
  document.body.dataset.talk = views.size ? "some" : "none";
  return null;
}

async function newConversation() {
  for (const turn of await store.all()) if (turn.status !== "waiting") await forget(turn);
  const { session } = conversation.known();
  conversation.forget();
  stage.look();
  announce("A new conversation.");
  if (!session) return;
  const headers = apiKey() ? { Authorization: `Bearer ${apiKey()}` } : {};
  const path = `/sessions/${session}?keep_memory=true`;
  await fetch(path, { method: "DELETE", headers }).catch(() => {}); // it expires by itself
}

/** What is set up on the other side; without a network, what it was last time. */
async function askSetup() {
  try {
    const reply = await fetch("/page/setup.json");
    if (!reply.ok) return;
    setup = await reply.json();
    remember("setup", setup);
  } catch {
    return;
  }
  byId("operator").hidden = !setup.operator;
  memory.setUp(setup.memory_days);
  notice(setup.empty && nothingIndexed(indexed), setup.sees_photos === false && textOnly());
  showHold();
}

function notice(...elements) {
  byId("notice").replaceChildren(...elements.filter(Boolean));
  document.body.dataset.notice = byId("notice").childElementCount ? "yes" : "no";
}

/** The sample was indexed: what can be asked about it. */
async function indexed() {
  await askSetup();
  const ask = (file, question) => {
    soon(arrive(file));
    return put({ question });
  };
  notice(await sampleQuestions(ask));
  announce("The sample is indexed.");
}

new History(store, {
  show: ({ id }) => views.get(id)?.element.scrollIntoView({ block: "start" }),
  remove: forget,
  clear: async () => {
    for (const turn of await store.all()) await forget(turn);
    await newConversation();
  },
});
setUpDialogs({ onKey: () => outbox.wake(), onNew: newConversation });
window.addEventListener("online", () => outbox.wake());
document.addEventListener("visibilitychange", () => document.hidden || outbox.wake());
navigator.serviceWorker?.register("/page/sw.js", { scope: "/" }).catch(() => {}); // then a network is needed

showHold();
showVoice();
stage.look();
const fault = await join();
if (fault) openKeyDialog(fault);
const turns = await store.all();
for (const turn of turns.slice(-MOST_TURNS)) add(turn);
for (const turn of turns.slice(0, -MOST_TURNS)) if (turn.status !== "waiting") store.remove(turn.id);
outbox.wake();
await askSetup();
const allowed = await navigator.permissions?.query({ name: "camera" }).catch(() => null);
if (allowed?.state === "granted") openAll();
document.body.dataset.ready = "yes";
performance.mark("interactive");
