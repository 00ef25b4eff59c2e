// The explorer of walking weights: overlap, displacement and decorrelation time over temperature and waiting time. The model
// holds the records (relaxation.py) and what is looked at.

import { button, figure, help, key, legend, nearest } from "./controls.js";
import { html, number, power, set, svg, symbol, symbolText, write } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { View, hosted, unpacked } from "./view.js";

/** Times within this factor of the free walk's count as the same. */
const ALIKE = 1.25;
const LEVEL = 0.9;

/** A temperature in few signs: 0, 0.03, 10⁻⁶. */
const warmth = (t) => (t === 0 || t >= 0.001 ? String(t) : power(t));
/** A number of steps with its thousands. */
const steps = (n) => Number(n.toPrecision(3)).toLocaleString("en");

/** From cold to hot by rank, as in the figures (deepmech.plots.style.COLD_TO_HOT, which comes with the page). */
const heat = (scale, i, n) => {
  const at = (i / Math.max(1, n - 1)) * (scale.length - 1), low = Math.min(Math.floor(at), scale.length - 2);
  return `color-mix(in srgb, ${scale[low]}, ${scale[low + 1]} ${Math.round(100 * (at - low))}%)`;
};

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

class Explorer extends View {
  constructor(model, el) {
    super(model, ["phase", "temperature", "waiting"]);
    this.overlap = new LinePlot(270, "overlap");
    this.msd = new LinePlot(270, "msd");
    this.tau = new LinePlot(290, "tau");
    this.about = html("p", { class: "about" });
    this.weights = new Window();
    this.told = html("span");
    this.walk = button("", "Let them walk, from the first record to the last", () => this.start());
    this.walk.className = "run";
    this.progress = 1;
    this.begin(
      el, "relaxation", "Explorer of walking weights",
      this.select("phase", "Phase and data", model.get("phases"), (phase) => this.choose(phase)), this.about, this.head(),
      this.sliders({
        temperature: {
          label: ["temperature ", symbol("T")], values: () => this.run.temperatures, say: warmth, speak: (t) => `temperature ${t}`,
          note: (t) => (t ? "noise of each step, ∝ √T" : "no noise: only the landscape moves weights"),
        },
        waiting: {
          label: ["waiting time ", symbol("t", "w")], values: () => this.run.waiting, say: steps,
          speak: (t) => `waiting time ${t} steps`, note: () => "steps before the clock starts",
        },
      }, " two"),
      html("div", { class: "buttons" }, html("div", {}, this.walk, this.told)), this.weights.root,
      html("div", { class: "plots" }, figure(this.overlap), figure(this.msd)),
      legend(key("free", "free walk, nothing fitted"), key("seed", "one initial condition"), key("mean", "their mean")),
      this.tau.root,
      help(
        ["Networks walk by gradient steps with thermal noise. The overlap ", symbol("Q"), "(t) is the part of the weights that has moved ",
          "by less than a small window after t steps; τ₉₀ is when it falls to 0.9 (dashed upright line)."],
        "Fifty dots stand for all weights, the band for the window: as many are outside as the overlap says. Which, and how far, is not recorded.",
        "The dashed curves are weights that know nothing of any landscape: Eq. 6 with the same window and noise. Colours go from cold (blue) to hot (orange).",
        "MSD: mean square displacement of the weights; that of a free walk is 2Dt, a straight line of slope one here.",
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
    if (this.frame) return this.stop();
    const begun = performance.now(), calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const tick = (now) => {
      this.progress = calm ? 1 : Math.min(1, (now - begun) / 1000 / WALK);
      this.drawWeights();
      if (this.progress === 1) this.stop();
      else this.frame = requestAnimationFrame(tick);
    };
    this.walk.textContent = "Stop";
    this.frame = requestAnimationFrame(tick);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    [this.frame, this.progress] = [undefined, 1];
    this.walk.textContent = "Let them walk";
    this.drawWeights();
  }

  /** The mean over initial conditions of `values` at a place between two records. */
  meanAt(values, at, map) {
    const { seeds } = this.run, [t, w] = this.spot, i = Math.floor(at), part = at - i;
    let sum = 0;
    for (let s = 0; s < seeds; s++) {
      const one = this.record(values, t, w, s);
      sum += (1 - part) * map(one[i]) + (part ? part * map(one[i + 1]) : 0);
    }
    return sum / seeds;
  }

  drawWeights() {
    if (!this.width) return;
    const { times, overlap, logMsd, window } = this.run;
    // After a long wait the record ends before its last time.
    const seen = times.findLastIndex((_, i) => Number.isFinite(this.meanAt(overlap, i, (v) => v))), at = this.progress * seen;
    const inside = this.meanAt(overlap, at, (v) => v), moved = Math.sqrt(this.meanAt(logMsd, at, (v) => 10 ** v));
    this.weights.draw(inside, Number.isFinite(moved) ? moved / window : 1);
    write(this.told, `After ${steps(times[Math.round(at)])} steps ${number(100 * (1 - inside), 0)} % of the weights have left their window.`);
  }

  get run() {
    const key = this.model.get("phase"), raw = this.model.get("phases")[key];
    const { overlap, log_msd, free } = raw;
    return this.once(key, () => ({ ...raw, overlap: unpacked(overlap), logMsd: unpacked(log_msd), free: unpacked(free) }));
  }

  /** Where temperature and waiting time stand in the record of this phase. */
  get spot() {
    const { temperatures, waiting } = this.run;
    return [nearest(temperatures, this.model.get("temperature")), nearest(waiting, this.model.get("waiting"))];
  }

  choose(phase) {
    const { temperatures, waiting } = this.model.get("phases")[phase];
    this.set({
      phase, temperature: temperatures[nearest(temperatures, this.model.get("temperature"))],
      waiting: waiting[nearest(waiting, this.model.get("waiting"))],
    });
  }

  /** One initial condition's record, `values`, at a temperature and waiting time. */
  record(values, t, w, seed) {
    const { waiting, seeds, times } = this.run, from = ((t * waiting.length + w) * seeds + seed) * times.length;
    return values.subarray(from, from + times.length);
  }

  /** The words for a decorrelation time and the free walk's. */
  state(tau, free) {
    if (tau === null) return ["", "Out of sight", `the record does not see the overlap fall to ${LEVEL}`];
    if (free !== null && tau > free * ALIKE) return ["convex", "Held", "slower than the free walk: the landscape holds the weights"];
    if (free !== null && tau > free / ALIKE) return ["", "Free", "the weights walk as if there were no landscape"];
    return ["concave", "Driven", "faster than the free walk: the landscape moves the weights"];
  }

  layout() {
    this.weights.layout();
    const { times, temperatures, about } = this.run, time = { low: times[0], high: times.at(-1), log: true };
    write(this.about, about);
    const t = ["time ", ...symbolText("t"), " since ", ...symbolText("t", "w"), " (steps)"];
    this.overlap.layout({ ...time, title: t }, { low: 0, high: 1, title: ["overlap ", ...symbolText("Q"), "(t)"] });
    const known = this.run.logMsd.filter((v) => v > this.model.get("still"));
    this.msd.layout(
      { ...time, title: [...t.map((e) => (e.cloneNode ? e.cloneNode(true) : e))] },
      { low: 10 ** Math.min(...known), high: 10 ** Math.max(...known), log: true, title: ["MSD"] },
    );
    const warm = temperatures.filter((v) => v > 0), all = this.run.taus.flat(2).filter((v) => v !== null);
    this.tau.layout(
      { low: warm[0] / 2, high: warm.at(-1) * 2, log: true, n: 7, title: ["temperature ", ...symbolText("T")] },
      { low: Math.min(...all) / 2, high: Math.max(...all) * 2, log: true, title: ["τ₉₀ (steps)"] },
    );
  }

  draw() {
    this.drawWeights();
    const { times, temperatures, seeds, taus, free_tau: freeTau, overlap, logMsd, free } = this.run, [t, w] = this.spot;
    const at = (values, map = (v) => v) => times.map((time, i) => [time, map(values[i])]);
    const mean = (values, map) => times.map((_, i) => {
      let sum = 0;
      for (let s = 0; s < seeds; s++) sum += map(this.record(values, t, w, s)[i]);
      return sum / seeds;
    });
    const all = (values, map) => Array.from({ length: seeds }, (_, s) => ({ class: "seed", points: at(this.record(values, t, w, s), map) }));
    const colours = temperatures.map((_, i) => heat(this.model.get("cold_to_hot"), i, temperatures.length));
    const [tau, low, high] = taus[w][t], walkers = free.subarray(t * times.length, (t + 1) * times.length);
    this.overlap.draw([
      { class: "zero", points: [[times[0] / 2, LEVEL], [times.at(-1) * 2, LEVEL]] }, ...all(overlap, (v) => v),
      { class: "free", points: at(walkers) }, { class: "mean", points: at(mean(overlap, (v) => v)), colours: [colours[t]] },
      ...(tau === null ? [] : [{ class: "here", points: [[tau, 0], [tau, 1]] }]),
    ]);
    const slope = 2 * this.model.get("diffusion") * temperatures[t];
    this.msd.draw([
      ...all(logMsd, (v) => 10 ** v), { class: "free", points: slope ? times.map((time) => [time, slope * time]) : [] },
      { class: "mean", points: at(mean(logMsd, (v) => 10 ** v)), colours: [colours[t]] },
    ]);
    const rest = temperatures[0] === 0 ? taus[w][0][0] : null, number0 = (v) => v ?? NaN;
    const points = temperatures.map((T, i) => [T, number0(taus[w][i][0])]).filter(([T]) => T > 0);
    this.tau.draw([
      { class: "free", points: temperatures.map((T, i) => [T, number0(freeTau[i])]).filter(([T]) => T > 0) },
      ...(rest === null ? [] : [
        { class: "rest", points: [[this.tau.x.invert(0), rest], [this.tau.x.invert(9999), rest]] },
        { class: "word", text: "T = 0", x: this.tau.x.invert(this.tau.box.left + 10), y: rest },
      ]),
      ...temperatures.map((T, i) => ({ class: "range", points: T ? [[T, number0(taus[w][i][1])], [T, number0(taus[w][i][2])]] : [] })),
      { class: "mean", points, dots: 5, colours: colours.slice(temperatures.length - points.length) },
      { class: "mean now", points: tau !== null && temperatures[t] ? [[temperatures[t], tau]] : [], dots: 7 },
    ]);
    const between = low === null || high === null ? "" : ` (${steps(low)}–${steps(high)})`, ratio = tau && freeTau[t] && tau / freeTau[t];
    this.show(...this.state(tau, freeTau[t]), [
      `τ₉₀ ${tau === null ? "–" : steps(tau) + between}`, `free walk ${freeTau[t] === null ? "∞" : steps(freeTau[t])}`,
      ratio ? `ratio ${number(ratio, ratio < 0.1 ? 4 : 2)}` : "ratio –",
    ]);
  }

  publish() {
    this.speak(this.run.title, this.inNumbers);
  }
}

const { render, startPages } = hosted(Explorer, "relaxation", ["phase", "temperature", "waiting"]);
export default { render };
