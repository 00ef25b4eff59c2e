// A shipped phase diagram: a small load curve in every cell, shaded, with the cell pointed at as a handle to drag.

import { path, set, svg, symbolText } from "./dom.js";
import { Plane } from "./plane.js";

const HEIGHT = 300;
/** The darkest shade: small curves must stay legible on it. */
const DARKEST = 0.7;

export class DiagramMap extends Plane {
  /** `names` are those of row and column in the model; `onMove({row, column})` is called under these names. */
  constructor(side, names, onMove) {
    const axis = (name) => ({ name, range: [0, 1, 1], words: "", title: [], values: ["0", "1"] });
    super({
      height: HEIGHT, onMove, across: axis(names.column), up: axis(names.row),
      label: `Cell of the ${side} diagram. Arrow keys: left for more noise, right for less, up and down for the row`,
    });
    this.curves = svg("g", { class: "curves" });
    this.cross = svg("path", { class: "cross" });
    this.svg.append(this.cells, this.curves, this.contour, this.cross, this.grid);
  }

  /** Show diagram `d` (diagram.js) at this width, its cells shaded by `shade`. */
  layout(width, d, shade) {
    const { across, up } = this, [R, C] = [d.rows.values.length, d.columns.values.length];
    const title = ({ words, symbol, sub }) => [words + (symbol ? " " : ""), ...(symbol ? symbolText(symbol, sub) : [])];
    Object.assign(across, {
      range: [0, C - 1, 1], values: d.columns.values, words: d.columns.words, title: [`← more noise:  `, ...title(d.columns)],
    });
    Object.assign(up, { range: [0, R - 1, 1], values: d.rows.values, words: d.rows.words, title: title(d.rows) });
    set(this.handle, { "aria-valuemax": C - 1 });
    this.frame(width, [-0.5, C - 0.5], [-0.5, R - 0.5]);
    const { x, y } = this, [w, h] = [x(1) - x(0), y(0) - y(1)];
    const values = Array.from({ length: R }, (_, r) => Array.from({ length: C }, (_, c) => d.mean(shade, r, c)));
    const known = values.flat().filter(Number.isFinite), signed = shade === "curvature";
    const [low, high] = signed ? [0, Math.max(...known.map(Math.abs))] : [Math.min(...known), Math.max(...known)];
    const look = (v) => ({
      class: !Number.isFinite(v) ? "missing" : !signed ? "share" : v > 0 ? "concave" : "convex",
      opacity: Number.isFinite(v) ? (DARKEST * ((signed ? Math.abs(v) : v) - low)) / (high - low || 1) : 1,
    });
    const bends = signed ? values : values.map((row, r) => row.map((_, c) => d.mean("curvature", r, c)));
    this.shadeCells(values, values[0].map((_, c) => x(c)), values.map((_, r) => y(r)), look, bends);
    // Every curve fills its cell: shapes can be compared, heights cannot.
    this.curves.replaceChildren(...values.flatMap((row, r) => row.map((_, c) => {
      const load = d.loads(r, c), top = Math.max(...load), range = top - Math.min(...load), points = [];
      load.forEach((value, l) => {
        points.push(x(c) + w * (0.72 * (l / (load.length - 1)) - 0.36), y(r) + h * (0.6 * ((top - value) / range) - 0.3));
      });
      return svg("path", { d: Number.isFinite(range) ? path(points) : "" });
    })));
  }

  /** Aim at a cell; `spoken` is what a screen reader hears after its place. */
  aim(p, spoken) {
    this.update(p);
    const { x, y, box } = this, [row, column] = [p[this.up.name], p[this.across.name]];
    const [w, h] = [(x(1) - x(0)) / 2, (y(0) - y(1)) / 2];
    const band = (l, t, r, b) => path([l, t, r, t, r, b, l, b]) + "Z";
    this.cross.setAttribute("d", band(box.left, y(row) - h, box.right, y(row) + h) + band(x(column) - w, box.top, x(column) + w, box.bottom));
    set(this.handle, { "aria-valuetext": `${this.handle.getAttribute("aria-valuetext")}: ${spoken}` });
  }
}
