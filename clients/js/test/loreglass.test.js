// The client before a scripted server: requests, streams, conversations, retries, errors.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { Loreglass, LoreglassError } from "../loreglass.js";

const ANSWER = { answer: "A mill.", abstained: false, degraded: [], session_id: "s1", citations: [] };
const problem = (kind, status, more = {}) =>
  JSON.stringify({ type: `urn:loreglass:problem:${kind}`, title: "", status, detail: `It is ${kind}.`, ...more });

/** A server that gives each request the next reply: `[status, headers, ...pieces]`, or null to break off. */
async function served(replies, use, options = {}) {
  const requests = [];
  const slept = [];
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    requests.push({ method: request.method, path: request.url, headers: request.headers, body: Buffer.concat(pieces).toString("latin1") });
    const reply = replies.shift();
    if (reply === null) return request.socket.destroy();
    if (reply === "hang") return;
    const [status, headers, ...body] = reply;
    response.writeHead(status, headers);
    for (const piece of body) {
      response.write(piece);
      await new Promise((done) => setTimeout(done, 5));
    }
    response.end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const sleep = async (ms) => void slept.push(ms);
  const client = new Loreglass(`http://127.0.0.1:${server.address().port}/`, { sleep, random: () => 1, ...options });
  try {
    await use(client, requests, slept);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const ok = (body = ANSWER) => [200, { "Content-Type": "application/json" }, JSON.stringify(body)];
const fails = (kind) => (error) => error instanceof LoreglassError && error.kind === kind;

test("a question in words goes as JSON with key and deadline", () =>
  served([ok()], async (client, requests) => {
    const answer = await client.ask("What is it?", null, { deadlineMs: 2000, pipeline: "loreglass" });
    assert.deepEqual(answer, ANSWER);
    const [{ method, path, headers, body }] = requests;
    assert.deepEqual([method, path, headers.authorization], ["POST", "/answer", "Bearer lg_key"]);
    assert.deepEqual(JSON.parse(body), { question: "What is it?", deadline_ms: 2000, pipeline: "loreglass" });
    assert.match(headers["idempotency-key"], /^[0-9a-f]{32}$/);
    assert.ok(Number(headers["x-deadline-ms"]) <= 7000);
  }, { key: "lg_key" }));

test("consent to a memory goes along as an object, in a form as JSON", () =>
  served([ok(), ok()], async (client, requests) => {
    const memory = { id: "m".repeat(32), place: "home" };
    await client.ask("Where did I see it?", null, { memory });
    await client.ask("What is it?", new Blob(["photo!"]), { memory });
    assert.deepEqual(JSON.parse(requests[0].body).memory, memory);
    assert.ok(requests[1].body.includes(JSON.stringify(memory)));
  }));

test("a photo goes as a form, from every kind of bytes", () =>
  served([ok(), ok(), ok()], async (client, requests) => {
    const bytes = new TextEncoder().encode("photo!");
    for (const photo of [bytes, bytes.buffer, new Blob([bytes])]) await client.ask("What is it?", photo);
    for (const { headers, body } of requests) {
      assert.match(headers["content-type"], /^multipart\/form-data/);
      assert.match(body, /name="image"; filename="image"[^]*photo!/);
      assert.match(body, /name="question"\r\n\r\nWhat is it\?/);
    }
  }));

test("events arrive in pieces of any size, with comments and CRLF", () => {
  const text = ": beat\r\n\r\nevent: identified\r\ndata: {\"entity\": \"Mühle\"}\r\n\r\nevent: new\ndata: {}\n\n" +
    `event: final\ndata: ${JSON.stringify(ANSWER)}\n\n`;
  const whole = Buffer.from(text);
  const cut = whole.indexOf(0xc3) + 1; // in the middle of a letter
  return served([[200, {}, whole.subarray(0, cut), whole.subarray(cut)]], async (client) => {
    const events = [];
    for await (const each of client.stream("What is it?")) events.push(each);
    assert.deepEqual(events.map(({ event }) => event), ["identified", "new", "final"]);
    assert.equal(events[0].data.entity, "Mühle");
    assert.deepEqual(events[2].data, ANSWER);
  });
});

test("a stream that ends in an error or too early throws, and is not sent again", () => {
  const begun = 'event: token\ndata: {"text": "A"}\n\n';
  const failed = `${begun}event: error\ndata: ${problem("internal", 500)}\n\n`;
  return served([[200, {}, failed], [200, {}, begun]], async (client, requests) => {
    for (const kind of ["internal", "unreachable"]) {
      await assert.rejects(async () => {
        for await (const _ of client.stream("?")) continue;
      }, fails(kind));
    }
    assert.equal(requests.length, 2);
  });
});

test("a conversation sends its photo once and then its session", () =>
  served([ok(), ok(), [204, {}]], async (client, requests) => {
    const talk = client.conversation(new Uint8Array([1]));
    await talk.ask("What is it?");
    await talk.ask("Who built it?");
    assert.equal(talk.sessionId, "s1");
    await talk.forget();
    assert.match(requests[0].body, /name="image"/);
    assert.deepEqual(JSON.parse(requests[1].body), { question: "Who built it?", session_id: "s1" });
    assert.deepEqual([requests[2].method, requests[2].path], ["DELETE", "/sessions/s1"]);
    assert.equal(talk.sessionId, null);
  }));

test("a turn that was not stored leaves the conversation as it was", () =>
  served([ok({ ...ANSWER, degraded: ["session"] }), ok()], async (client, requests) => {
    const talk = client.conversation(new Uint8Array([1]));
    await talk.ask("What is it?");
    await talk.ask("What is it?");
    assert.match(requests[1].body, /name="image"/);
    assert.doesNotMatch(requests[1].body, /session_id/);
  }));

test("a conversation that is gone is forgotten without an error", () =>
  served([[404, {}, problem("session_not_found", 404)]], (client) => client.forget("s1")));

test("a broken connection and a busy gateway are tried again with one key", () =>
  served([null, [503, { "Retry-After": "2" }, problem("overloaded", 503)], ok()], async (client, requests, slept) => {
    assert.deepEqual(await client.ask("?"), ANSWER);
    assert.deepEqual(slept, [250, 2000]);
    assert.equal(new Set(requests.map(({ headers }) => headers["idempotency-key"])).size, 1);
  }));

test("no retry goes beyond the deadline or the number of attempts", async () => {
  const busy = () => [503, { "Retry-After": "2" }, problem("overloaded", 503, { trace_id: "t1" })];
  await served([busy()], async (client) => {
    const error = await client.ask("?", null, { deadlineMs: 1500 }).catch((thrown) => thrown);
    assert.deepEqual([error.kind, error.status, error.traceId, error.retryAfterMs], ["overloaded", 503, "t1", 2000]);
    assert.equal(error.message, "It is overloaded.");
  });
  await served([null, null, null], (client) => assert.rejects(client.ask("?"), fails("unreachable")), {
    retries: { most: 2 },
  });
});

test("replies that are not the gateway's have kinds of their own", () =>
  served([[404, {}, "<html>"], [200, {}, "<html>"], [502, {}, "<html>"]], async (client) => {
    await assert.rejects(client.ready(), fails("broken_reply"));
    await assert.rejects(client.ready(), fails("broken_reply"));
    await assert.rejects(client.ready(), fails("unreachable"));
  }, { retries: { most: 0 } }));

test("a silent gateway is given up in time, and a signal stops at once", () =>
  served(["hang", "hang"], async (client) => {
    await assert.rejects(client.ready(), fails("deadline_exceeded"));
    const stop = new AbortController();
    const asked = client.ask("?", null, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await assert.rejects(asked, /enough/);
  }, { timeoutMs: 150 }));
