// What opens the book: a chain, and networks in training, shaken alike: how both end, and, back in time, how they begin.

import { ChainDrawing, shade } from "./chain_drawing.js";
import { average, html, number, set, symbolText, write } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { Player } from "./player.js";
import { Chain, ETA, curvature, largeNoiseLimit, regimeOf } from "./spring_block.js";
import { hosted, unpacked } from "./view.js";

const REGIMES = {
  concave: ["Lazy", "the deep layers do more"],
  linear: ["Balanced", "all layers do the same"],
  convex: ["Over-noisy", "the early layers do more"],
};
const HEIGHT = 210;
/** What is left to do after each layer, from 1 to 0. */
const left = (load) => load.map((v) => (v - load.at(-1)) / (load[0] - load.at(-1)));
/** The curvature of what is left: that of positions, turned over. */
const bend = (share) => curvature(share.map((v) => 1 - v));

class Explorer extends Player {
  constructor(model, el) {
    super(model, { physics: ["shake"], perUnit: Math.round(1 / ETA), stride: 100, shown: "position", decimals: 0 });
    this.drawing = new ChainDrawing();
    this.plots = { chain: new LinePlot(HEIGHT, "spring"), network: new LinePlot(HEIGHT, "network") };
    this.network = { word: html("strong"), meaning: html("span") };
    this.state = html("p", { class: "state" }, this.network.word, this.network.meaning);
    const side = (title, state, plot) => html("section", { class: "plot", "aria-label": title }, html("h4", {}, title), state, plot.root);
    this.begin(
      el, "shake", "A chain and networks, shaken alike",
      html(
        "div", { class: "hand" },
        this.sliders({
          shake: {
            label: ["shake"], say: (v) => (v ? `dropout ${v}` : "no"), speak: (v) => `dropout ${v}`,
            note: () => `of the chain: noise ${number(this.settings.noise, 4)}`,
          },
          passed: {
            label: ["time"], say: (v) => `epoch ${number(this.epoch(v / 100), 0)}`, speak: (v) => `${v} per cent`,
            note: () => "of training: drag to go back",
          },
        }, " one"),
        html("div", { class: "buttons" }, this.runButton({ hold: "Hold both where they are", move: "Let both go on, or begin anew" })),
      ),
      this.drawing.root,
      html(
        "div", { class: "plots" },
        side("A chain", html("p", { class: "state" }, this.word, this.meaning), this.plots.chain),
        side("Networks", this.state, this.plots.network),
      ),
      this.numbers,
    );
    const show = () => {
      this.start();
      this.publish();
    };
    this.watch(["shake"], show);
    this.watch(["passed"], () => this.model.get("passed") === this.passed || show());
  }

  get at() {
    return this.choices.shake.indexOf(this.model.get("shake"));
  }

  /** The chain that is shaken so hard. */
  get settings() {
    return { ...this.model.get("chain"), noise: this.model.get("noises")[this.at] };
  }

  /** A chain at the time that the model has. */
  start() {
    this.subject = new Chain(this.settings.n_blocks, this.normals(this.model.get("purpose")));
    this.advance(Math.round((this.model.get("passed") / 100) * this.remaining));
  }

  reset() {
    this.model.set("passed", 0);
    super.reset();
  }

  /** How much of the time has passed, in per cent. */
  get passed() {
    return Math.round((100 * this.time) / this.model.get("t_end"));
  }

  /** The epoch after this share of the time; the first records are of epoch 10. */
  epoch(share) {
    const epochs = this.model.get("epochs");
    return Math.max(epochs[0], share * epochs.at(-1));
  }

  get remaining() {
    return Math.round(this.model.get("t_end") / ETA) - this.subject.steps;
  }

  get done() {
    return this.remaining <= 0;
  }

  advance(steps) {
    this.subject.advance(this.settings, Math.min(steps, this.remaining));
  }

  /** What is left to do in each of the networks at an epoch: on a line between two records. */
  networks(epoch) {
    const epochs = this.model.get("epochs"), seeds = this.model.get("seeds");
    const load = (this.load ??= unpacked(this.model.get("load"))), L = load.length / this.choices.shake.length / seeds / epochs.length;
    const i = Math.min(epochs.length - 2, epochs.findLastIndex((e) => e <= epoch)), part = (epoch - epochs[i]) / (epochs[i + 1] - epochs[i]);
    return Array.from({ length: seeds }, (_, s) => {
      const from = ((this.at * seeds + s) * epochs.length + i) * L, curve = Array.from(load.subarray(from, from + L));
      return left(curve.map((v, l) => v + part * (load[from + L + l] - v)));
    });
  }

  layout() {
    const p = this.settings, reach = Math.max(1, ...largeNoiseLimit({ ...p, noise: 1 }));
    this.drawing.layout(this.width, p, reach);
    const layer = (high) => ({ low: 0, high, title: ["layer ", ...symbolText("ℓ")], at: Array.from({ length: high + 1 }, (_, l) => l) });
    const share = { low: -0.12, high: 1.05, at: [0, 0.5, 1], title: ["still to do"] };
    this.plots.chain.layout(layer(p.n_blocks + 1), share);
    this.plots.network.layout(layer(p.n_blocks), share);
  }

  draw() {
    const p = this.settings, { time } = this, { x } = this.subject, L = p.n_blocks, epoch = this.epoch(time / this.model.get("t_end"));
    if (this.model.get("passed") !== this.passed) this.model.set("passed", this.passed);
    const chain = Array.from(x, (v) => 1 - v), networks = this.networks(epoch);
    const mean = average(networks);
    this.drawing.update(this.subject, p);
    const lines = (curve, seeds, size) => [
      { class: "zero", points: [[-1, 0], [99, 0]] }, { class: "chord", points: [[0, 1], [curve.length - 1, 0]] },
      ...seeds.map((one) => ({ class: "seed", points: [...one.entries()] })),
      { class: "mean", points: [...curve.entries()] },
      { class: "block", points: [...curve.entries()].slice(1, size), dots: 5, mark: (i) => ({ style: shade(i + 1, L) }) },
    ];
    this.plots.chain.draw(lines(chain, [], -1));
    this.plots.network.draw(lines(mean, networks, undefined));
    const regime = regimeOf(bend(mean));
    write(this.network.word, REGIMES[regime][0]);
    write(this.network.meaning, REGIMES[regime][1]);
    set(this.state, { "data-regime": regime });
    this.show(regimeOf(bend(chain)), ...REGIMES[regimeOf(bend(chain))], [
      `chain at t = ${number(time, 0)}`, `networks at epoch ${number(epoch, 0)}`, "",
    ]);
  }

  tell() {
    return `Networks at the same dropout: ${this.network.word.textContent}, ${this.network.meaning.textContent}.`;
  }
}

export default hosted(Explorer, "shake", ["shake"]);
