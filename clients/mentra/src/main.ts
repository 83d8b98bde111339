import { logger } from "@mentra/sdk";
import { LoreglassApp } from "./app.js";
import { systemClock } from "./clock.js";
import { type Settings, readSettings } from "./settings.js";

function settingsOrExit(): Settings {
  try {
    return readSettings(process.env);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

const settings = settingsOrExit();
logger.level = "warn"; // below that the SDK logs what is said
await new LoreglassApp(settings, systemClock).start();
console.log(`Loreglass for MentraOS listens on port ${settings.port} and asks ${settings.gatewayUrl}`);
