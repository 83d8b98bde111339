import type { CameraModule, PhotoData, PhotoErrorCode, PhotoRequestOptions } from "@mentra/sdk";
import { type Clock, LATE, within } from "./clock.js";
import { Failure } from "./gateway.js";

/** `view`: fast, for things; `text`: so that letters stay legible. */
export type PhotoKind = "view" | "text";
type Attempt = Required<Pick<PhotoRequestOptions, "size" | "compress">> & { ms: number };
type Code = `${PhotoErrorCode}`;

const ATTEMPTS: Record<PhotoKind, readonly Attempt[]> = {
  view: [
    { size: "medium", compress: "medium", ms: 10_000 },
    { size: "small", compress: "medium", ms: 8_000 },
  ],
  text: [
    { size: "large", compress: "none", ms: 15_000 },
    { size: "medium", compress: "none", ms: 10_000 },
  ],
};

const CAMERA = "the camera did not work";
const PHONE = "it did not get from the glasses to the phone";
const UPLOAD = "it could not be uploaded";
/** Why there is no photo, by what the glasses say. A code that the SDK adds fails the type check here. */
const WHY: Record<Code, string> = {
  CAMERA_INIT_FAILED: CAMERA, CAMERA_CAPTURE_FAILED: CAMERA, COMPRESSION_FAILED: CAMERA, UNKNOWN_ERROR: CAMERA,
  CAMERA_TIMEOUT: "the camera took too long", CAMERA_BUSY: "the camera is busy",
  BLE_TRANSFER_FAILED: PHONE, BLE_TRANSFER_BUSY: PHONE, BLE_TRANSFER_FAILED_TO_START: PHONE,
  BLE_TRANSFER_TIMEOUT: PHONE, PHONE_BLE_TRANSFER_FAILED: PHONE, PHONE_TIMEOUT: "the phone took too long",
  UPLOAD_FAILED: UPLOAD, PHONE_UPLOAD_FAILED: UPLOAD, UPLOAD_TIMEOUT: "the upload took too long",
  NETWORK_ERROR: "the glasses have no network", PERMISSION_DENIED: "the camera permission is missing",
  STORAGE_FULL: "the glasses have no space left",
  PHONE_GLASSES_NOT_CONNECTED: "the glasses are not connected to the phone",
};
const HOPELESS = new Set<Code | undefined>(["PERMISSION_DENIED", "STORAGE_FULL", "PHONE_GLASSES_NOT_CONNECTED"]);

/**
 * A photo of what the wearer sees now; a second, smaller one is asked for where the first does not come.
 *
 * Both were asked for after the question, so whichever comes first will do. `onRetry` is told that it takes
 * longer. Rejects with a `Failure` that says why, or with the signal's reason once that is aborted.
 */
export async function takePhoto(
  camera: CameraModule, kind: PhotoKind, clock: Clock, signal: AbortSignal, onRetry: (words: string) => void,
): Promise<PhotoData> {
  const asked: Promise<PhotoData>[] = [];
  let why = "";
  for (const { size, compress, ms } of ATTEMPTS[kind]) {
    if (asked.length > 0) onRetry(`No photo yet: ${why}. Trying a smaller one.`);
    asked.push(camera.requestPhoto({ size, compress }));
    try {
      const photo = await within(clock, ms, Promise.any(asked), signal);
      if (photo !== LATE) return photo;
      why = `the photo timed out after ${ms / 1000} seconds`;
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      const code = codeOf(error.errors.at(-1));
      why = code === undefined ? CAMERA : WHY[code];
      if (HOPELESS.has(code)) break;
    }
  }
  throw new Failure(`I have no photo: ${why}.`);
}

/** The SDK rejects with a text that ends in the glasses' code. */
function codeOf(error: unknown): Code | undefined {
  const code = /\(code: (\w+)\)/.exec(String(error))?.[1];
  return code !== undefined && Object.hasOwn(WHY, code) ? (code as Code) : undefined;
}
