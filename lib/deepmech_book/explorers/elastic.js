// The elastic explorer: classes of points in the plane that pull on one another. The model holds the parameters (see
// elastic.py), this view the points.

import { digits, figure, help } from "./controls.js";
import { html, number, path, power, set, svg, symbol, symbolText } from "./dom.js";
import { Plane } from "./plane.js";
import { Player } from "./player.js";
import { hosted } from "./view.js";

// Locally elastic features in the plane (paper B, Eq. 2) by Euler steps, with the random numbers that deepmech draws, and
// whether a straight line separates two classes of them. `p` is an object with intra, inter, noise.
/** Length of an Euler step. */
const STEP = 0.01;

/** K classes of n samples, each with two features: x[2 (k n + i)], x[2 (k n + i) + 1]. */
class Cloud {
  /** Class means begin at `corners`, [x, y] each; `start` and `noise` are the random numbers of the two purposes. */
  constructor(nSamples, corners, spread, start, noise) {
    const K = corners.length, size = 2 * K * nSamples;
    Object.assign(this, { K, n: nSamples, normals: noise, steps: 0 });
    [this.random, this.x, this.means] = [size + 4, size, 2 * K].map((n) => new Float64Array(n));
    start.draw(0, size, this.random);
    for (let j = 0; j < size; j++) {
      this.x[j] = corners[Math.floor(j / (2 * nSamples))][j % 2] + spread * this.random[j];
    }
    this.measure();
  }

  /** Where the mean of a class stands that belongs to a coordinate of `x`. */
  of(j) {
    return 2 * Math.floor(j / (2 * this.n)) + (j % 2);
  }

  measure() {
    this.means.fill(0);
    this.x.forEach((v, j) => (this.means[this.of(j)] += v / this.n));
  }

  /** Class k moves by STEP (alpha X_k + beta sum of the others) / K; every sample has noise of its own. */
  advance(p, steps) {
    const { K, x, means, random } = this, kick = p.noise * Math.sqrt(STEP);
    for (let s = 0; s < steps; s++, this.steps++) {
      this.measure();
      if (kick > 0) this.normals.draw(this.steps, x.length, random);
      const all = [0, 1].map((a) => means.reduce((sum, v, i) => (i % 2 === a ? sum + v : sum), 0));
      const pull = means.map((v, i) => (STEP * ((p.intra - p.inter) * v + p.inter * all[i % 2])) / K);
      for (let j = 0; j < x.length; j++) x[j] += pull[this.of(j)] + (kick > 0 ? kick * random[j] : 0);
    }
    this.measure();
  }

  points(k) {
    return Array.from({ length: this.n }, (_, i) => [this.x[2 * (k * this.n + i)], this.x[2 * (k * this.n + i) + 1]]);
  }

  /** Mean of all samples, and the largest distance of a coordinate from it. */
  extent() {
    const middle = [0, 0], { x } = this;
    for (let j = 0; j < x.length; j++) middle[j % 2] += (2 * x[j]) / x.length;
    let reach = 0;
    for (let j = 0; j < x.length; j++) reach = Math.max(reach, Math.abs(x[j] - middle[j % 2]));
    return { middle, reach };
  }

  /** Smallest distance of two class means over the width of a class along one feature. */
  signal() {
    const { K, n, x, means } = this;
    let variance = 0, nearest = Infinity;
    x.forEach((v, j) => (variance += (v - means[this.of(j)]) ** 2));
    for (let k = 0; k < 2 * K; k += 2) {
      for (let l = 0; l < k; l += 2) nearest = Math.min(nearest, Math.hypot(means[k] - means[l], means[k + 1] - means[l + 1]));
    }
    // n − 1 of n, as the mean is that of the same samples; a single sample has no width to speak of.
    return n > 1 ? nearest / Math.sqrt(variance / (2 * K * (n - 1))) : Infinity;
  }
}

/** The convex hull of points [x, y], counter-clockwise (Andrew's monotone chain). */
function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const out = [];
    for (const p of list) {
      while (out.length > 1 && turn(out.at(-2), out.at(-1), p) <= 0) out.pop();
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

/**
 * The widest of the gaps that a straight line can lie in: {gap, normal, middle}, gap > 0 where classes are separable.
 * Two convex polygons in the plane that do not touch have a gap along the normal of one of their edges; where both are
 * points or segments on one line, along it.
 */
function separation(first, second) {
  const a = hull(first), b = hull(second);
  let best = { gap: -Infinity, normal: [1, 0], middle: 0 };
  const attempt = (u, v) => {
    const length = Math.hypot(u, v);
    if (length === 0) return;
    const normal = [u / length, v / length], on = (p) => normal[0] * p[0] + normal[1] * p[1];
    const [aLow, aHigh] = [Math.min(...a.map(on)), Math.max(...a.map(on))];
    const [bLow, bHigh] = [Math.min(...b.map(on)), Math.max(...b.map(on))];
    const after = bLow - aHigh, before = aLow - bHigh;
    if (Math.max(after, before) <= best.gap) return;
    best = { gap: Math.max(after, before), normal, middle: (after > before ? bLow + aHigh : aLow + bHigh) / 2 };
  };
  for (const h of [a, b]) {
    for (let i = 0; i < h.length; i++) {
      const next = h[(i + 1) % h.length];
      attempt(next[1] - h[i][1], h[i][0] - next[0]);
      if (h.length < 3) attempt(next[0] - h[i][0], next[1] - h[i][1]);
    }
  }
  if (a.length < 3 || b.length < 3) for (const p of a) for (const q of b) attempt(q[0] - p[0], q[1] - p[1]);
  return best;
}

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

  layout(cloud, stacked) {
    const width = this.root.clientWidth;
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

  layout() {
    const inter = this.across.range, intra = this.up.range;
    this.frame(inter, intra);
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
    super(model, { physics: PHYSICS, perUnit: Math.round(1 / STEP), stride: HALF_UNIT, shown: "points", decimals: 1 });
    this.plot = new CloudPlot();
    this.plane = new EffectPlane(this.ranges.inter, this.ranges.intra, (values) => this.set(values));
    const rate = () => {
      const p = this.parameters, gap = (p.intra - p.inter) / p.n_classes;
      return gap ? `differences ${gap > 0 ? "grow" : "fade"} at rate ${number(Math.abs(gap), 2)}` : "differences stay";
    };
    const others = (v) => (v > 0 ? "classes carry others along" : v < 0 ? "classes push others away" : "classes ignore one another");
    this.begin(
      el, "elastic", "Locally elastic points explorer",
      html(
        "div", { class: "stage" },
        html("div", { class: "top" }, this.head(), this.plot.root),
        this.buttons({
          step: "Advance by half a unit of time, 50 steps", reset: "Back to the start",
          noise: "Another seed of start and noise", presets: "Settings to try",
          hold: "Hold the points where they are", move: "Let the points move",
        }),
        figure(this.plane),
      ),
      this.sliders({
        intra: { label: ["within classes ", symbol("α")], say: digits(2), note: rate },
        inter: { label: ["between classes ", symbol("β")], say: digits(2), note: others },
        noise: { label: ["noise ", symbol("σ")], say: digits(2), note: () => "classes widen as σ√t" },
        n_classes: { label: ["classes ", symbol("K")], say: String, note: () => "starts anew" },
        n_samples: { label: ["samples per class ", symbol("n")], say: String, note: () => "starts anew" },
        speed: { label: ["speed"], say: digits(1), note: () => "units of time per second" },
      }),
      help(
        ["Every point is a sample with two features; colour and shape tell its class. A step draws all of a class's ",
          "points along its own mean by ", symbol("α"), "/K and along the other classes' means by ", symbol("β"), "/K (Eq. 2)."],
        "The view follows the mean of all points and grows with them: what looks still may be moving fast.",
        "A line stands between two classes where one can: exactly decided, in the middle of the widest gap.",
        "Drag the ring in the plane of effects, or move it with the arrow keys (with Shift five times as far).",
        "Means over width: the smallest distance between two class means, over the width of a class.",
        `The points stop where they are ${power(LARGEST)} units apart.`,
      ),
    );
  }

  // What moves.

  start() {
    const p = this.parameters, m = this.model, [start, noise] = m.get("purposes").map((purpose) => this.normals(purpose));
    this.subject = new Cloud(p.n_samples, m.get("corners")[p.n_classes - 2], m.get("start_spread"), start, noise);
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
      `t = ${number(this.time, 1)}`,
      `means over width ${Number.isFinite(ratio) ? number(ratio, ratio < 100 ? 1 : 0) : "∞"}`,
      `view ±${reach < 1000 ? number(reach, 1) : power(reach, 1)}`,
    ]);
  }

  // What depends on parameters and width.

  layout() {
    // 560 is the width at which elastic.css puts the pictures above one another.
    this.plot.layout(this.subject, this.width <= 560);
    this.plane.layout();
    this.plane.update(this.parameters);
  }
}

export default hosted(Explorer, "elastic", [...PHYSICS, "seed"]);
