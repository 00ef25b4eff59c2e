// The phase diagram: signed curvature over noise and friction, with the current point as a handle to drag.
// Noise is strongest on the left, as in paper A's Figure 3.

import { path, set, svg, symbolText } from "./dom.js";
import { Plane } from "./plane.js";

/**
 * The line where `c`, rows of numbers, is zero, by linear interpolation in each square of four neighbouring grid points;
 * `x` and `y` are where columns and rows lie. There is none through a square with a number missing.
 */
export function zeroLine(c, x, y) {
  let d = "";
  for (let r = 0; r + 1 < c.length; r++) {
    for (let i = 0; i + 1 < c[0].length; i++) {
      const corners = [[r, i], [r, i + 1], [r + 1, i + 1], [r + 1, i]], points = [];
      if (corners.some(([r0, i0]) => Number.isNaN(c[r0][i0]))) continue;
      corners.forEach(([r0, i0], n) => {
        const [r1, i1] = corners[(n + 1) % 4], [a, b] = [c[r0][i0], c[r1][i1]];
        if (a > 0 === b > 0) return;
        const t = a / (a - b);
        points.push(x[i0] + t * (x[i1] - x[i0]), y[r0] + t * (y[r1] - y[r0]));
      });
      for (let n = 0; n + 3 < points.length; n += 4) d += path(points.slice(n, n + 4));
    }
  }
  return d;
}

export class PhasePlot extends Plane {
  /** Ranges are [low, high, step]; `onMove({noise, friction_right})` is called while the handle moves. */
  constructor(diagram, noise, friction, onMove) {
    super({
      height: 276, onMove,
      label: "Point in the phase diagram. Arrow keys: left for more noise, right for less, up for more friction, down for less",
      across: { name: "noise", range: noise, title: ["← noise ", ...symbolText("ε")], ticks: 4, digits: 4, words: "noise" },
      up: {
        name: "friction_right", range: friction, title: ["friction right ", ...symbolText("μ", "→")], ticks: 5, digits: 3,
        words: "friction right",
      },
    });
    this.noise = diagram.noise;
    this.friction = diagram.friction_right;
    this.neutral = svg("rect", { class: "neutral" });
    this.cells = svg("g", { class: "cells" });
    this.contour = svg("path", { class: "contour" });
    this.even = svg("path", { class: "even" });
    this.evenName = svg("text", { class: "even-name" }, ...symbolText("μ", "→"), " = ", ...symbolText("μ", "←"));
    this.svg.append(this.neutral, this.grid, this.cells, this.even, this.evenName, this.contour);
  }

  layout(width) {
    const { noise, friction } = this, [dx, dy] = [noise[1] - noise[0], friction[1] - friction[0]];
    this.frame(width, [noise.at(-1) + dx / 2, noise[0] - dx / 2], [friction[0] - dy / 2, friction.at(-1) + dy / 2]);
    const { left, right, top, bottom } = this.box;
    set(this.neutral, { x: left, y: top, width: right - left, height: bottom - top });
    this.draw(this.curvature, this.largest);
  }

  /** Show these curvatures, rows of friction and columns of noise, on a colour scale up to `largest`. */
  draw(curvature, largest) {
    [this.curvature, this.largest] = [curvature, largest];
    if (!this.x || !curvature) return;
    const [w, h] = [this.x(this.noise[0]) - this.x(this.noise[1]), this.y(this.friction[0]) - this.y(this.friction[1])];
    const cells = curvature.flatMap((row, r) =>
      row.map((c, i) =>
        svg("rect", {
          class: c > 0 ? "concave" : "convex", "fill-opacity": Math.min(1, Math.abs(c) / largest).toFixed(3),
          x: (this.x(this.noise[i]) - w / 2).toFixed(2), y: (this.y(this.friction[r]) - h / 2).toFixed(2),
          width: w.toFixed(2), height: h.toFixed(2),
        }),
      ),
    );
    this.cells.replaceChildren(...cells);
    this.contour.setAttribute("d", zeroLine(curvature, this.noise.map(this.x), this.friction.map(this.y)));
  }

  update(p) {
    super.update(p);
    const y = this.y(p.friction_left), visible = y > this.box.top + 2;
    this.even.setAttribute("d", visible ? path([this.box.left, y, this.box.right, y]) : "");
    set(this.evenName, { x: this.box.left + 6, y: y - 6, visibility: y > this.box.top + 18 ? "visible" : "hidden" });
  }
}
