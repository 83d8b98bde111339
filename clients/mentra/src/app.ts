import { AppServer, type AppSession } from "@mentra/sdk";
import type { Clock } from "./clock.js";
import { Gateway } from "./gateway.js";
import type { Settings } from "./settings.js";
import { Wearer } from "./wearer.js";

/** Answers wearers' questions about what they see, each wearer by itself. */
export class LoreglassApp extends AppServer {
  private readonly wearers = new Map<string, Wearer>();
  private readonly gateway: Gateway;

  constructor(
    settings: Settings,
    private readonly clock: Clock,
  ) {
    super({ packageName: settings.packageName, apiKey: settings.apiKey, port: settings.port });
    this.gateway = new Gateway(settings.gatewayUrl, settings.gatewayKey, clock);
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
