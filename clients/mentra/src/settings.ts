/** `gatewayKey`: none where the gateway asks for none. */
export interface Settings {
  packageName: string;
  apiKey: string;
  port: number;
  gatewayUrl: string;
  gatewayKey: string | undefined;
}

/** The settings of an environment. Raises an `Error` that names what is missing or wrong. */
export function readSettings(environment: Record<string, string | undefined>): Settings {
  const missing = ["MENTRA_PACKAGE_NAME", "MENTRA_API_KEY", "LOREGLASS_URL"].filter((name) => !environment[name]);
  if (missing.length > 0) throw new Error(`Set ${missing.join(", ")} (see README.md).`);
  const port = Number(environment["PORT"] ?? "7010");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error("PORT: must be from 1 to 65535.");
  const gatewayUrl = environment["LOREGLASS_URL"]!;
  if (!/^https?:\/\/[^/?#]+(?:\/[^?#]*)?$/.test(gatewayUrl)) {
    throw new Error("LOREGLASS_URL: must be an address, as in https://loreglass.example.org.");
  }
  return {
    packageName: environment["MENTRA_PACKAGE_NAME"]!,
    apiKey: environment["MENTRA_API_KEY"]!,
    port,
    gatewayUrl,
    gatewayKey: environment["LOREGLASS_API_KEY"] || undefined,
  };
}
