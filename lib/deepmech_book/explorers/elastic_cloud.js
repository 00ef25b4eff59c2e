// The points in the plane, with a line between every two classes that a line can separate. Shapes tell classes apart as well
// as colours do. The view follows the mean of all points and grows with them.

import { set, svg } from "./dom.js";

const SIZE = 5.5;
/** Pictures above one another are lower, so that the points stay in sight while the sliders are moved. */
const BESIDE = 300, ABOVE = 220;

/** Marks around the origin: circle, square, triangle, diamond. */
const SHAPES = [
  () => svg("circle", { r: SIZE }),
  () => svg("rect", { x: -SIZE * 0.9, y: -SIZE * 0.9, width: SIZE * 1.8, height: SIZE * 1.8 }),
  () => svg("path", { d: `M0,${-SIZE * 1.2}L${SIZE * 1.1},${SIZE * 0.8}L${-SIZE * 1.1},${SIZE * 0.8}Z` }),
  () => svg("path", { d: `M0,${-SIZE * 1.3}L${SIZE * 1.3},0L0,${SIZE * 1.3}L${-SIZE * 1.3},0Z` }),
];

export class CloudPlot {
  constructor() {
    this.box = svg("rect", { class: "box" });
    this.lines = svg("g", { class: "between" });
    this.marks = svg("g", { class: "marks" });
    this.inside = svg("svg", { overflow: "hidden" }, this.lines, this.marks);
    this.root = svg("svg", { class: "cloud", "aria-hidden": "true" }, this.inside, this.box);
  }

  layout(width, cloud, stacked) {
    [this.width, this.height] = [width, stacked ? ABOVE : BESIDE];
    set(this.root, { height: this.height });
    set(this.box, { x: 0.5, y: 0.5, width: Math.max(0, width - 1), height: this.height - 1 });
    set(this.inside, { x: 0, y: 0, width, height: this.height });
    if (this.marks.childElementCount === cloud.K && this.marks.firstChild.childElementCount === cloud.n) return;
    this.marks.replaceChildren(
      ...Array.from({ length: cloud.K }, (_, k) =>
        svg("g", { class: `class${k}` }, ...Array.from({ length: cloud.n }, () => SHAPES[k]())),
      ),
    );
  }

  /** Draw the cloud; `pairs` are the results of `separation` for the pairs that are separable. */
  update(cloud, pairs) {
    const { middle, reach } = cloud.extent();
    const unit = (Math.min(this.width, this.height) / 2 - 12) / Math.max(reach, 1e-9);
    const px = (v) => this.width / 2 + (v - middle[0]) * unit, py = (v) => this.height / 2 - (v - middle[1]) * unit;
    for (let k = 0; k < cloud.K; k++) {
      const group = this.marks.children[k];
      for (let i = 0; i < cloud.n; i++) {
        const j = 2 * (k * cloud.n + i);
        set(group.children[i], { transform: `translate(${px(cloud.x[j]).toFixed(1)},${py(cloud.x[j + 1]).toFixed(1)})` });
      }
    }
    while (this.lines.childElementCount > pairs.length) this.lines.lastChild.remove();
    while (this.lines.childElementCount < pairs.length) this.lines.append(svg("line"));
    pairs.forEach(({ normal: [u, v], middle: at }, i) => {
      // The point of the line nearest to the middle of the view, and far out along the line from there.
      const off = at - u * middle[0] - v * middle[1], far = 3 * (this.width + this.height);
      const [x, y] = [this.width / 2 + off * u * unit, this.height / 2 - off * v * unit];
      set(this.lines.children[i], {
        x1: (x - far * v).toFixed(1), y1: (y - far * u).toFixed(1), x2: (x + far * v).toFixed(1), y2: (y + far * u).toFixed(1),
      });
    });
  }
}
