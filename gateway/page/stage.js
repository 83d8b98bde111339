// What the wearer looks at: the camera, or one photo with what was looked at drawn on it. Whatever stands here is what
// the next question is about.

import { byId, svg } from "./dom.js";
import { photoOf } from "./camera.js";

export class Stage {
  /** `onChange` is told when something else is shown. */
  constructor({ onChange }) {
    this.onChange = onChange;
    this.element = byId("stage");
    this.video = byId("camera");
    this.shown = null; // { id, picture, width, height, file?, blob? }
    this.address = null;
  }

  /** Show what a stream brings. Resolves when there are pictures. */
  async attach(stream) {
    this.video.srcObject = stream;
    await this.video.play();
    stream.getVideoTracks()[0].addEventListener("ended", () => this.look());
    this.look();
  }

  get isLive() {
    return Boolean(this.video.srcObject?.active && this.video.videoWidth);
  }

  /** Back to the camera. */
  look() {
    this.shown = null;
    this.draw();
    this.set(this.isLive ? "live" : "nothing");
  }

  /** Freeze what the camera shows. */
  freeze(id) {
    this.show({ id, ...photoOf(this.video) });
  }

  /** Show a photo: one that was taken or chosen, or an earlier turn's. */
  show(photo, regions = []) {
    this.shown = photo;
    URL.revokeObjectURL(this.address);
    this.address = photo.blob ? URL.createObjectURL(photo.blob) : null;
    const canvas = byId("frozen");
    canvas.hidden = Boolean(this.address) || !photo.picture;
    if (!canvas.hidden) {
      Object.assign(canvas, { width: photo.width, height: photo.height });
      canvas.getContext("2d").drawImage(photo.picture, 0, 0);
    }
    for (const image of [byId("photo"), byId("backdrop")]) {
      image.hidden = !this.address;
      if (this.address) image.src = this.address;
    }
    this.draw(regions);
    this.set(photo.width ? "photo" : "unseen");
  }

  /** Mark regions (in 0..1 of the photo): crops framed, read text under a marker. */
  draw(regions = []) {
    const { width = 1, height = 1 } = this.shown ?? {};
    const drawing = byId("regions");
    drawing.setAttribute("viewBox", `0 0 ${width || 1} ${height || 1}`);
    drawing.replaceChildren(
      ...regions.map(({ kind, left, top, right, bottom, text }, place) => {
        const box = svg("rect", {
          class: `region ${kind === "crop" ? "crop" : "text"}`,
          x: left * width,
          y: top * height,
          width: Math.max(0, right - left) * width,
          height: Math.max(0, bottom - top) * height,
          rx: width / 120,
        });
        box.style.setProperty("--place", Math.min(place, 12));
        if (text) box.append(svg("title", {}, text));
        return box;
      }),
    );
  }

  set(showing) {
    this.element.dataset.showing = showing;
    this.onChange(showing);
  }
}
