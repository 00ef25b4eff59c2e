// The plane of the two effects, with the current pair as a handle to drag. Above the diagonal classes come apart.

import { path, set, svg, symbolText } from "./dom.js";
import { Plane } from "./plane.js";

export class EffectPlane extends Plane {
  /** Ranges are [low, high, step]; `onMove({inter, intra})` is called while the handle moves. */
  constructor(inter, intra, onMove) {
    super({
      height: 300, onMove,
      label: "Point in the plane of effects. Arrow keys: left and right for the effect between classes, up and down for the effect within",
      across: {
        name: "inter", range: inter, title: ["effect between classes ", ...symbolText("β")], ticks: 5, digits: 2, words: "between classes",
      },
      up: {
        name: "intra", range: intra, title: ["effect within classes ", ...symbolText("α")], ticks: 4, digits: 2, words: "within classes",
      },
    });
    this.areas = [svg("path", { class: "apart" }), svg("path", { class: "together" })];
    this.diagonal = svg("path", { class: "contour" });
    this.names = [svg("text", {}, "classes part"), svg("text", { "text-anchor": "end" }, "classes mix")];
    this.svg.append(...this.areas, this.grid, this.diagonal, ...this.names);
  }

  layout(width) {
    const inter = this.across.range, intra = this.up.range;
    this.frame(width, inter, intra);
    const { x, y, box } = this;
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
}
