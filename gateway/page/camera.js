// The camera and photos: opened once a visit, taken at full size, scaled when they are sent.

const SIDE = 1280;
const SIDE_TO_READ = 1920;
const QUALITY = 0.8;
const TO_READ = /\b(read|say|says|said|text|word|words|written|write|writing|print|label|sign|menu|price|cost|costs)\b/i;

/** How long a photo's longer side is to be, in pixels: small print wants more of them. */
export const sideFor = (question) => (TO_READ.test(question) ? SIDE_TO_READ : SIDE);

/** The camera, and the microphone where `withVoice`: one question to the wearer for both.
 *
 * Throws what getUserMedia throws; `null` where the browser has none to offer (a page that came without https).
 */
export async function openDevices(withVoice) {
  if (!navigator.mediaDevices) return null;
  const video = { facingMode: "environment", width: { ideal: 1920 }, resizeMode: "none" }; // none: nothing cut off
  const audio = { channelCount: 1, echoCancellation: true, noiseSuppression: true };
  const wishes = withVoice ? [{ video, audio }, { video }, { audio }] : [{ video }];
  for (const [place, wish] of wishes.entries()) {
    try {
      return await navigator.mediaDevices.getUserMedia(wish);
    } catch (error) {
      const alone = ["NotFoundError", "NotReadableError", place === 0 && "NotAllowedError"]; // one of both may be had
      if (!alone.includes(error.name) || place === wishes.length - 1) throw error;
    }
  }
}

/** What the camera shows now, as a photo. */
export function photoOf(video) {
  const { videoWidth: width, videoHeight: height } = video;
  return { picture: drawn(video, width, height), width, height };
}

/** A file as a photo. One that this browser cannot read (HEIC, say) has no `picture`; the gateway may read it. */
export async function photoOfFile(file) {
  try {
    const picture = await createImageBitmap(file);
    return { picture, width: picture.width, height: picture.height };
  } catch {
    return { picture: null, width: null, height: null, file };
  }
}

/** A photo's bytes to send: JPEG with at most `side` pixels a side, or the file that could not be read here. */
export async function bytesOf({ picture, width, height, file }, side) {
  if (!picture) return file;
  const scale = Math.min(1, side / Math.max(width, height));
  const canvas = drawn(picture, Math.round(width * scale), Math.round(height * scale));
  const bytes = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
  if (!bytes) throw new Error("the photo could not be written"); // no memory, say
  return bytes;
}

function drawn(source, width, height) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(source, 0, 0, width, height);
  return canvas;
}
