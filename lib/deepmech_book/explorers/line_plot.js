// A plot of lines that come ready made: axes, linear or logarithmic, and lines and marks by class.

import { axes, path, power, scale, set, svg, ticks } from "./dom.js";

/** Powers of ten from `low` to `high`, thinned to about `n`. */
function decades(low, high, n) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / n));
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, i) => 10 ** (first + i * every));
}

export class LinePlot {
  constructor(height, name) {
    this.height = height;
    this.frame = svg("g", { class: "axes" });
    this.drawn = svg("g", {});
    this.inside = svg("svg", { overflow: "hidden" }, this.drawn);
    this.root = svg("svg", { class: `lines ${name}`, height, "aria-hidden": "true" }, this.inside, this.frame);
  }

  /**
   * Measure for the width that there is. An axis is {low, high, title, log?, at?, say?, n?}: `at` are its ticks, `say` their words, `n`
   * about how many ticks it has.
   */
  layout(x, y) {
    const box = (this.box = { left: 44, right: this.root.clientWidth - 12, top: 28, bottom: this.height - 44 });
    const along = ({ low, high, log }, from, to) => {
      if (!log) return scale(low, high, from, to);
      const map = scale(Math.log10(low), Math.log10(high), from, to);
      return Object.assign((v) => map(Math.log10(v)), { invert: (p) => 10 ** map.invert(p) });
    };
    const at = ({ low, high, log, at, n = 5 }) => at ?? (log ? decades(low, high, n) : ticks(low, high, n));
    const say = ({ log, say }) => say ?? (log ? (v) => (Math.abs(Math.log10(v)) < 2.5 ? `${Number(v.toPrecision(6))}` : power(v)) : undefined); // as in figures
    this.x = along(x, box.left + 8, box.right - 8);
    this.y = along(y, box.bottom - 6, box.top + 6);
    const [w, h] = [box.right - box.left, box.bottom - box.top];
    set(this.inside, { x: box.left, y: box.top, width: w, height: h, viewBox: `${box.left} ${box.top} ${w} ${h}` });
    axes(this.frame, box, this.x, this.y, {
      xTicks: at(x), yTicks: at(y), xTitle: x.title, yTitle: y.title, xSay: say(x), ySay: say(y),
    });
    this.frame.prepend(svg("rect", { class: "box", x: box.left, y: box.top, width: w, height: h }));
  }

  /** The points [x, y] of a line in the drawing; a gap in the line ends a path and begins another. */
  curve(points) {
    let d = "", open = [];
    for (const [x, y] of [...points, [NaN, NaN]]) {
      const here = [this.x(x), this.y(y)];
      if (here.every(Number.isFinite)) open.push(...here);
      else if (open.length) {
        d += path(open);
        open = [];
      }
    }
    return d;
  }

  /**
   * Draw: each is {class, points} for a line, with `dots` for its points too, or {class, text, x, y} for a word; `colours`
   * are the line's, or those of its dots one by one, and `mark(i)` gives more attributes of a dot.
   */
  draw(parts) {
    this.drawn.replaceChildren(...parts.flatMap(({ class: name, points, dots, text, x, y, anchor, colours, mark }) => {
      if (text !== undefined) {
        return [svg("text", { class: name, x: this.x(x), y: this.y(y) - 6, "text-anchor": anchor ?? "start" }, text)];
      }
      const paint = (i, what) => (colours ? `${what}: ${colours[i % colours.length]}` : undefined);
      const line = svg("path", { class: `line ${name}`, d: this.curve(points), style: dots ? undefined : paint(0, "stroke") });
      if (!dots) return [line];
      const known = points.filter(([u, v]) => Number.isFinite(this.x(u)) && Number.isFinite(this.y(v)));
      return [line, ...known.map((point, i) => svg("circle", {
        class: `dot ${name}`, r: dots, cx: this.x(point[0]).toFixed(2), cy: this.y(point[1]).toFixed(2),
        style: paint(points.indexOf(point), "fill"), ...mark?.(i),
      }))];
    }));
  }
}

/** A band of values that leaves some room; `least` is the smallest range worth showing. */
export function roomy(values, least = 0) {
  const known = values.filter(Number.isFinite);
  const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const more = Math.max(0.06 * (high - low), (least - (high - low)) / 2);
  return { low: low - more, high: high + more };
}

