// The big button: held while speaking, or pressed once to begin and once to end (a screen reader's press, a switch, a
// key). Escape, or a pointer that is taken away upwards, drops what was said.

const A_PRESS_MS = 350;
const AWAY_PX = 90;

/** `begin` when it is pressed; then one of `end`, `drop`. `enabled` says whether it is for talking at all. */
export function setUpHold(button, { enabled, begin, end, drop }) {
  let since = null; // when it was pressed, while it listens
  let latched = false; // pressed once: listens until it is pressed again
  let from = 0;

  const start = (y) => {
    [latched, from] = [false, y];
    begin(); // takes the photo: on a slow phone longer than a press lasts
    since = performance.now();
  };
  const finish = (how) => {
    since = null;
    how();
  };
  const release = () => {
    if (since === null) return;
    if (!latched && performance.now() - since < A_PRESS_MS) latched = true;
    else finish(end);
  };

  button.addEventListener("pointerdown", (event) => {
    if (!enabled() || event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    if (since === null) start(event.clientY);
  });
  button.addEventListener("pointerup", (event) => {
    if (since !== null && from - event.clientY > AWAY_PX) finish(drop);
    else release();
  });
  button.addEventListener("pointercancel", () => since !== null && finish(drop));
  button.addEventListener("keydown", (event) => {
    if (![" ", "Enter"].includes(event.key) || !enabled()) return;
    event.preventDefault(); // or a click follows
    if (!event.repeat && since === null) start(0);
  });
  button.addEventListener("keyup", (event) => [" ", "Enter"].includes(event.key) && enabled() && release());
  button.addEventListener("click", (event) => {
    if (!enabled() || event.detail > 0) return; // a pointer's click was a pointerup before
    if (since === null) start(0);
    release();
  });
  button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long press on a phone
  document.addEventListener("keydown", (event) => event.key === "Escape" && since !== null && finish(drop));
  return { stop: () => since !== null && finish(end) };
}
