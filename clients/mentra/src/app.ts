import { AppServer, type AppSession } from "@mentra/sdk";
import type { Clock } from "./clock.js";
import { Gateway } from "./gateway.js";
import { Wearer } from "./wearer.js";

/** `gatewayUrl`: without a slash at its end. `gatewayKey`: none where the gateway asks for none. */
export interface Settings {
  packageName: string;
  apiKey: string;
  port: number;
  gatewayUrl: string;
  gatewayKey: string | undefined;
}

/** Answers wearers' questions about what they see, each wearer by itself. */
export class LoreglassApp extends AppServer {
  private readonly wearers = new Map<string, Wearer>();
  private readonly gateway: Gateway;

  constructor({ packageName, apiKey, port, gatewayUrl, gatewayKey }: Settings, private readonly clock: Clock) {
    super({ packageName, apiKey, port });
    this.gateway = new Gateway(gatewayUrl, gatewayKey, clock);
  }

  protected override async onSession(session: AppSession, sessionId: string): Promise<void> {
    this.wearers.get(sessionId)?.close(); // the cloud may start a session anew
    const wearer = new Wearer(session, this.gateway, this.clock);
    this.wearers.set(sessionId, wearer);
    session.events.onTranscription(({ text, isFinal }) => {
      if (isFinal) wearer.hear(text);
    });
    session.events.onPermissionDenied(({ requiredPermission }) =>
      wearer.tell(`This app lacks a permission: ${requiredPermission}.`),
    );
  }

  protected override async onStop(sessionId: string, userId: string, reason: string): Promise<void> {
    this.wearers.get(sessionId)?.close();
    this.wearers.delete(sessionId);
    this.cleanupPhotoRequestsForSession(sessionId); // the SDK would keep them for half a minute
    await super.onStop(sessionId, userId, reason);
  }
}
