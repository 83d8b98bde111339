import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { logger } from "@mentra/sdk";
import { LoreglassApp } from "../src/app.js";
import { API_KEY, FakeCloud, PACKAGE } from "./fake-cloud.js";
import { FakeGateway } from "./fake-gateway.js";
import { TurnedClock } from "./turned-clock.js";

process.setMaxListeners(0); // each app of the SDK listens for the end of the process
logger.level = "silent";
console.log = console.debug = () => {}; // the SDK's, which would get into what others read from this process

export const SESSION = "XYjhe5Z9eOuk6L4a1cdqhKRfWJPq_7g6";

export interface World {
  cloud: FakeCloud;
  gateway: FakeGateway;
  clock: TurnedClock;
}

/** The app on the real SDK and a real socket, before a cloud and a gateway; `run` is a test. */
export async function inWorld(run: (world: World) => Promise<void>, gatewayUrl?: string): Promise<void> {
  const gateway = await FakeGateway.open();
  const clock = new TurnedClock();
  const settings = { packageName: PACKAGE, apiKey: API_KEY, port: 0, gatewayKey: "lg_key" };
  const app = new LoreglassApp({ ...settings, gatewayUrl: gatewayUrl ?? gateway.url }, clock);
  const http = createServer(app.getExpressApp()).listen(0, "127.0.0.1"); // `start` would ask Mentra for updates
  await once(http, "listening");
  const cloud = await FakeCloud.open(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
  try {
    await run({ cloud, gateway, clock });
  } finally {
    await cloud.close();
    http.closeAllConnections();
    http.close();
    gateway.close();
  }
}
