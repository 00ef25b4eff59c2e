// The explorer of walking weights: overlap, displacement and decorrelation time over temperature and waiting time. The model
// holds the records (relaxation.py) and what is looked at.

import { button, figure, help, key, legend, nearest } from "./controls.js";
import { html, number, power, set, svg, symbol, symbolText, write } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { StoredView } from "./stored.js";
import { hosted, unpacked } from "./view.js";

const LOOKS = { phase: ["temperature", "waiting"] };
const NAMES = Object.entries(LOOKS).flat(2);
/** Times within this factor of the free walk's count as the same. */
const ALIKE = 1.25;
const LEVEL = 0.9;

/** A temperature in few signs: 0, 0.03, 10⁻⁶. */
const warmth = (t) => (t === 0 || t >= 0.001 ? String(t) : power(t));
/** A number of steps with its thousands. */
const steps = (n) => Number(n.toPrecision(3)).toLocaleString("en");

/** Dots that stand for the weights, and how long they walk on the screen, in seconds. */
const DOTS = 50, WALK = 8;

/** A window and dots that leave it: of all, as many are outside as of the weights, in a fixed order. */
class Window {
  constructor() {
    this.band = svg("rect", { class: "window" });
    this.dots = Array.from({ length: DOTS }, () => svg("circle", { r: 4 }));
    this.root = svg("svg", { class: "weights", height: 118, "aria-hidden": "true" }, this.band, ...this.dots);
  }

  layout() {
    this.width = this.root.clientWidth;
    set(this.band, { x: 0, y: 34, width: this.width, height: 50 });
  }

  /** `inside` is the share of the weights that have not left, `rms` how far weights have moved, as a share of the window. */
  draw(inside, rms) {
    this.dots.forEach((dot, i) => {
      const rank = ((i * 19) % DOTS) + 0.5, out = rank / DOTS > inside, side = i % 2 ? 1 : -1, wobble = Math.sin(7 * i + 3);
      const away = out ? 33 + 6 * Math.abs(wobble) + 8 * Math.min(1, rms / 10) : 19 * wobble * Math.min(1, rms);
      set(dot, { cx: ((i + 0.5) / DOTS) * this.width, cy: 59 + side * away, class: out ? "out" : "" });
    });
  }
}

class Explorer extends StoredView {
  constructor(model, el) {
    super(model, LOOKS, NAMES);
    this.overlap = new LinePlot(270, "overlap");
    this.msd = new LinePlot(270, "msd");
    this.tau = new LinePlot(290, "tau");
    this.weights = new Window();
    this.told = html("span");
    this.walk = button("", "Let them walk, from the first record to the last", () => this.start(), "run");
    this.progress = 0;
    this.begin(
      el, "relaxation", "Explorer of walking weights",
      ...this.choice("phase", "Phase and data"), this.head(),
      this.sliders({
        temperature: {
          label: ["temperature ", symbol("T")], values: () => this.run.axes[0].values, say: warmth, speak: (t) => `temperature ${t}`,
          note: (t) => (t ? "noise of each step, ∝ √T" : "no noise: only the landscape moves weights"),
        },
        waiting: {
          label: ["waiting time ", symbol("t", "w")], values: () => this.run.axes[1].values, say: steps,
          speak: (t) => `waiting time ${t} steps`, note: () => "steps before the clock starts",
        },
      }, " two"),
      html("div", { class: "buttons" }, html("div", {}, this.walk, this.told)), this.weights.root,
      html("div", { class: "plots" }, figure(this.overlap), figure(this.msd)),
      legend(key("free", "free walk, nothing fitted"), key("seed", "one initial condition"), key("mean", "their mean, in the colour of its temperature")),
      this.tau.root,
      help(
        ["Networks walk by gradient steps with thermal noise. The overlap ", symbol("Q"), "(t) is the part of the weights that has moved ",
          "by less than a small window after t steps; τ₉₀ is when it falls to 0.9 (dashed upright line)."],
        "Fifty dots stand for all weights, the band for the window: as many are outside as the overlap says. Which, and how far, is not recorded.",
        "The dashed curves are weights that know nothing of any landscape: Eq. 6 with the same window and noise. Colours go from cold (blue) to hot (orange).",
        "The mean squared displacement of a free walk is 2Dt, a straight line of slope one here.",
        "Below, τ₉₀ of every temperature with its 95 % interval over initial conditions, and the free walk's. The ring is the " +
          "temperature chosen. The level line is T = 0, where only the landscape moves weights.",
        `Free: τ₉₀ within a factor of ${ALIKE} of the free walk's. Driven: faster. Held: slower.`,
        "Overlaps are rounded to 0.0001, the logarithms of displacements to 0.001.",
      ),
    );
    this.publish();
    this.watch(this.watched, () => {
      this.stop();
      this.publish();
    });
    this.stop();
    this.cleanup.push(() => cancelAnimationFrame(this.frame));
  }

  /** The dots go through the record, as many frames to each of its decades; where little motion is wanted, at once. */
  start() {
    if (this.frame) return this.stop(this.progress);
    const begun = performance.now();
    const tick = (now) => {
      this.progress = this.calm ? 1 : Math.min(1, (now - begun) / 1000 / WALK);
      this.drawWeights();
      if (this.progress === 1) this.stop(1);
      else this.frame = requestAnimationFrame(tick);
    };
    this.walk.textContent = "Stop";
    this.frame = requestAnimationFrame(tick);
  }

  stop(progress = 0) {
    cancelAnimationFrame(this.frame);
    [this.frame, this.progress] = [undefined, progress];
    this.walk.textContent = "Let them walk";
    this.drawWeights();
  }

  drawWeights() {
    if (!this.width) return;
    const { times, window } = this.run, place = this.where("phase"), [overlap, msd] = ["overlap", "msd"].map((name) => this.run.mean(name, place));
    // After a long wait the record ends before its last time.
    const seen = overlap.findLastIndex(Number.isFinite), at = this.progress * seen, i = Math.floor(at), part = at - i;
    // Between two records on a straight line.
    const [inside, moved] = [overlap, msd].map((curve) => (1 - part) * curve[i] + (part && part * curve[i + 1]));
    if (this.progress) this.weights.draw(inside, Number.isFinite(moved) ? Math.sqrt(moved) / window : 1);
    else this.weights.draw(1, 0);
    write(this.told, !this.progress ? "The clock is at 0: all weights are in the middle of their windows." : `After ${steps(times[Math.round(at)])} steps ${number(100 * (1 - inside), 0)} % of the weights have left their window.`);
  }

  get run() {
    return this.stored("phase");
  }

  /** The words for a decorrelation time and the free walk's. */
  state(tau, free) {
    if (tau === null) return ["", "Out of sight", `the record does not see the overlap fall to ${LEVEL}`];
    if (free !== null && tau > free * ALIKE) return ["convex", "Held", "slower than the free walk: the landscape holds the weights"];
    if (free !== null && tau > free / ALIKE) return ["", "Free", "the weights walk as if there were no landscape"];
    return ["concave", "Driven", "faster than the free walk: the landscape moves the weights"];
  }

  draw() {
    const { run } = this, { times, free_tau: freeTau } = run, [t, w] = this.where("phase"), [tau, low, high] = run.taus[w][t];
    this.weights.layout();
    this.drawWeights();
    const free = unpacked(run.free).subarray(t * times.length), here = tau === null ? [] : [{ class: "here", points: [[tau, 0], [tau, 1]] }];
    const level = { class: "zero", points: [[times[0] / 2, LEVEL], [times.at(-1) * 2, LEVEL]] };
    this.drawRecord(this.overlap, "overlap", { low: 0, high: 1, title: ["overlap ", ...symbolText("Q"), "(t)"] }, free, here, [level]);
    const slope = 2 * this.model.get("diffusion") * run.axes[0].values[t], [least, most] = run.msd_range;
    this.drawRecord(this.msd, "msd", { low: least, high: most, log: true, title: ["mean squared displacement"] }, times.map((time) => slope * time));
    this.drawTimes(run, t, w);
    const between = low === null || high === null ? "" : ` (${steps(low)}–${steps(high)})`, ratio = tau && freeTau[t] && tau / freeTau[t];
    this.show(...this.state(tau, freeTau[t]), [
      `τ₉₀ ${tau === null ? "–" : `${steps(tau)}${between} steps`}`, `free walk ${freeTau[t] === null ? "∞" : steps(freeTau[t])}`,
      ratio ? `ratio ${number(ratio, ratio < 0.1 ? 4 : 2)}` : "ratio –",
    ]);
  }

  /** What was recorded over time, and the free walk; the mean has the colour of its temperature. */
  drawRecord(plot, name, y, free, here = [], below = []) {
    const { times, colours } = this.run, [t] = this.where("phase");
    const title = ["time ", ...symbolText("t"), " since ", ...symbolText("t", "w"), " (steps)"];
    this.drawRuns(plot, "phase", name, times, { low: times[0], high: times.at(-1), log: true, title }, y, {
      below, between: [{ class: "free", points: times.map((time, i) => [time, free[i]]) }, ...here], colours: [colours[t]],
    });
  }

  /** τ₉₀ over the temperatures, and the free walk's. T = 0 and times that are not known (null) have no place on these axes. */
  drawTimes({ axes: [{ values: temperatures }], colours, taus, free_tau: freeTau }, t, w) {
    const plot = this.tau, at = (values) => temperatures.map((T, i) => [T, values[i]]), tau = taus[w].map(([value]) => value);
    const warm = temperatures.filter((T) => T > 0), all = taus.flat(2).filter((v) => v !== null), rest = temperatures[0] ? null : tau[0];
    plot.layout(
      { low: warm[0] / 2, high: warm.at(-1) * 2, log: true, n: 7, title: ["temperature ", ...symbolText("T")] },
      { low: Math.min(...all) / 2, high: Math.max(...all) * 2, log: true, title: ["τ₉₀ (steps)"] },
    );
    plot.draw([
      { class: "free", points: at(freeTau) },
      ...(rest === null ? [] : [
        { class: "rest", points: [[plot.x.invert(0), rest], [plot.x.invert(9999), rest]] },
        { class: "word", text: "T = 0", x: plot.x.invert(plot.box.left + 10), y: rest },
      ]),
      ...taus[w].map(([, low, high], i) => ({ class: "range", points: [[temperatures[i], low], [temperatures[i], high]] })),
      { class: "mean", points: at(tau), dots: 5, colours },
      { class: "mean now", points: [at(tau)[t]], dots: 7 },
    ]);
  }

  publish() {
    this.speak(this.run.title, this.inNumbers);
  }
}

export default hosted(Explorer, "relaxation", NAMES);
