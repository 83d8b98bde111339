// Asks a gateway with the official Node client: ask.mjs BASE_URL PHOTO QUESTION. Prints what came as JSON.
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const [baseURL, photo, question] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const url = `data:image/jpeg;base64,${readFileSync(photo).toString("base64")}`;
const messages = [
  { role: "system", content: "Answer briefly." },
  {
    role: "user",
    content: [
      { type: "text", text: question },
      { type: "image_url", image_url: { url } },
    ],
  },
];

const models = (await client.models.list()).data.map((model) => model.id);
const whole = await client.chat.completions.create({ model: "loreglass", messages });
const streamed = [];
const stream = await client.chat.completions.create({
  model: "loreglass",
  messages,
  stream: true,
  stream_options: { include_usage: true },
});
for await (const chunk of stream) streamed.push(chunk);
const refused = await client.chat.completions
  .create({ model: "loreglass", messages, n: 2 })
  .then(() => null, (error) => ({ status: error.status, code: error.code, kind: error.constructor.name }));

console.log(JSON.stringify({ models, whole, streamed, refused }));
