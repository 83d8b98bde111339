import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type AppConnectionAck, type AppConnectionInit, type AppToCloudMessage, type AudioPlayRequest,
  type AudioPlayResponse, type Capabilities, CloudToAppMessageType, type DataStream, type DisplayRequest,
  LayoutType, type PermissionError, type PhotoErrorCode, type PhotoRequest, type SessionWebhookRequest,
  type StopWebhookRequest, StreamType, type TranscriptionData, type WebhookResponse, WebhookRequestType,
  isAppConnectionInit, isAudioPlayRequest, isPhotoRequestFromApp,
} from "@mentra/sdk";
import { type WebSocket, WebSocketServer } from "ws";

export const PACKAGE = "org.example.loreglass";
export const API_KEY = "key-of-the-app";

/** What the camera does when it is asked. */
export type Camera = (request: PhotoRequest) => Buffer | { code: `${PhotoErrorCode}` } | "nothing";

const GLASSES: Capabilities = {
  modelName: "Glasses with everything",
  hasCamera: true, camera: null, hasDisplay: true, display: null, hasMicrophone: true, microphone: null,
  hasSpeaker: true, speaker: null, hasIMU: false, imu: null, hasButton: false, button: null,
  hasLight: false, light: null, power: { hasExternalBattery: false }, hasWifi: true,
};

/** MentraOS Cloud with the phone and the glasses behind it, as far as this app sees of them. */
export class FakeCloud {
  private readonly started = new Set<string>();

  private constructor(
    private readonly http: Server,
    private readonly sockets: WebSocketServer,
    private readonly appUrl: string,
  ) {}

  static async open(appUrl: string): Promise<FakeCloud> {
    const http = createServer();
    const sockets = new WebSocketServer({ server: http, path: "/app-ws" });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    return new FakeCloud(http, sockets, appUrl);
  }

  /** Starts the app for a wearer, as the cloud does when one taps on it. */
  async start(sessionId: string, changes: Partial<Capabilities> = {}): Promise<Glasses> {
    const request: SessionWebhookRequest = {
      type: WebhookRequestType.SESSION_REQUEST,
      sessionId,
      userId: `${sessionId}@example.org`,
      timestamp: new Date().toISOString(),
      mentraOSWebsocketUrl: `ws://127.0.0.1:${(this.http.address() as AddressInfo).port}/app-ws`,
    };
    this.started.add(sessionId);
    const connected = once(this.sockets, "connection") as Promise<[WebSocket]>;
    const replied = this.webhook(request);
    const glasses = new Glasses(this, (await connected)[0], sessionId, { ...GLASSES, ...changes });
    await replied;
    return glasses;
  }

  async stop(sessionId: string): Promise<void> {
    this.started.delete(sessionId);
    await this.webhook({
      type: WebhookRequestType.STOP_REQUEST,
      sessionId,
      userId: `${sessionId}@example.org`,
      timestamp: new Date().toISOString(),
      reason: "user_disabled",
    } satisfies StopWebhookRequest);
  }

  /** What the glasses send by themselves, past the cloud. */
  async upload(requestId: string, photo: Buffer | { code: `${PhotoErrorCode}` }): Promise<number> {
    const form = new FormData();
    form.set("requestId", requestId);
    if (Buffer.isBuffer(photo)) {
      form.set("type", "photo_upload");
      form.set("photo", new Blob([new Uint8Array(photo)], { type: "image/jpeg" }), "photo.jpg");
    } else {
      form.set("type", "photo_error");
      form.set("errorCode", photo.code);
      form.set("errorMessage", "as the glasses put it");
    }
    const reply = await fetch(`${this.appUrl}/photo-upload`, { method: "POST", body: form });
    await reply.arrayBuffer();
    return reply.status;
  }

  /** An exchange with the app, which sees meanwhile what reached it before. */
  async turnOfTheLoop(): Promise<void> {
    await (await fetch(`${this.appUrl}/health`)).arrayBuffer();
  }

  async close(): Promise<void> {
    for (const sessionId of this.started) await this.stop(sessionId);
    for (const socket of this.sockets.clients) socket.terminate();
    this.http.closeAllConnections();
    this.http.close();
  }

  private async webhook(request: SessionWebhookRequest | StopWebhookRequest): Promise<void> {
    const reply = await fetch(`${this.appUrl}/webhook`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request),
    });
    const { status } = (await reply.json()) as WebhookResponse;
    if (status !== "success") throw new Error(`the app refused the webhook: ${status}`);
  }
}

/** One wearer's glasses. Everything that the app sends is kept until a test takes it. */
export class Glasses {
  camera: Camera = () => Buffer.from("a photo");
  /** Whether a sound that is asked for is played, and said to have been. */
  plays: (request: AudioPlayRequest) => boolean | "nothing" = () => true;
  private readonly untaken: AppToCloudMessage[] = [];
  private waiting: (() => void)[] = [];

  constructor(
    private readonly cloud: FakeCloud,
    private readonly socket: WebSocket,
    private readonly sessionId: string,
    private readonly capabilities: Capabilities,
  ) {
    socket.on("message", (data) => this.receive(JSON.parse(String(data)) as AppToCloudMessage));
  }

  /** The wearer says something. */
  say(text: string, isFinal = true): void {
    const data: TranscriptionData = { type: StreamType.TRANSCRIPTION, text, isFinal, startTime: 0, endTime: 1 };
    this.send({ type: CloudToAppMessageType.DATA_STREAM, streamType: "transcription:en-US", data });
  }

  deny(requiredPermission: string): void {
    this.send({
      type: CloudToAppMessageType.PERMISSION_ERROR,
      message: "denied",
      details: [{ stream: StreamType.TRANSCRIPTION, requiredPermission, message: "denied" }],
    });
  }

  /** The next message of this kind that no test took yet; waits for it. */
  async next<T extends AppToCloudMessage>(is: (message: AppToCloudMessage) => message is T): Promise<T> {
    for (;;) {
      const at = this.untaken.findIndex(is);
      if (at >= 0) return this.untaken.splice(at, 1)[0] as T;
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  photoRequest = (): Promise<PhotoRequest> => this.next(isPhotoRequestFromApp);
  audioStop = () => this.next((message) => message.type === "audio_stop_request");

  /** The next text that is on the display. */
  async display(): Promise<string> {
    return textOf(await this.next((message): message is DisplayRequest => message.type === "display_event"));
  }

  /** The next text that is on the display, other than what only says that it goes on. */
  async shown(): Promise<string> {
    const text = await this.display();
    return text.endsWith("…") ? this.shown() : text;
  }

  /** The next thing that is said: Mentra's voice's text, or a sound's address. */
  async heard(): Promise<string> {
    const { audioUrl } = await this.next(isAudioPlayRequest);
    return new URL(audioUrl).searchParams.get("text") ?? audioUrl;
  }

  /** Everything that the app sent of this kind and no test took. */
  left(type: string): AppToCloudMessage[] {
    return this.untaken.filter((message) => message.type === type);
  }

  /** The cloud is gone without a word; resolves when the app has seen it. */
  async breakOff(): Promise<void> {
    this.socket.terminate();
    for (let turn = 0; turn < 10; turn++) await this.cloud.turnOfTheLoop();
  }

  private receive(message: AppToCloudMessage): void {
    if (isAppConnectionInit(message)) this.acknowledge(message);
    else if (isPhotoRequestFromApp(message)) void this.photograph(message);
    else if (isAudioPlayRequest(message)) this.play(message);
    this.untaken.push(message);
    for (const wake of this.waiting.splice(0)) wake();
  }

  private acknowledge({ apiKey, packageName, sessionId }: AppConnectionInit): void {
    if (apiKey !== API_KEY || packageName !== PACKAGE || sessionId !== this.sessionId) {
      this.send({ type: CloudToAppMessageType.CONNECTION_ERROR, message: "who are you?" });
      return;
    }
    this.send({ type: CloudToAppMessageType.CONNECTION_ACK, settings: [], capabilities: this.capabilities });
  }

  private async photograph(request: PhotoRequest): Promise<void> {
    const photo = this.camera(request);
    if (photo !== "nothing") await this.cloud.upload(request.requestId, photo);
  }

  private play(request: AudioPlayRequest): void {
    const success = this.plays(request);
    if (success === "nothing") return;
    this.send({ type: CloudToAppMessageType.AUDIO_PLAY_RESPONSE, requestId: request.requestId, success });
  }

  private send(message: FromCloud): void {
    this.socket.send(JSON.stringify(message));
  }
}

type FromCloud =
  | AppConnectionAck | AudioPlayResponse | DataStream | PermissionError
  | { type: CloudToAppMessageType.CONNECTION_ERROR; message: string };

function textOf({ layout }: DisplayRequest): string {
  if (layout.layoutType === LayoutType.TEXT_WALL) return layout.text;
  if (layout.layoutType === LayoutType.REFERENCE_CARD) return `${layout.title}: ${layout.text}`;
  throw new Error(`a layout that the app does not use: ${layout.layoutType}`);
}
