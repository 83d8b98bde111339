// A wearer before a real gateway: ask-gateway.js GATEWAY PHOTO {QUESTION ANSWER}. Each question is asked once the
// answer before it was said. Prints everything that was said, an array of texts for each question.
import { readFileSync } from "node:fs";
import { inWorld } from "./world.js";

const [gateway, photo, ...rest] = process.argv.slice(2);
await inWorld(async ({ cloud }) => {
  const glasses = await cloud.start("one");
  glasses.camera = () => readFileSync(photo!);
  const said: string[][] = [];
  for (let at = 0; at < rest.length; at += 2) {
    const heard: string[] = [];
    said.push(heard);
    glasses.say(rest[at]!);
    while (heard.at(-1) !== rest[at + 1]) {
      heard.push(await glasses.heard());
      console.error(heard.at(-1)); // for whoever wonders what it waits for
    }
  }
  process.stdout.write(JSON.stringify(said));
}, gateway);
