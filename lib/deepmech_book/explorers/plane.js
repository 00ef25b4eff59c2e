// A picture over two parameters, with the current pair as a handle to drag: by mouse, finger or arrow keys.

import { axes, html, number, path, scale, set, snap, svg, ticks } from "./dom.js";

/**
 * The line where `c`, rows of numbers, is zero, by linear interpolation in each square of four neighbouring grid points;
 * `x` and `y` are where columns and rows lie. There is none through a square with a number missing.
 */
function zeroLine(c, x, y) {
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

/** Numbers of those of `words` that there is `room` for beside one another, counted from the first. */
export function thinned(words, room) {
  const skip = Math.max(1, Math.ceil((7.5 * Math.max(...words.map((v) => v.length)) + 4) / (room / words.length)));
  return words.map((_, i) => i).filter((i) => i % skip === 0);
}

/** Attributes of a cell by a signed value from −1 to 1. */
export const signed = (v) => ({ class: v > 0 ? "concave" : "convex", "fill-opacity": Math.min(1, Math.abs(v)).toFixed(3) });

export class Plane {
  /**
   * `across` and `up` say which parameters lie on the axes: {name, range: [low, high, step], title, ticks, digits, words};
   * `digits` and `words` are how a screen reader hears the value. Where a parameter counts `values`, these stand in its
   * place. `onMove({name: value, ...})` is called while the handle moves. A subclass appends `cells`, `contour` and `grid` to
   * `this.svg` and calls `frame` from its `layout`.
   */
  constructor({ height, label, across, up, onMove }) {
    Object.assign(this, { height, across, up, onMove });
    this.grid = svg("g", { class: "axes" });
    this.cells = svg("g", { class: "cells" });
    this.contour = svg("path", { class: "contour" });
    this.svg = svg("svg", {
      height, "aria-hidden": "true", onpointerdown: (e) => this.press(e), onclick: (e) => this.moveTo(e),
    });
    this.handle = html("div", {
      class: "handle", tabindex: 0, role: "slider", "aria-roledescription": "two-dimensional slider", "aria-label": label,
      onkeydown: (e) => this.key(e), onpointerdown: (e) => this.drag(e),
    });
    this.root = html("div", { class: "phase" }, this.svg, this.handle);
  }

  /** Scales and axes for the width there is: values `left` to `right` and `bottom` to `top` at the edges of the box. */
  frame([left, right], [bottom, top]) {
    const width = (this.width = this.root.clientWidth);
    const box = (this.box = { left: 50, right: width - 22, top: 28, bottom: this.height - 44 });
    this.x = scale(left, right, box.left, box.right);
    this.y = scale(bottom, top, box.bottom, box.top);
    const { across, up } = this;
    const every = ({ range: [low, high], ticks: n, values }, room) => (values ? thinned(values, room) : ticks(low, high, n));
    const word = ({ values }) => values && ((i) => values[i]);
    axes(this.grid, box, this.x, this.y, {
      xTicks: every(across, box.right - box.left), yTicks: every(up, Infinity), xTitle: across.title, yTitle: up.title,
      xSay: word(across), ySay: word(up),
    });
  }

  /**
   * Shade cells around the columns `xs` and the rows `ys` of the drawing; `look(value)` are their attributes. Behind them lies
   * the colour of zero; a line runs where `bends` are zero.
   */
  shadeCells(values, xs, ys, look, bends = values) {
    const [w, h] = [Math.abs(xs[1] - xs[0]), Math.abs(ys[1] - ys[0])];
    const { left, right, top, bottom } = this.box, behind = { x: left, y: top, width: right - left, height: bottom - top };
    this.cells.replaceChildren(svg("rect", { class: "neutral", ...behind }), ...values.flatMap((row, r) => row.map((value, c) => svg("rect", {
      ...look(value), x: (xs[c] - w / 2).toFixed(2), y: (ys[r] - h / 2).toFixed(2), width: w.toFixed(2), height: h.toFixed(2),
    }))));
    this.contour.setAttribute("d", zeroLine(bends, xs, ys));
  }

  update(p) {
    const { across, up, x, y } = this;
    const say = ({ words, name, values, digits }) => `${words} ${values ? values[p[name]] : number(p[name], digits)}`;
    this.point = p;
    // Across in shares of the width: where the column shrinks, the handle does not stand out of it until it is laid out anew.
    this.handle.style.left = `${((100 * x(p[across.name])) / this.width).toFixed(3)}%`;
    this.handle.style.top = `${y(p[up.name]).toFixed(1)}px`;
    set(this.handle, {
      "aria-valuemin": across.range[0], "aria-valuemax": across.range[1], "aria-valuenow": p[across.name],
      "aria-valuetext": [across, up].map(say).join(", "),
    });
  }

  move(x, y) {
    this.onMove({ [this.across.name]: snap(x, this.across.range), [this.up.name]: snap(y, this.up.range) });
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
    const stop = () => this.handle.removeEventListener("pointermove", move);
    this.handle.addEventListener("pointermove", move);
    this.handle.addEventListener("pointerup", stop, { once: true });
    this.handle.addEventListener("pointercancel", stop, { once: true });
  }

  /** A mouse may press anywhere and go on dragging; a finger may scroll the page there, so only its tap counts. */
  press(event) {
    if (event.pointerType !== "mouse" || event.button) return;
    this.moveTo(event);
    this.drag(event);
  }

  /** Arrows move the handle where they point. */
  key(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!direction) return;
    event.preventDefault();
    const size = event.shiftKey ? 5 : 1, { across, up, point } = this;
    this.move(
      point[across.name] + direction[0] * size * across.range[2],
      point[up.name] + direction[1] * size * up.range[2],
    );
  }
}
