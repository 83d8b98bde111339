import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Bodies as the gateway sends them; a test in Python holds them against its contracts. */
export const REPLIES = JSON.parse(readFileSync(new URL("../../test/replies.json", import.meta.url), "utf8")) as {
  answers: Record<string, object>;
  identified: { entity: string; sentence: string };
  problems: Record<string, { status: number }>;
};

export interface Asked {
  headers: IncomingMessage["headers"];
  question: string;
  sessionId: string | null;
  /** The photo's bytes as text. */
  photo: string | undefined;
}

type Reply = (response: ServerResponse) => void;

/** `POST /answer` of a gateway: each request gets the next of the replies that a test has put down. */
export class FakeGateway {
  readonly asked: Asked[] = [];
  private readonly replies: Reply[] = [];

  private constructor(private readonly http: Server) {
    http.on("request", (request, response) => void this.serve(request, response));
  }

  static async open(): Promise<FakeGateway> {
    const http = createServer();
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    return new FakeGateway(http);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  will(...replies: Reply[]): void {
    this.replies.push(...replies);
  }

  close(): void {
    this.http.closeAllConnections();
    this.http.close();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = { "Content-Type": request.headers["content-type"] ?? "" };
    const form = await new Response(Buffer.concat(chunks), { headers }).formData();
    const image = form.get("image");
    this.asked.push({
      headers: request.headers,
      question: String(form.get("question")),
      sessionId: form.get("session_id") as string | null,
      photo: image instanceof Blob ? await image.text() : undefined,
    });
    const reply = this.replies.shift();
    if (reply === undefined) throw new Error("a question that no test expected");
    reply(response);
  }
}

const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

const begin = (response: ServerResponse, text: string): void => {
  response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  response.write(":\n\n" + event("stage", { stage: "draft", state: "done", ms: 1, left_ms: 9 }) + text);
};
const final = (name: string, changes: object): string => event("final", { ...REPLIES.answers[name], ...changes });

export const IDENTIFIED = event("identified", REPLIES.identified);

/** A stream with the answer of this name, `changes` made; `before` it other events. */
export function answers(name: string, changes: object = {}, before = ""): Reply {
  return (response) => {
    begin(response, before);
    response.end(final(name, changes));
  };
}

/** A stream that says what the thing is, and the answer only when it is let go. */
export class Held {
  readonly gone: Promise<void>;
  go: (name: string) => void = () => {};
  private left = () => {};

  constructor() {
    this.gone = new Promise((resolve) => (this.left = resolve));
  }

  readonly reply: Reply = (response) => {
    response.on("close", this.left);
    this.go = (name) => void response.end(final(name, {}));
    begin(response, IDENTIFIED);
  };
}

export function refuses(name: string, headers: Record<string, string> = {}): Reply {
  return (response) => {
    const body = REPLIES.problems[name]!;
    response.writeHead(body.status, { "Content-Type": "application/problem+json", ...headers });
    response.end(JSON.stringify(body));
  };
}

export function failsLate(name: string): Reply {
  return (response) => {
    begin(response, IDENTIFIED);
    response.end(event("error", REPLIES.problems[name]!));
  };
}

/** The connection ends in the middle of the stream. */
export const breaks: Reply = (response) => {
  begin(response, "");
  response.destroy();
};

/** Nothing is ever said. */
export const keepsSilent: Reply = () => {};

export const somethingElse: Reply = (response) => {
  response.writeHead(404, { "Content-Type": "text/html" }).end("<h1>Nothing here</h1>");
};
