// A photo that comes as a file: chosen, pasted, or dropped anywhere on the page.

import { byId } from "./dom.js";

/** Whether a file passes for a photo; some browsers give HEIC and AVIF no type. */
export const isPhoto = ({ type, name }) => type.startsWith("image/") || /\.(heic|heif|avif)$/i.test(name);

/** `choose` is told of each file. */
export function setUpFiles(choose) {
  const first = (files) => files.length > 0 && choose(files[0]);
  for (const id of ["choose", "open-file"]) byId(id).addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", () => {
    first(byId("file").files);
    byId("file").value = "";
  });
  document.addEventListener("paste", ({ clipboardData }) => first(clipboardData.files));
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.dataset.dragged = "yes";
  });
  document.addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || delete document.body.dataset.dragged);
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    delete document.body.dataset.dragged;
    first(event.dataTransfer.files);
  });
}
