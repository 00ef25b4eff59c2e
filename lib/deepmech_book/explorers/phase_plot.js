// The phase diagram: signed curvature over noise and friction, with the current point as a handle to drag.
// Noise is strongest on the left, as in paper A's Figure 3.

import { path, set, svg, symbolText } from "./dom.js";
import { Plane } from "./plane.js";

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
    const look = (c) => ({ class: c > 0 ? "concave" : "convex", opacity: Math.min(1, Math.abs(c) / largest) });
    this.shadeCells(curvature, this.noise.map(this.x), this.friction.map(this.y), look);
  }

  update(p) {
    super.update(p);
    const y = this.y(p.friction_left), visible = y > this.box.top + 2;
    this.even.setAttribute("d", visible ? path([this.box.left, y, this.box.right, y]) : "");
    set(this.evenName, { x: this.box.left + 6, y: y - 6, visibility: y > this.box.top + 18 ? "visible" : "hidden" });
  }
}
