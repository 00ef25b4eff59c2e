// The load curve D = y - x over the layers, with its chord and the two limits known in closed form.

import { shade } from "./chain_drawing.js";
import { axes, path, scale, set, svg, symbolText, ticks } from "./dom.js";

const HEIGHT = 276;

export class LoadPlot {
  constructor() {
    this.frame = svg("g", { class: "axes" });
    this.lines = Object.fromEntries(
      ["zero", "chord", "quiet", "loud", "load"].map((name) => [name, svg("path", { class: `line ${name}` })]),
    );
    this.dots = svg("g", { class: "dots" });
    this.inside = svg("svg", { overflow: "hidden" }, ...Object.values(this.lines), this.dots);
    this.root = svg("svg", { class: "load", height: HEIGHT, "aria-hidden": "true" }, this.inside, this.frame);
  }

  /** Measure for this width and draw everything that stands still; `low` is the least load worth showing. */
  layout(width, L, low, quiet, loud) {
    const box = { left: 44, right: width - 12, top: 28, bottom: HEIGHT - 44 };
    this.x = scale(0, L + 1, box.left + 10, box.right - 10);
    this.y = scale(low - 0.08, 1.08, box.bottom, box.top);
    // The clip is the box; its own coordinates stay those of the whole drawing.
    const [w, h] = [box.right - box.left, box.bottom - box.top];
    set(this.inside, { x: box.left, y: box.top, width: w, height: h, viewBox: `${box.left} ${box.top} ${w} ${h}` });
    const every = L > 9 && width < 340 ? 2 : 1;
    axes(this.frame, box, this.x, this.y, {
      xTicks: Array.from({ length: L + 2 }, (_, l) => l).filter((l) => l % every === 0),
      yTicks: ticks(low - 0.08, 1.08, 5),
      xTitle: ["layer ", ...symbolText("ℓ")],
      yTitle: ["load ", ...symbolText("D", "ℓ"), " = ", ...symbolText("y − x", "ℓ")],
    });
    this.frame.prepend(svg("rect", { class: "box", x: box.left, y: box.top, width: w, height: h }));
    this.lines.zero.setAttribute("d", path([box.left, this.y(0), box.right, this.y(0)]));
    this.lines.chord.setAttribute("d", path([this.x(0), this.y(1), this.x(L + 1), this.y(0)]));
    this.lines.quiet.setAttribute("d", this.curve(quiet));
    this.lines.loud.setAttribute("d", this.curve(loud));
    this.dots.replaceChildren(
      ...Array.from({ length: L }, (_, i) => svg("circle", { r: 5, cx: this.x(i + 1), style: shade(i + 1, L) })),
    );
  }

  curve(x) {
    const points = [];
    for (let l = 0; l < x.length; l++) points.push(this.x(l), this.y(1 - x[l]));
    return path(points);
  }

  update(chain, p) {
    set(this.lines.load, { d: this.curve(chain.x) });
    for (let l = 1; l <= p.n_blocks; l++) {
      set(this.dots.children[l - 1], {
        cy: this.y(1 - chain.x[l]).toFixed(2),
        class: chain.held(p, l) ? "held" : "free",
      });
    }
  }
}
