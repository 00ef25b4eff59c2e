// The plane of the two effects, with the current pair as a handle to drag. Above the diagonal classes come apart.

import { axes, html, number, path, scale, set, svg, symbolText, ticks } from "./dom.js";

const HEIGHT = 300;

export class EffectPlane {
  /** `onMove(inter, intra)` is called while the handle moves; ranges are [low, high, step]. */
  constructor(inter, intra, onMove) {
    this.ranges = { inter, intra };
    this.onMove = onMove;
    this.frame = svg("g", { class: "axes" });
    this.areas = [svg("path", { class: "apart" }), svg("path", { class: "together" })];
    this.diagonal = svg("path", { class: "contour" });
    this.names = [svg("text", {}, "classes part"), svg("text", { "text-anchor": "end" }, "classes mix")];
    this.svg = svg(
      "svg", { height: HEIGHT, "aria-hidden": "true", onpointerdown: (e) => this.press(e), onclick: (e) => this.moveTo(e) },
      ...this.areas, this.frame, this.diagonal, ...this.names,
    );
    this.handle = html("div", {
      class: "handle", tabindex: 0, role: "slider", "aria-roledescription": "two-dimensional slider",
      "aria-label": "Point in the plane of effects. Arrow keys: left and right for the effect between classes, up and down for the effect within",
      "aria-valuemin": inter[0], "aria-valuemax": inter[1],
      onkeydown: (e) => this.key(e), onpointerdown: (e) => this.drag(e),
    });
    this.root = html("div", { class: "phase" }, this.svg, this.handle);
  }

  layout(width) {
    const box = { left: 44, right: width - 22, top: 28, bottom: HEIGHT - 44 }, { inter, intra } = this.ranges;
    const x = (this.x = scale(inter[0], inter[1], box.left, box.right));
    const y = (this.y = scale(intra[0], intra[1], box.bottom, box.top));
    axes(this.frame, box, x, y, {
      xTicks: ticks(inter[0], inter[1], 5), yTicks: ticks(intra[0], intra[1], 4),
      xTitle: ["effect between classes ", ...symbolText("β")], yTitle: ["effect within classes ", ...symbolText("α")],
    });
    // The diagonal alpha = beta, where it lies in the box.
    const low = Math.max(inter[0], intra[0]), high = Math.min(inter[1], intra[1]);
    const ends = [x(low), y(low), x(high), y(high)];
    this.diagonal.setAttribute("d", path(ends));
    const closed = (points) => path(points) + "Z";
    this.areas[0].setAttribute("d", closed([box.left, box.bottom, ...ends, box.right, box.top, box.left, box.top]));
    this.areas[1].setAttribute("d", closed([...ends, box.right, box.top, box.right, box.bottom]));
    set(this.names[0], { x: box.left + 8, y: box.top + 18 });
    set(this.names[1], { x: box.right - 8, y: box.bottom - 10 });
  }

  update(p) {
    this.point = p;
    this.handle.style.transform = `translate(${this.x(p.inter).toFixed(1)}px, ${this.y(p.intra).toFixed(1)}px)`;
    set(this.handle, {
      "aria-valuenow": p.inter,
      "aria-valuetext": `between classes ${number(p.inter, 2)}, within classes ${number(p.intra, 2)}`,
    });
  }

  move(inter, intra) {
    const snap = (v, [low, high, step]) =>
      Number((Math.round(Math.min(high, Math.max(low, v)) / step) * step).toFixed(6));
    this.onMove(snap(inter, this.ranges.inter), snap(intra, this.ranges.intra));
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

  key(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!direction) return;
    event.preventDefault();
    const size = event.shiftKey ? 5 : 1, { inter, intra } = this.ranges;
    this.move(this.point.inter + direction[0] * size * inter[2], this.point.intra + direction[1] * size * intra[2]);
  }
}
