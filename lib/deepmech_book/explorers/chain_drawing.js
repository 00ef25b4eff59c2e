// A chain as it lies on its table: wall, blocks, springs, target; the table's teeth lean like the friction.

import { path, set, svg } from "./dom.js";

const HEIGHT = 118, GROUND = 84, WALL = 14;

/** Where a block or a dot lies between the colours of the shallowest and the deepest block, in percent. */
export const shade = (l, L) => `--share: ${L > 1 ? Math.round((100 * (l - 1)) / (L - 1)) : 50}%`;

export class ChainDrawing {
  constructor() {
    this.table = svg("path", { class: "ground" });
    this.fixed = svg("g", {});
    this.springs = svg("g", { class: "springs" });
    this.blocks = svg("g", { class: "blocks" });
    this.root = svg(
      "svg", { class: "chain", height: HEIGHT, "aria-hidden": "true" }, this.table, this.fixed, this.springs, this.blocks,
    );
  }

  /** Measure and rebuild for this width, these parameters, and positions up to `reach`. */
  layout(width, p, reach) {
    const L = p.n_blocks;
    this.size = Math.max(10, Math.min(34, (0.42 * width) / L));
    const room = width - 2 * WALL - L * this.size - 8;
    this.unit = room / Math.max(1, reach);
    const target = WALL + L * this.size + this.unit;
    this.fixed.replaceChildren(
      svg("rect", { class: "wall", x: 0, y: 18, width: WALL, height: GROUND - 18 }),
      svg("line", { class: "target", x1: target, x2: target, y1: 18, y2: GROUND }),
      svg("circle", { class: "ring", cx: target, cy: this.axis(), r: 4 }),
      svg("text", { x: 0, y: 11 }, "wall"),
      svg("text", { x: target, y: 11, "text-anchor": "middle" }, "target"),
    );
    this.target = target;
    this.springs.replaceChildren(...Array.from({ length: L + 1 }, () => svg("path", {})));
    this.blocks.replaceChildren(
      ...Array.from({ length: L }, (_, i) => {
        const box = svg("rect", { width: this.size - 2, height: Math.min(this.size + 6, 34), x: 1, rx: 4 });
        box.setAttribute("y", GROUND - 2 - Number(box.getAttribute("height")));
        const name = svg("text", { x: this.size / 2, y: this.axis() + 4.5, "text-anchor": "middle" }, String(i + 1));
        return svg("g", { style: shade(i + 1, L) }, box, ...(this.size >= 16 ? [name] : []));
      }),
    );
    this.drawTable(width, p);
  }

  axis() {
    return GROUND - 2 - Math.min(this.size + 6, 34) / 2;
  }

  /** Saw teeth: steep on the side that blocks must climb against the larger friction, flat table without any. */
  drawTable(width, p) {
    const right = p.friction_right, left = p.friction_left, both = right + left;
    const period = 12, height = Math.min(14, 34 * both), rise = both > 0 ? (period * left) / both : 0;
    const points = [0, GROUND];
    if (height > 0) {
      for (let at = 0; at < width; at += period) {
        points.push(at, GROUND + height, at + rise, GROUND, at + period, GROUND + height);
      }
    }
    points.push(width, GROUND, width, GROUND + 24, 0, GROUND + 24);
    this.table.setAttribute("d", path(points) + "Z");
  }

  update(chain, p) {
    const { size, unit } = this, L = p.n_blocks, y = this.axis();
    let end = WALL;
    for (let l = 1; l <= L + 1; l++) {
      const left = l > L ? this.target : WALL + (l - 1) * size + chain.x[l] * unit;
      set(this.springs.children[l - 1], { d: this.coil(end, left, y) });
      if (l > L) break;
      set(this.blocks.children[l - 1], {
        transform: `translate(${left.toFixed(2)},0)`,
        class: chain.held(p, l) ? "held" : "free",
      });
      end = left + size;
    }
  }

  coil(from, to, y) {
    const turns = this.unit < 200 ? 5 : 8, lead = Math.sign(to - from) * Math.min(4, Math.abs(to - from) / 4);
    const pitch = (to - from - 2 * lead) / turns, points = [from, y, from + lead, y];
    for (let i = 0; i < turns; i++) points.push(from + lead + (i + 0.5) * pitch, y + (i % 2 ? 6 : -6));
    points.push(to - lead, y, to, y);
    return path(points);
  }
}
