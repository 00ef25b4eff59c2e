// Small tools for drawing: elements, scales, ticks, numbers.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** An HTML element; attributes that start with "on" are event listeners. */
export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element, likewise. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Change attributes of an element that is already there; what stays the same costs the browser nothing. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
  }
}

/** Change an element's text, likewise. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A linear map from [from0, from1] to [to0, to1], and back with .invert. */
export function scale(from0, from1, to0, to1) {
  const map = (v) => to0 + ((v - from0) * (to1 - to0)) / (from1 - from0);
  map.invert = (v) => from0 + ((v - to0) * (from1 - from0)) / (to1 - to0);
  return map;
}

/** The value nearest to `v` that a range [low, high, step] has. */
export const snap = (v, [low, high, step]) => Number((Math.round(Math.min(high, Math.max(low, v)) / step) * step).toFixed(6));

/** Curves or lists of one number, averaged point by point. */
export const average = (curves) => curves[0].map((_, i) => curves.reduce((sum, one) => sum + one[i], 0) / curves.length);

/** About `n` round numbers from low to high. */
export function ticks(low, high, n) {
  const rough = (high - low) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) out.push(i * step);
  return out;
}

/** A number with a true minus sign; `sign` puts a plus before positive ones. */
export function number(value, digits, sign = false) {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value < 0 ? "−" : sign ? "+" : "") + text;
}

/** A large or small number as a power of ten, with `digits` of its factor; 10⁹ for 1·10⁹ where there are none. */
export function power(value, digits = 0) {
  const [factor, exponent] = value.toExponential(digits).split("e");
  const raised = Array.from(exponent.replace("+", ""), (d) => (d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[d])).join("");
  return factor === "1" ? `10${raised}` : `${factor}·10${raised}`;
}

/** The fewest decimals that tell these numbers exactly, at most four. */
export function decimals(values) {
  return [0, 1, 2, 3].find((n) => values.every((v) => Math.abs(v - Number(v.toFixed(n))) < 1e-9)) ?? 4;
}

/** A symbol with its arrow below the line, such as mu with "→": for HTML, and for text in a drawing. */
export const symbol = (name, sub = "") => html("span", { class: "symbol" }, name, sub && html("sub", {}, sub));
export const symbolText = (name, sub = "") => [
  svg("tspan", { class: "symbol" }, name),
  ...(sub ? [svg("tspan", { dy: 3, class: "sub" }, sub), svg("tspan", { dy: -3 }, "\u200b")] : []),
];

/** The path through points given as x0, y0, x1, y1, ... */
export function path(points) {
  let d = "";
  for (let i = 0; i < points.length; i += 2) d += `${i ? "L" : "M"}${points[i].toFixed(2)},${points[i + 1].toFixed(2)}`;
  return d;
}

/**
 * Axes of a plot: ticks, labels and titles around the rectangle `box`, redrawn into the group `g`. `xSay` and `ySay` give
 * the word at a tick where that is not its number.
 */
export function axes(g, box, x, y, { xTicks, yTicks, xTitle, yTitle, xSay, ySay }) {
  const plain = (all) => (v) => number(v, decimals(all));
  const [xWord, yWord] = [xSay ?? plain(xTicks), ySay ?? plain(yTicks)];
  g.replaceChildren();
  for (const v of xTicks) {
    g.append(
      svg("line", { class: "tick", x1: x(v), x2: x(v), y1: box.bottom, y2: box.bottom + 4 }),
      svg("text", { x: x(v), y: box.bottom + 17, "text-anchor": "middle" }, xWord(v)),
    );
  }
  for (const v of yTicks) {
    g.append(
      svg("line", { class: "tick", x1: box.left - 4, x2: box.left, y1: y(v), y2: y(v) }),
      svg("text", { x: box.left - 7, y: y(v) + 4, "text-anchor": "end" }, yWord(v)),
    );
  }
  const middle = (box.left + box.right) / 2;
  g.append(
    svg("text", { class: "title", x: middle, y: box.bottom + 35, "text-anchor": "middle" }, ...xTitle),
    svg("text", { class: "title", x: box.left - 36, y: box.top - 10 }, ...yTitle),
  );
}
