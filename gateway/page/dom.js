// Elements from code. Whatever is said here comes as text nodes: nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An element: `h("p", { class: "hint", onclick: f }, "text", child)`; false, null and "" leave a child out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  element.append(...children.flat().filter((child) => child || child === 0));
  return element;
}

/** The same for drawings. */
export function svg(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  set(element, properties);
  element.append(...children);
  return element;
}

/** A drawing of icons.svg, which says nothing by itself. */
export function icon(name) {
  return svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: `/page/icons.svg#${name}` }));
}

/** The passage closest to an answer, with its sentence in bold, for `h`. */
export function withSentence({ snippet, sentence = snippet }) {
  const start = snippet.indexOf(sentence);
  return [snippet.slice(0, start), h("b", {}, sentence), snippet.slice(start + sentence.length)];
}

function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
}
