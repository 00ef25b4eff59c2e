// The folding-ruler explorer: pulled slowly, jerked, or shaken. The model holds the parameters (see ruler.py), this view the
// moving ruler.

import { digits, figure, help, key } from "./controls.js";
import { html, number, path, set, svg, symbol } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { Player } from "./player.js";
import { hosted } from "./view.js";

// The folding ruler: the steps of deepmech.simulators.folding_ruler.simulate, with the same jerks.
/** Time step, the largest that the simulator allows for these pulls. */
const STEP = 0.02;
const WALL = 1e300;

/** A rising polyline: corners (w, y), of which the first `size` count (see deepmech.simulators.folding_ruler). */
class Polyline {
  constructor(room) {
    this.w = new Float64Array(room);
    this.y = new Float64Array(room);
    this.size = 0;
  }

  push(w, y) {
    this.w[this.size] = w;
    this.y[this.size++] = y;
  }

  /** Where it first reaches `height`. */
  first(height) {
    const { w, y } = this;
    let j = 0;
    while (y[j] < height) j++;
    if (j === 0 || w[j] === w[j - 1]) return w[j];
    return w[j - 1] + ((height - y[j - 1]) / (y[j] - y[j - 1])) * (w[j] - w[j - 1]);
  }

  /** Where it last is at `height` or below it. */
  last(height) {
    const { w, y, size } = this;
    let j = size - 1;
    while (y[j] > height) j--;
    if (j === size - 1 || w[j] === w[j + 1]) return w[j];
    return w[j] + ((height - y[j]) / (y[j + 1] - y[j])) * (w[j + 1] - w[j]);
  }

  /** Lowest and highest value at rest, w = 0. */
  atRest() {
    const { w, y, size } = this;
    let j = 0;
    while (j < size - 1 && w[j] < 0) j++;
    if (w[j] !== 0) {
      if (j === 0 || w[j] < 0) return [y[j], y[j]];
      const value = y[j - 1] + ((0 - w[j - 1]) / (w[j] - w[j - 1])) * (y[j] - y[j - 1]);
      return [value, value];
    }
    let k = j;
    while (k < size - 1 && w[k + 1] === 0) k++;
    return [y[j], y[k]];
  }
}

class Ruler {
  /** `jerks(period)` is the strength of the jerk in that period of the pull. */
  constructor(p, setting, jerks) {
    Object.assign(this, { setting, jerks, n: setting.n_pairs, pull: pullOf(p) });
    const room = 8 * this.n + 8;
    this.lines = [new Polyline(room), new Polyline(room)];
    this.steps = 0;
    const start = this.hand(p, 0) / this.n;
    this.x = Float64Array.from({ length: this.n + 1 }, (_, i) => i * start);
    const row = () => new Float64Array(this.n + 1);
    [this.v, this.out, this.drag, this.bound, this.lo, this.hi, this.lows, this.highs] = Array.from({ length: 8 }, row);
  }

  /** Where the hand is at step k. */
  hand(p, k) {
    const { fold, extension, stop, n_pairs: n, jerk_period: period } = this.setting;
    const t = STEP * k, s = Math.min(t / p.duration, 1);
    const path = n * (fold + (extension - fold) * s * s * (3 - 2 * s));
    const turn = Math.floor(t / period), phase = t / period - turn;
    const quiet = turn >= Math.floor(p.duration / period) - 2;
    const forth = quiet ? 0 : ((p.jerk_speed * period) / (2 * Math.PI)) * (1 - Math.cos(2 * Math.PI * phase));
    return Math.min(path + (forth ? this.jerks(turn) * forth : 0), n * stop);
  }

  advance(p, steps) {
    const { n, x, v, out, drag, bound, lo, hi } = this, h = STEP, { stop } = this.setting;
    const f = p.table_friction, c = p.shake_speed;
    for (const end = this.steps + steps; this.steps < end; this.steps++) {
      for (let i = 1; i <= n; i++) {
        const u = Math.min(Math.max(x[i] - x[i - 1], 0), stop);
        bound[i] = h / Math.sqrt(1 - u * u);
        lo[i] = -u / h;
        hi[i] = (stop - u) / h;
        // Sideways sliding turns dry friction along the pull into drag.
        drag[i] = c > 0 ? (h * f) / Math.sqrt(v[i] * v[i] + c * c) : 0;
      }
      this.solve((this.hand(p, this.steps + 1) - x[n]) / h, c > 0 ? 0 : h * f);
      for (let i = 1; i <= n; i++) x[i] += h * out[i];
      v.set(out);
    }
  }

  /** Velocities after a step in which the hand moves at `speed`: the minimum of a convex function, found exactly. */
  solve(speed, f) {
    const { n, v, out, drag, bound, lo, hi, lows, highs } = this;
    let [line, next] = this.lines;
    line.size = 0;
    line.push(0, -WALL);
    line.push(0, WALL);
    for (let i = 1; i <= n; i++) {
      // A pair: inside its bounds it is locked; at a bound it slides freely up to its stop.
      const b = bound[i], low = line.last(-b), high = line.first(b);
      [lows[i], highs[i], next.size] = [low, high, 0];
      for (let j = 0; j < line.size; j++) if (line.y[j] <= -b) next.push(line.w[j] + lo[i], line.y[j]);
      next.push(low + lo[i], -b);
      next.push(low, -b);
      for (let j = 0; j < line.size; j++) if (-b < line.y[j] && line.y[j] < b) next.push(line.w[j], line.y[j]);
      next.push(high, b);
      next.push(high + hi[i], b);
      for (let j = 0; j < line.size; j++) if (line.y[j] >= b) next.push(line.w[j] + hi[i], line.y[j]);
      [line, next] = [next, line];
      if (i === n) break;
      // A node: inertia and drag tilt the polyline, dry friction adds a jump at rest.
      const [below, above] = line.atRest();
      next.size = 0;
      const tilted = (j, jump) => next.push(line.w[j], line.y[j] + line.w[j] - v[i] + drag[i] * line.w[j] + jump);
      for (let j = 0; j < line.size; j++) if (line.w[j] < 0) tilted(j, -f);
      next.push(0, below - v[i] - f);
      next.push(0, above - v[i] + f);
      for (let j = 0; j < line.size; j++) if (line.w[j] > 0) tilted(j, f);
      [line, next] = [next, line];
    }
    out[n] = speed;
    for (let i = n; i > 0; i--) {
      if (out[i] > highs[i]) out[i - 1] = Math.max(highs[i], out[i] - hi[i]);
      else if (out[i] < lows[i]) out[i - 1] = Math.min(lows[i], out[i] - lo[i]);
      else out[i - 1] = out[i];
    }
  }
}

/** What must not change on the way: the hand's path would jump. */
const pullOf = (p) => [p.duration, p.jerk_speed].join();

const meanOf = (u) => u.reduce((a, b) => a + b) / u.length;
const spreadOf = (u) => Math.sqrt(meanOf(u.map((v) => (v - meanOf(u)) ** 2)));

/** Extensions after an infinitely slow pull to mean `extension`, in closed form (deepmech's slow_profile). */
function slowProfile(n, friction, extension, fold, stop) {
  const at = (pull) => Array.from({ length: n }, (_, i) => {
    const force = Math.max(pull - (n - 1 - i) * friction, 1);
    return Math.min(stop, Math.max(fold, Math.sqrt(1 - 1 / force ** 2)));
  });
  let low = 1, high = 1 / Math.sqrt(1 - stop * stop) + n * friction;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (meanOf(at(middle)) < extension) low = middle;
    else high = middle;
  }
  return at(high);
}

const PHYSICS = ["duration", "jerk_speed", "shake_speed", "table_friction"];
const HEIGHT = 130, GROUND = 96, PIN = 10;
/** Below this share of a slow pull's unevenness the ruler counts as even. */
const EVEN = 0.35;
/** Where a pair is less open than the one before it by more than this, there is no order from pin to hand. */
const FALL = 0.15;

class Explorer extends Player {
  constructor(model, el) {
    super(model, { physics: PHYSICS, perUnit: Math.round(1 / STEP), stride: Math.round(5 / STEP), shown: "position", decimals: 0 });
    this.setting = model.get("setting");
    this.segments = svg("g", { class: "segments" });
    this.joints = svg("g", { class: "joints" });
    this.sway = svg("g", {}, this.segments, this.joints);
    this.pin = svg("rect", { class: "pin", width: 10, height: 10 });
    this.fist = svg("circle", { class: "hand", r: 6 });
    this.labels = [svg("text", {}, "pin"), svg("text", { "text-anchor": "middle" }, "hand")];
    this.drawing = svg("svg", { class: "ruler", height: HEIGHT, "aria-hidden": "true" }, this.sway, this.pin, this.fist, ...this.labels);
    this.profile = new LinePlot(250, "profile");
    this.path = new LinePlot(250, "pull");
    this.begin(
      el, "ruler", "Folding ruler explorer",
      html("div", {}, html("div", { class: "top" }, this.head(), this.drawing), this.buttons({
        step: "Go on by five units of time", reset: "Fold the ruler again", noise: "Another seed of the jerks, from the start",
        presets: "Ways to pull", hold: "Hold the ruler where it is", move: "Pull",
      }), this.sliders({
        duration: { label: ["time of the pull"], say: String, note: () => "starts anew; long is slow" },
        jerk_speed: { label: ["jerks of the hand"], say: digits(1), note: () => "along the line; starts anew" },
        shake_speed: { label: ["shaking sideways ", symbol("c")], say: digits(2), note: () => "of the whole ruler" },
        table_friction: { label: ["friction of the table ", symbol("f")], say: digits(2), note: () => "on each joint it carries" },
        speed: { label: ["speed"], say: String, note: () => "units of time per second" },
      })),
      html("div", { class: "plots" }, figure(this.profile, key("slow", "infinitely slow pull, as far")), figure(this.path)),
      help(
        "A carpenter's ruler on a table, from above: its left end is pinned, a hand pulls the right one. The greener a pair of " +
          "segments, the further it is open.",
        "Press Slow, then Start: the pairs near the hand open and those near the pin stay folded. Press Shaken: all open alike.",
        "Unevenness: how much the extensions of the pairs differ (standard deviation), over what it is after an infinitely " +
          "slow pull as far, the dashed line. Even: below " + number(EVEN, 2) + " of that. In lumps: a pair is less open than " +
          "the one before it by more than " + number(FALL, 2) + ".",
        "Shaken sideways, the ruler sways on the picture as a reminder; the model knows only how fast it is shaken.",
        `Each step of ${STEP} is solved exactly, as the simulator does, with the same jerks.`,
      ),
    );
  }

  // What moves.

  start() {
    const strengths = new Float64Array(this.ranges.duration[1] / this.setting.jerk_period + 8);
    this.normals(this.model.get("purpose")).draw(0, strengths.length - 4, strengths);
    this.subject = new Ruler(this.parameters, this.setting, (turn) => Math.abs(strengths[turn]));
    this.pulled = [[0, this.subject.x.at(-1)]];
  }

  get outdated() {
    return this.subject.pull !== pullOf(this.parameters);
  }

  get last() {
    return Math.ceil(this.parameters.duration / STEP - 1e-9);
  }

  get done() {
    return this.subject.steps >= this.last;
  }

  advance(steps) {
    const end = Math.min(this.subject.steps + steps, this.last), burst = Math.max(1, Math.round(this.last / 400));
    while (this.subject.steps < end) {
      const next = Math.min(end, (Math.floor(this.subject.steps / burst) + 1) * burst);
      this.subject.advance(this.parameters, next - this.subject.steps);
      if (next % burst === 0) this.pulled.push([this.time, this.subject.x.at(-1)]);
    }
  }

  tell() {
    const p = this.parameters;
    return `Pull of ${p.duration}, jerks ${number(p.jerk_speed, 1)}, shaking ${number(p.shake_speed, 2)}.`;
  }

  draw() {
    const p = this.parameters, { n, x } = this.subject, { fold, stop } = this.setting, u = Array.from({ length: n }, (_, i) => x[i + 1] - x[i]);
    const mean = x[n] / n, slow = slowProfile(n, p.table_friction, mean, fold, stop);
    const uneven = spreadOf(u) / spreadOf(slow), fall = Math.max(...u.slice(1).map((v, i) => u[i] - v)), moved = mean > fold + 0.02;
    this.drawRuler(u, p);
    this.profile.draw([
      { class: "slow", points: slow.map((v, i) => [i + 1, v]) }, { class: "mean", points: u.map((v, i) => [i + 1, v]), dots: 4.5 },
    ]);
    this.path.draw([{ class: "mean", points: this.pulled.map(([t, hand]) => [t, hand / n]) }]);
    // On a table without friction the slow profile is even itself.
    const known = moved && Number.isFinite(uneven) && p.table_friction > 0;
    const [regime, word, meaning] = !moved ? ["", "Folded", "every pair stands as it began"]
      : !known ? ["convex", "Even", "a table without friction holds nothing back"]
      : uneven < EVEN ? ["convex", "Even", "all pairs open alike"]
      : fall < FALL ? ["concave", "Uneven", "outer pairs open, inner ones stay folded"]
      : ["", "In lumps", "open and folded pairs without order"];
    this.show(regime, word, meaning, [
      `t = ${number(this.time, 1)}`, `mean extension ${number(mean, 2)}`, `unevenness ${known ? number(uneven, 2) : "–"}`,
    ]);
  }

  drawRuler(u, p) {
    const { x } = this.subject, unit = (this.width - PIN - 24) / (u.length * this.setting.stop), base = GROUND;
    const at = (i) => PIN + 5 + unit * x[i];
    u.forEach((v, i) => {
      const apex = base - (unit / 2) * Math.sqrt(Math.max(0, 1 - v * v));
      const d = path([at(i), base, (at(i) + at(i + 1)) / 2, apex, at(i + 1), base]);
      set(this.segments.children[i], { d, style: `--share: ${Math.round(100 * v)}%` });
      set(this.joints.children[i], { cx: ((at(i) + at(i + 1)) / 2).toFixed(2), cy: apex.toFixed(2) });
    });
    const swing = this.calm || this.done ? 0 : 5 * Math.min(1, 2 * p.shake_speed) * Math.sin(4 * this.time);
    set(this.sway, { transform: `translate(0,${swing.toFixed(2)})` });
    set(this.pin, { x: PIN, y: base - 5 + swing });
    set(this.fist, { cx: at(u.length).toFixed(2), cy: base + swing });
    set(this.labels[1], { x: Math.min(at(u.length), this.width - 16).toFixed(2), y: base + 24 });
  }

  // What depends on parameters and width.

  layout() {
    const { n } = this.subject, p = this.parameters;
    const fill = (g, make) => g.children.length === n || g.replaceChildren(...Array.from({ length: n }, make));
    fill(this.segments, () => svg("path", {}));
    fill(this.joints, () => svg("circle", { r: 2.5 }));
    set(this.labels[0], { x: PIN, y: GROUND + 24 });
    this.profile.layout(
      { low: 1, high: n, title: ["pair, counted from the pin"], at: Array.from({ length: n }, (_, i) => i + 1) },
      { low: 0, high: 1, title: ["extension (straight = 1)"] },
    );
    this.path.layout(
      { low: 0, high: p.duration, title: ["time"] }, { low: 0, high: 1, title: ["hand, as mean extension"] },
    );
  }
}

export default hosted(Explorer, "ruler", [...PHYSICS, "seed"]);
