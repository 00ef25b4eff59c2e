// The phase diagram: signed curvature over noise and friction, with the current point as a handle to drag.
// Noise is strongest on the left, as in paper A's Figure 3.

import { axes, html, number, path, scale, set, svg, symbolText, ticks } from "./dom.js";

const HEIGHT = 276;

export class PhasePlot {
  /** `onMove(noise, frictionRight)` is called while the handle moves. */
  constructor(diagram, steps, onMove) {
    this.noise = diagram.noise;
    this.friction = diagram.friction_right;
    this.steps = steps;
    this.onMove = onMove;
    this.cells = svg("g", { class: "cells" });
    this.frame = svg("g", { class: "axes" });
    this.contour = svg("path", { class: "contour" });
    this.even = svg("path", { class: "even" });
    this.evenName = svg("text", { class: "even-name" }, ...symbolText("μ", "→"), " = ", ...symbolText("μ", "←"));
    this.svg = svg(
      "svg", { height: HEIGHT, "aria-hidden": "true", onpointerdown: (e) => this.press(e), onclick: (e) => this.tap(e) },
      this.frame, this.cells, this.even, this.evenName, this.contour,
    );
    this.handle = html("div", {
      class: "handle", tabindex: 0, role: "slider", "aria-roledescription": "two-dimensional slider",
      "aria-label": "Point in the phase diagram. Arrow keys: left for more noise, right for less, up for more friction, down for less",
      "aria-valuemin": this.noise[0], "aria-valuemax": this.noise.at(-1),
      onkeydown: (e) => this.key(e), onpointerdown: (e) => this.drag(e),
    });
    this.root = html("div", { class: "phase" }, this.svg, this.handle);
  }

  layout(width) {
    const box = { left: 44, right: width - 22, top: 28, bottom: HEIGHT - 44 };
    const [dx, dy] = [this.noise[1] - this.noise[0], this.friction[1] - this.friction[0]];
    const [right, top] = [this.noise.at(-1), this.friction.at(-1)];
    this.x = scale(right + dx / 2, this.noise[0] - dx / 2, box.left, box.right);
    this.y = scale(this.friction[0] - dy / 2, top + dy / 2, box.bottom, box.top);
    this.box = box;
    axes(this.frame, box, this.x, this.y, {
      xTicks: ticks(this.noise[0], right, 4),
      yTicks: ticks(this.friction[0], top, 5),
      xTitle: ["← noise ", ...symbolText("ε")],
      yTitle: ["friction right ", ...symbolText("μ", "→")],
    });
    this.frame.prepend(
      svg("rect", { class: "neutral", x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top }),
    );
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
    this.contour.setAttribute("d", this.zero(curvature));
  }

  /** The line of zero curvature, by linear interpolation in each square of four neighbouring grid points. */
  zero(c) {
    let d = "";
    for (let r = 0; r + 1 < c.length; r++) {
      for (let i = 0; i + 1 < c[0].length; i++) {
        const corners = [[r, i], [r, i + 1], [r + 1, i + 1], [r + 1, i]], points = [];
        corners.forEach(([r0, i0], n) => {
          const [r1, i1] = corners[(n + 1) % 4], [a, b] = [c[r0][i0], c[r1][i1]];
          if (a > 0 === b > 0) return;
          const t = a / (a - b);
          points.push(
            this.x(this.noise[i0] + t * (this.noise[i1] - this.noise[i0])),
            this.y(this.friction[r0] + t * (this.friction[r1] - this.friction[r0])),
          );
        });
        for (let n = 0; n + 3 < points.length; n += 4) d += path(points.slice(n, n + 4));
      }
    }
    return d;
  }

  update(p) {
    this.point = p;
    const [left, top] = [this.x(p.noise), this.y(p.friction_right)];
    this.handle.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px)`;
    set(this.handle, {
      "aria-valuenow": p.noise,
      "aria-valuetext": `noise ${number(p.noise, 4)}, friction right ${number(p.friction_right, 3)}`,
    });
    const y = this.y(p.friction_left), visible = y > this.box.top + 2;
    this.even.setAttribute("d", visible ? path([this.box.left, y, this.box.right, y]) : "");
    set(this.evenName, { x: this.box.left + 6, y: y - 6, visibility: y > this.box.top + 18 ? "visible" : "hidden" });
  }

  move(noise, friction) {
    const snap = (v, values, step) => {
      const inside = Math.min(values.at(-1), Math.max(values[0], v));
      return Number((Math.round(inside / step) * step).toFixed(6));
    };
    this.onMove(snap(noise, this.noise, this.steps.noise), snap(friction, this.friction, this.steps.friction_right));
  }

  moveTo(event) {
    const area = this.svg.getBoundingClientRect();
    this.move(this.x.invert(event.clientX - area.left), this.y.invert(event.clientY - area.top));
  }

  drag(event) {
    if (event.button) return;
    event.preventDefault();
    this.handle.focus({ preventScroll: true });
    this.handle.setPointerCapture(event.pointerId);
    const move = (e) => this.moveTo(e);
    this.handle.addEventListener("pointermove", move);
    const stop = () => this.handle.removeEventListener("pointermove", move);
    this.handle.addEventListener("pointerup", stop, { once: true });
    this.handle.addEventListener("pointercancel", stop, { once: true });
  }

  /** A mouse may press anywhere and go on dragging; a finger may scroll the page there, so only its tap counts. */
  press(event) {
    if (event.pointerType !== "mouse" || event.button) return;
    this.moveTo(event);
    this.drag(event);
  }

  tap(event) {
    this.moveTo(event);
  }

  key(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!direction) return;
    event.preventDefault();
    const size = event.shiftKey ? 5 : 1;
    this.move(
      this.point.noise - direction[0] * size * this.steps.noise,
      this.point.friction_right + direction[1] * size * this.steps.friction_right,
    );
  }
}
