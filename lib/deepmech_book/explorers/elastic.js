// The elastic explorer: classes of points in the plane that pull on one another. One component, two hosts: an anywidget in
// Jupyter, and a page without kernel or network. The model holds the parameters (see elastic.py); this view holds the points.

import { digits, help, sliders } from "./controls.js";
import { html, number, path, power, set, svg, symbol, symbolText } from "./dom.js";
import { Cloud, separation, STEP } from "./elastic_model.js";
import { Plane } from "./plane.js";
import { Player } from "./player.js";
import { hosted } from "./view.js";

// The points in the plane, with a line between every two classes that a line can separate. Shapes tell classes apart as well
// as colours do. The view follows the mean of all points and grows with them.
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

class CloudPlot {
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

// The plane of the two effects, with the current pair as a handle to drag. Above the diagonal classes come apart.
class EffectPlane extends Plane {
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

const PHYSICS = ["intra", "inter", "n_classes", "n_samples", "noise"];
/** Steps of the button "Step": half a unit of time. */
const HALF_UNIT = Math.round(0.5 / STEP);
/** The points stop here: beyond, doubles and readers lose sight of the noise. */
const LARGEST = 1e9;

class Explorer extends Player {
  constructor(model, el) {
    super(model, {
      physics: PHYSICS, perUnit: Math.round(1 / STEP), stride: HALF_UNIT, shown: "points", decimals: 1,
    });
    this.plot = new CloudPlot();
    const { inter, intra } = model.get("ranges");
    this.plane = new EffectPlane(inter, intra, (values) => this.set(values));
    this.controls = this.effectSliders();
    this.begin(this.build(), el);
  }

  // What is on the page.

  effectSliders() {
    const rate = () => {
      const p = this.parameters, gap = (p.intra - p.inter) / p.n_classes;
      return gap ? `differences ${gap > 0 ? "grow" : "fade"} at rate ${number(Math.abs(gap), 2)}` : "differences stay";
    };
    const others = (v) => (v > 0 ? "classes carry others along" : v < 0 ? "classes push others away" : "classes ignore one another");
    return sliders(this.model, this.cleanup, {
      intra: { label: ["within classes ", symbol("α")], say: digits(2), note: rate },
      inter: { label: ["between classes ", symbol("β")], say: digits(2), note: others },
      noise: { label: ["noise ", symbol("σ")], say: digits(2), note: () => "classes widen as σ√t" },
      n_classes: { label: ["classes ", symbol("K")], say: String, note: () => "starts anew" },
      n_samples: { label: ["samples per class ", symbol("n")], say: String, note: () => "starts anew" },
      speed: { label: ["speed"], say: digits(1), note: () => "units of time per second" },
    });
  }

  build() {
    return html(
      "div", { class: "deepmech-explorer elastic", role: "group", "aria-label": "Locally elastic points explorer" },
      html(
        "div", { class: "stage" },
        html("div", { class: "top" }, this.head(), this.plot.root),
        this.buttons({
          step: "Advance by half a unit of time, 50 steps", reset: "Back to the start",
          noise: "Another seed of start and noise", presets: "Settings to try",
          hold: "Hold the points where they are", move: "Let the points move",
        }),
        html("div", { class: "plot" }, this.plane.root),
      ),
      html("div", { class: "sliders" }, ...this.controls.map((c) => c.root)),
      help(
        ["Every point is a sample with two features; colour and shape tell its class. A step draws all of a class's ",
          "points along its own mean by ", symbol("α"), "/K and along the other classes' means by ", symbol("β"), "/K (Eq. 2)."],
        "The view follows the mean of all points and grows with them: what looks still may be moving fast.",
        "A line stands between two classes where one can: exactly decided, in the middle of the widest gap.",
        "Drag the ring in the plane of effects, or move it with the arrow keys (with Shift five times as far).",
        "Means over width: the smallest distance between two class means, over the width of a class.",
        `The points stop where they are ${power(LARGEST)} units apart.`,
      ),
      this.status,
    );
  }

  // What moves.

  start() {
    const p = this.parameters, m = this.model;
    const stream = { key: m.get("noise_keys")[m.get("seed")], start: m.get("purposes")[0], noise: m.get("purposes")[1] };
    this.subject = new Cloud(p.n_samples, m.get("corners")[p.n_classes - 2], m.get("start_spread"), stream);
  }

  advance(steps) {
    this.subject.advance(this.parameters, steps);
  }

  get outdated() {
    const p = this.parameters;
    return this.subject.K !== p.n_classes || this.subject.n !== p.n_samples;
  }

  get done() {
    return this.subject.extent().reach > LARGEST;
  }

  tell() {
    const p = this.parameters;
    return `Effect within classes ${number(p.intra, 2)}, between classes ${number(p.inter, 2)}.`;
  }

  draw() {
    const { K } = this.subject, found = [], hulls = Array.from({ length: K }, (_, k) => this.subject.points(k));
    for (let k = 0; k < K; k++) {
      for (let l = 0; l < k; l++) {
        const pair = separation(hulls[l], hulls[k]);
        if (pair.gap > 0) found.push(pair);
      }
    }
    const pairs = (K * (K - 1)) / 2;
    this.plot.update(this.subject, found);
    const [regime, word] = found.length === pairs ? ["convex", "Separable"] : found.length ? ["", "Partly"] : ["concave", "Mixed"];
    const meaning = pairs === 1
      ? found.length ? "a line separates the classes" : "no line separates the classes"
      : `lines separate ${found.length} of ${pairs} pairs`;
    const ratio = this.subject.signal(), { reach } = this.subject.extent();
    this.show(regime, word, this.done ? `${meaning}; stopped ${power(LARGEST)} units apart` : meaning, [
      `t = ${number(this.subject.time, 1)}`,
      `means over width ${Number.isFinite(ratio) ? number(ratio, ratio < 100 ? 1 : 0) : "∞"}`,
      `view ±${reach < 1000 ? number(reach, 1) : power(reach, 1)}`,
    ]);
  }

  // What depends on parameters and width.

  layout() {
    const p = this.parameters;
    // 560 is the width at which elastic.css puts the pictures above one another.
    this.plot.layout(this.plot.root.clientWidth, this.subject, this.width <= 560);
    this.plane.layout(this.plane.root.clientWidth);
    this.plane.update(p);
    for (const control of this.controls) control.show();
  }
}

const { render, startPages } = hosted(Explorer, "elastic", [...PHYSICS, "seed"]);
export default { render };
