import { logger } from "@mentra/sdk";
import { LoreglassApp, type Settings } from "./app.js";
import { systemClock } from "./clock.js";

/** The settings of an environment. Throws an `Error` that names what is missing or wrong. */
function settingsOf(environment: Record<string, string | undefined>): Settings {
  const names = ["MENTRA_PACKAGE_NAME", "MENTRA_API_KEY", "LOREGLASS_GATEWAY_URL"];
  const missing = names.filter((name) => !environment[name]);
  if (missing.length > 0) throw new Error(`Set ${missing.join(", ")}: README.md says how.`);
  const [packageName, apiKey, url] = names.map((name) => environment[name]!) as [string, string, string];
  const port = Number(environment["PORT"] || "7010");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error("PORT: must be from 1 to 65535.");
  if (!/^https?:\/\/[^/?#]+(?:\/[^?#]*)?$/.test(url)) {
    throw new Error("LOREGLASS_GATEWAY_URL: must be an address, as in https://loreglass.example.org.");
  }
  const gatewayKey = environment["LOREGLASS_API_KEY"] || undefined;
  return { packageName, apiKey, port, gatewayUrl: url.replace(/\/+$/, ""), gatewayKey };
}

try {
  const settings = settingsOf(process.env);
  logger.level = "warn"; // below that the SDK logs what is said
  await new LoreglassApp(settings, systemClock).start();
  console.log(`Loreglass for MentraOS listens on port ${settings.port} and asks ${settings.gatewayUrl}`);
} catch (error) {
  console.error((error as Error).message);
  process.exit(2);
}
