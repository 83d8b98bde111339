import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isEcho, isQuestion, orderOf, wantsPhoto, wantsText } from "../src/meaning.js";

const LAST = "How high is this tower? The Harbour Tower is 111 metres high. It was drawn by Ada Lane. Harbour Tower";

describe("a new photo is taken for", () => {
  for (const said of [
    "And this one?",
    "What is that?",
    "What's that?",
    "How old is that?",
    "And that one over there?",
    "How much do these cost?",
    "What about the other one?",
    "Which one is cheaper?",
    "Who built the bridge?",
    "What does the sign say?",
    "Read the menu.",
    "Could you translate it, please?",
    "What am I looking at?",
    "Is there a museum nearby?",
    "How much does a helmet cost?",
    "What is the one on the left?",
    "When did the train leave, and was it late?",
    "Who is Napoleon?",
    "Ok, and what is in front of me now?",
  ]) {
    test(said, () => assert.equal(wantsPhoto(said, LAST), true));
  }
});

describe("no new photo is taken for", () => {
  for (const said of [
    "Who built it?",
    "When was he born?",
    "And when?",
    "Why?",
    "How long?",
    "Tell me more.",
    "Please say that again.",
    "What else?",
    "Is it the highest tower in the world?",
    "Is it true that it moves in the wind?",
    "What does that mean?",
    "Who paid for the tower?",
    "When was the Harbour Tower opened?",
    "When was Ada Lane born?",
    "Was it open this year?",
    "Why is that?",
  ]) {
    test(said, () => assert.equal(wantsPhoto(said, LAST), false));
  }
});

test("the first question is about what is seen, whatever its words", () => {
  assert.equal(wantsPhoto("Who built it?", undefined), true);
});

describe("orders are whole utterances", () => {
  for (const [said, order] of [
    ["Stop.", "stop"],
    ["Okay, stop it please.", "stop"],
    ["Never mind!", "stop"],
    ["That's enough, thanks.", "stop"],
    ["Be quiet.", "quiet"],
    ["Please don’t speak.", "quiet"],
    ["You can speak again now.", "speak"],
    ["Where does the bus stop?", undefined],
    ["Never mind the price, who made it?", undefined],
  ] as const) {
    test(said, () => assert.equal(orderOf(said), order));
  }
});

test("talk that asks for nothing is not a question", () => {
  const asks = ["What is this", "Read this", "So, who wrote it", "The red one?", "And the author?"];
  const does_not = ["I had lunch with her", "Thank you", "Okay", "Go home", "And then we left", "No, I don't think so", "", "…", "What"];
  assert.deepEqual(asks.filter((said) => !isQuestion(said)), []);
  assert.deepEqual(does_not.filter(isQuestion), []);
});

test("words that the glasses just said are an echo, short ones never", () => {
  const spoken = "This is the Harbour Tower. Is it open? It's open on Sundays.";
  assert.equal(isEcho("this is the harbour tower", spoken), true);
  assert.equal(isEcho("Is it open?", "It is not known. Ask: is it open?"), true);
  assert.equal(isEcho("Is this the Harbour Tower?", spoken), false);
  assert.equal(isEcho("Open?", spoken), false);
});

test("letters must be legible where they are asked for", () => {
  const text = ["Read this", "What does it say?", "what's written here", "Translate this text"];
  const things = ["What is this?", "Who built the tower?", "How old is she?"];
  assert.deepEqual(text.filter((said) => !wantsText(said)), []);
  assert.deepEqual(things.filter(wantsText), []);
});
