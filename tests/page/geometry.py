"""What does not fit on a page: overlapping or cut texts, controls that a finger cannot reach."""

from collections.abc import Mapping
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.page.browser import DESK, PHONE

NARROW = {"width": 320, "height": 568}
SIZES: tuple[Mapping[str, int], ...] = (
    {"width": 320, "height": 568},
    {"width": 390, "height": 844},
    {"width": 844, "height": 390},
    {"width": 768, "height": 1024},
    {"width": 1440, "height": 900},
)
"""A small phone, a phone upright and on its side, a tablet, a desk. CSS pixels."""

_FAULTS = r"""() => {
  const LEAST = 43.5, SLACK = 1.5;  // pixels: of a control's side; of rounding
  const dialog = [...document.querySelectorAll("dialog[open]")].pop();
  const root = dialog ?? document.body;
  const faults = [];
  const name = (element) => {
    const words = (element.getAttribute("aria-label") || element.textContent || element.id).trim();
    const id = element.id && `#${element.id}`;
    return `${element.tagName.toLowerCase()}${id} "${words.replace(/\s+/g, " ").slice(0, 40)}"`;
  };
  const shown = { opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true };
  const isShown = (element) =>
    element.checkVisibility(shown) &&
    !element.closest(".visually-hidden, [aria-hidden=true]") && root.contains(element);
  const cutBy = (box, other) => ({
    left: Math.max(box.left, other.left), top: Math.max(box.top, other.top),
    right: Math.min(box.right, other.right), bottom: Math.min(box.bottom, other.bottom),
  });
  const isEmpty = ({ left, top, right, bottom }) => right - left < SLACK || bottom - top < SLACK;
  const loses = (before, after) =>
    after.left - before.left > SLACK || before.right - after.right > SLACK ? "x"
      : after.top - before.top > SLACK || before.bottom - after.bottom > SLACK ? "y" : "";

  /** What is seen of a box, and whether somebody can scroll to the rest of it. */
  function seen(element, box) {
    let left = box, lost = "";
    for (let at = element; at && at !== document.documentElement; at = at.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(at);
      if (overflowX !== "visible" || overflowY !== "visible") {
        const frame = at.getBoundingClientRect();
        const inner = { left: frame.left + at.clientLeft, top: frame.top + at.clientTop };
        Object.assign(inner, { right: inner.left + at.clientWidth, bottom: inner.top + at.clientHeight });
        const rest = cutBy(left, inner), side = loses(left, rest);
        const scrolls = /auto|scroll/.test(side === "x" ? overflowX : overflowY);
        const reached = side === "x"
          ? left.left - inner.left + at.scrollLeft > -SLACK
          : left.top - inner.top + at.scrollTop > -SLACK;
        if (side && (!scrolls || !reached)) lost ||= name(at);
        left = rest;
      }
      if (position === "fixed") break;
      if (at === dialog) break;
    }
    const window_ = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    const page = document.scrollingElement, rest = cutBy(left, window_), side = loses(left, rest);
    const pageScrolls = !/hidden|clip/.test(getComputedStyle(document.body).overflowY) && !dialog;
    if (side && !isEmpty(left) && !(side === "y" && pageScrolls)) lost ||= "the window";
    return { left: rest, lost };
  }

  const texts = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.data.trim() || !isShown(element) || element.closest("script, style, noscript, title")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (isEmpty(box)) continue;
      const { left, lost } = seen(element, box);
      if (lost) faults.push(`cut by ${lost}: ${name(element)}`);
      const words = node.data.trim().slice(0, 40);
      if (!isEmpty(left)) texts.push({ node, element, box: left, height: box.height, words });
    }
    const ellipsis = getComputedStyle(element).textOverflow === "ellipsis";
    if (ellipsis && element.scrollWidth > element.clientWidth + 1) faults.push(`shortened: ${name(element)}`);
  }
  // Lines have room above and below their letters, which may overlap.
  for (const [place, one] of texts.entries()) {
    for (const other of texts.slice(place + 1)) {
      const common = cutBy(one.box, other.box), lower = 0.2 * one.height;
      if (one.node !== other.node && !isEmpty(common) && common.bottom - common.top > lower)
        faults.push(`"${one.words}" lies on "${other.words}"`);
    }
    const { left, top, right, bottom } = one.box;
    const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const passes = getComputedStyle(one.element).pointerEvents === "none";
    const label = one.element.closest("label");
    const isEdge = bottom - top < 5;  // of what scrolls
    const isOwn = hit?.contains(one.element) || one.element.contains(hit) || label?.contains(hit);
    if (hit && !passes && !isEdge && !isOwn)
      faults.push(`${name(hit)} covers "${one.words}"`);
  }

  const pen = document.createElement("canvas").getContext("2d");
  const controls = "button, a[href], summary, input:not([type=hidden]), label:has(> input), select, textarea";
  for (const control of root.querySelectorAll(controls)) {
    if (!isShown(control) || (control.matches("input") && control.closest("label:has(> input)"))) continue;
    const { left, top, right, bottom, width, height } = control.getBoundingClientRect();
    if (!width || control.matches("input") && control.type === "file") continue;
    if (width < LEAST || height < LEAST)
      faults.push(`${Math.round(width)} × ${Math.round(height)}: ${name(control)}`);
    const { lost } = seen(control, { left, top, right, bottom });
    if (lost) faults.push(`outside of ${lost}: ${name(control)}`);
    if (control.placeholder) {
      const style = getComputedStyle(control);
      pen.font = style.font;
      const room = control.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      if (pen.measureText(control.placeholder).width > room + 1) faults.push(`cut: "${control.placeholder}"`);
    }
  }
  return [...new Set(faults)];
}"""


def all_faults(page: Page) -> list[str]:
    """Return the layout faults at all `SIZES`, with everything scrolled to its top and to its end.

    Collapsed and hidden elements are not checked. The window's size is restored.
    """
    results: dict[str, None] = {}
    before = page.viewport_size
    for size in SIZES:
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        page.wait_for_timeout(50)
        for where in ("0", "each.scrollHeight"):
            page.evaluate(
                "() => [document.scrollingElement, ..."
                "document.querySelectorAll('main, #talk, #welcome, dialog')]"
                f".forEach((each) => each.scrollTo({{ top: {where}, behavior: 'instant' }}))"
            )
            name = f"{size['width']}x{size['height']}"
            results |= dict.fromkeys(f"{name}: {fault}" for fault in page.evaluate(_FAULTS))
    if before is not None:
        page.set_viewport_size(before)
    return list(results)


def complaints(page: Page) -> list[str]:
    """Return the layout faults, and axe's violations in both themes."""
    page.mouse.move(0, 0)
    page.emulate_media(reduced_motion="reduce")
    results = all_faults(page)
    for size, theme in ((NARROW, "light"), (PHONE, "light"), (DESK, "dark")):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        if page.evaluate("() => document.documentElement.scrollWidth") > size["width"]:
            results.append(f"wider than {size['width']} pixels")
        if size is not NARROW:
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            results += violations(page, {"resultTypes": ["violations"]})
    return results


def violations(page: Page, options: dict[str, Any], context: dict[str, Any] | None = None) -> list[str]:
    """Return axe's violations as "rule: element"."""
    result = Axe().run(page, context=context, options=options).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in result for node in one["nodes"]]
