// What the wearer looks at: the camera, or one photo with what was looked at drawn on it. Whatever stands here is what
// the next question is about.

import { byId, svg } from "./dom.js";
import { photoOf } from "./camera.js";

const BACKDROP_PX = 24; // of what is blurred behind a photo that is of another shape than the stage

export class Stage {
  /** `onChange` is told when something else is shown: "live", "photo", "unseen" or "nothing". */
  constructor({ onChange }) {
    this.onChange = onChange;
    this.video = byId("camera");
    this.shown = null; // { id, picture, width, height, file? }
    this.turn = null; // the id of the turn whose regions are drawn
  }

  /** Show what a stream brings. Resolves when there are pictures. */
  async attach(stream) {
    this.track?.stop();
    [this.track] = stream.getVideoTracks();
    this.video.srcObject = new MediaStream([this.track]); // the microphone may end before or after it
    await this.video.play();
    const changed = () => this.shown || this.look();
    for (const event of ["ended", "mute", "unmute"]) this.track.addEventListener(event, changed);
    changed();
  }

  get isLive() {
    return Boolean(this.track?.readyState === "live" && !this.track.muted && this.video.videoWidth);
  }

  /** Back to the camera. */
  look() {
    this.shown = this.turn = null;
    this.set(this.isLive ? "live" : "nothing");
  }

  /** Freeze what the camera shows. */
  freeze(id) {
    this.show({ id, ...photoOf(this.video) });
  }

  /** Show a photo: one that was taken or chosen, or an earlier turn's with its regions. */
  show(photo, turn = null) {
    this.shown = photo;
    this.turn = turn?.id ?? null;
    if (photo.picture) {
      const { picture, width, height } = photo;
      paint(byId("photo"), picture, width, height);
      paint(byId("backdrop"), picture, BACKDROP_PX, Math.round((BACKDROP_PX * height) / width));
      this.mark(turn?.answer ? marksOf(turn.answer) : []);
    }
    this.set(photo.picture ? "photo" : "unseen");
  }

  /** Mark regions (in 0..1 of the photo): crops framed, read text under a marker. */
  mark(regions) {
    const { width, height } = this.shown;
    byId("regions").setAttribute("viewBox", `0 0 ${width} ${height}`);
    byId("regions").replaceChildren(
      ...regions.map(({ kind, left, top, right, bottom, text }, place) => {
        const box = svg("rect", {
          class: `region ${kind === "crop" ? "crop" : "text"}`,
          x: left * width,
          y: top * height,
          width: Math.max(0, right - left) * width,
          height: Math.max(0, bottom - top) * height,
          rx: width / 120,
        });
        box.style.setProperty("--place", Math.min(place, 12)); // they appear one after the other
        if (text) box.append(svg("title", {}, text));
        return box;
      }),
    );
  }

  set(showing) {
    byId("stage").dataset.showing = showing;
    this.onChange(showing);
  }
}

/** The regions that an answer rests on: where its thing was found, and the print that it cites or that names the thing. */
function marksOf({ looked_at: regions, citations, entity }) {
  const cited = [...citations.filter(({ kind }) => kind === "photo").map(({ snippet }) => snippet), entity ?? ""];
  const texts = cited.map(letters).filter(Boolean);
  const isCited = (text) => text && texts.some((each) => each.includes(text) || text.includes(each));
  return regions.filter(({ kind, text, shows_entity: shows }) => (kind === "crop" ? shows : isCited(letters(text))));
}

const letters = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

function paint(canvas, picture, width, height) {
  Object.assign(canvas, { width, height });
  canvas.getContext("2d").drawImage(picture, 0, 0, width, height);
}
