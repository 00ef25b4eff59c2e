// What opens the book: a chain, and networks in training, shaken alike. By itself it goes through all shakes and back
// to none, with both as they end; a reader looks for the one at which all layers do about the same, or goes back in time.

import { ChainDrawing, shade } from "./chain_drawing.js";
import { button, help } from "./controls.js";
import { average, html, number, set, symbol, symbolText, write } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { Player } from "./player.js";
import { Chain, ETA, curvature, largeNoiseLimit, regimeOf } from "./spring_block.js";
import { hosted, unpacked } from "./view.js";

const REGIMES = {
  concave: ["Lazy", "the deep layers do more"],
  linear: ["Balanced", "all layers do about the same"],
  convex: ["Over-noisy", "the early layers do more"],
};
const GOAL = "Find the shake at which all layers do about the same.";
const YOUNG = "Around epoch 20 even unshaken networks are not lazy yet: their last layers learn last.";
const HEIGHT = 210;
/** So much of a chain's time, in per cent, is shown of each shake that is passed through. */
const SEEN = 8;
/** What is left to do after each layer, from 1 to 0. */
const left = (load) => load.map((v) => (v - load.at(-1)) / (load[0] - load.at(-1)));
/** The curvature of what is left: that of positions, turned over. */
const bend = (share) => curvature(share.map((v) => 1 - v));

class Explorer extends Player {
  constructor(model, el) {
    super(model, { physics: ["shake"], perUnit: Math.round(1 / ETA), stride: 100, shown: "position", decimals: 0 });
    this.sweeping = model.get("running") && !this.calm;
    this.drawing = new ChainDrawing();
    this.plots = { chain: new LinePlot(HEIGHT, "spring"), network: new LinePlot(HEIGHT, "network") };
    this.network = { word: html("strong"), meaning: html("span") };
    this.state = html("p", { class: "state" }, this.network.word, this.network.meaning);
    this.goal = html("p", { class: "goal" });
    const side = (title, state, plot) => html("section", { class: "plot", "aria-label": title }, html("h4", {}, title), state, plot.root);
    const scale = model.get("scale");
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
        html(
          "div", { class: "buttons" }, this.runButton({ hold: "Hold both where they are", move: "Go through all shakes, from none on" }),
          button("Replay training", "From the first record on, at this shake", () => this.replay()),
        ),
      ),
      this.goal, this.drawing.root,
      html(
        "div", { class: "plots" },
        side("A chain", html("p", { class: "state" }, this.word, this.meaning), this.plots.chain),
        side("Networks", this.state, this.plots.network),
      ),
      this.numbers,
      help(
        `Networks (five a stop, the thick line is their mean) are those of a row of Fig. 1(c), MNIST and negative slope 0.2; what is to do is measured by their data separation. Their last layer is 7; the chain has seven blocks, and its target in the place of 8.`,
        [`The chain has the frictions `, symbol("μ", "→"), ` = ${this.settings.friction_right} and `, symbol("μ", "←"), ` = ${this.settings.friction_left}. Its noise is a ${scale}th of the networks' dropout: this one number was chosen so that both are straight at one shake.`],
        `Played by itself, every stop shows both as they end: networks at the last epoch, the chain's last ${SEEN} units of time of ${model.get("t_end")}, and what moves from stop to stop is drawn smoothly.`,
      ),
    );
    const show = () => {
      if (this.passing) return;
      this.sweeping = false;
      if (model.get("running")) this.set({ running: false });
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
    return { ...this.model.get("chain"), noise: this.model.get("shake") / this.model.get("scale") };
  }

  /** A chain at the time that the model has, or shortly before its end. */
  start() {
    const share = this.sweeping && this.passing ? 100 - SEEN : this.model.get("passed");
    this.subject = new Chain(this.settings.n_blocks, this.normals(this.model.get("purpose")));
    this.subject.advance(this.settings, Math.round((share / 100) * this.remaining));
  }

  /** The next shake, or this one, without a reader's hand. */
  pass(at) {
    this.passing = true;
    this.model.set("shake", this.choices.shake[at]);
    this.start();
    this.passing = false;
  }

  /** All shakes, from none on. */
  reset() {
    this.model.set("passed", 100);
    this.sweeping = true;
    this.back = false;
    this.pass(0);
    super.reset();
  }

  replay() {
    this.sweeping = false;
    this.set({ running: false, passed: 0 });
    this.set({ running: true });
  }

  /** How much of the time has passed, in per cent. */
  get passed() {
    return this.sweeping ? 100 : Math.round((100 * this.time) / this.model.get("t_end"));
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
    return this.remaining <= 0 && (!this.sweeping || this.back);
  }

  advance(steps) {
    if (this.sweeping && this.remaining <= 0 && !this.done) {
      this.back = this.at === this.choices.shake.length - 1;
      this.pass(this.back ? 0 : this.at + 1);
    }
    this.subject.advance(this.settings, Math.min(steps, this.remaining));
  }

  /** What is left to do in each of the networks of a stop at an epoch: on a line between two records. */
  networks(epoch, at = this.at) {
    const epochs = this.model.get("epochs"), seeds = this.model.get("seeds");
    const load = (this.load ??= unpacked(this.model.get("load"))), L = load.length / this.choices.shake.length / seeds / epochs.length;
    const i = Math.min(epochs.length - 2, epochs.findLastIndex((e) => e <= epoch)), part = (Math.min(epoch, epochs.at(-1)) - epochs[i]) / (epochs[i + 1] - epochs[i]);
    return Array.from({ length: seeds }, (_, s) => {
      const from = ((at * seeds + s) * epochs.length + i) * L, curve = Array.from(load.subarray(from, from + L));
      return left(curve.map((v, l) => v + part * (load[from + L + l] - v)));
    });
  }

  layout() {
    const p = this.settings, reach = Math.max(1, ...largeNoiseLimit({ ...p, noise: 1 }));
    this.drawing.layout(this.width, p, reach);
    const layer = (high) => ({ low: 0, high, title: ["layer ", ...symbolText("ℓ")], at: Array.from({ length: high + 1 }, (_, l) => l) });
    const share = { low: -0.12, high: 1.05, at: [0, 0.5, 1], title: ["share still to do"] };
    this.plots.chain.layout(layer(p.n_blocks + 1), share);
    this.plots.network.layout(layer(p.n_blocks), share);
  }

  /** From stop to stop pictures do not jump. */
  smooth(now) {
    const before = this.sweeping && this.model.get("running") ? this.drawn : undefined;
    this.drawn = before ? now.map((curve, i) => curve.map((v, j) => before[i][j] + 0.2 * (v - before[i][j]))) : now;
    return this.drawn;
  }

  draw() {
    const p = this.settings, { time, sweeping } = this, L = p.n_blocks, epoch = this.epoch(sweeping ? 1 : time / this.model.get("t_end"));
    if (this.model.get("passed") !== this.passed) this.model.set("passed", this.passed);
    const networks = this.networks(epoch), here = [Array.from(this.subject.x), average(networks), ...networks];
    const [x, mean, ...seeds] = this.smooth(here), chain = x.map((v) => 1 - v);
    this.drawing.update({ x, held: (q, l) => this.subject.held(q, l) }, p);
    const lines = (curve, seeds, size) => [
      { class: "zero", points: [[-1, 0], [99, 0]] }, { class: "chord", points: [[0, 1], [curve.length - 1, 0]] },
      ...seeds.map((one) => ({ class: "seed", points: [...one.entries()] })),
      { class: "mean", points: [...curve.entries()] },
      { class: "block", points: [...curve.entries()].slice(1, size), dots: 5, mark: (i) => ({ style: shade(i + 1, L) }) },
    ];
    this.plots.chain.draw(lines(chain, [], -1));
    this.plots.network.draw(lines(mean, seeds, undefined));
    const regimes = [regimeOf(curvature(here[0])), regimeOf(bend(here[1]))];
    write(this.network.word, REGIMES[regimes[1]][0]);
    write(this.network.meaning, REGIMES[regimes[1]][1]);
    set(this.state, { "data-regime": regimes[1] });
    const moved = this.subject.steps > 0;
    this.show(moved ? regimes[0] : "", ...(moved ? REGIMES[regimes[0]] : ["At the wall", "nothing has moved yet"]), [
      `chain at t = ${number(time, 0)}`, `networks at epoch ${number(epoch, 0)}`, `test accuracy at the end ${this.accuracy(this.at)}`,
    ]);
    const ended = sweeping || epoch >= 0.9 * this.model.get("epochs").at(-1), found = ended && !this.model.get("running") && regimes.every((one) => one === "linear");
    write(this.goal, found ? this.found() : !ended && this.at === 0 && epoch < 40 ? YOUNG : regimes[1] === "linear" && regimes[0] !== "linear" ? `${GOAL} ${this.wide()}` : GOAL);
    set(this.goal, { class: found ? "goal found" : "goal" });
  }

  /** Where networks count as balanced, though the chain does not. */
  wide() {
    const all = this.choices.shake, there = this.there ??= all.filter((_, at) => regimeOf(bend(average(this.networks(Infinity, at)))) === "linear");
    return `These networks count as balanced from ${there[0]} to ${there.at(-1)}; the chain is so in a narrower range.`;
  }

  /** Of the networks of a stop at the last epoch. */
  accuracy(at) {
    return `${number(100 * this.model.get("accuracy")[at], 1)} %`;
  }

  /** What a reader learns who has found the balance. */
  found() {
    const [none, most] = [0, this.choices.shake.length - 1].map((at) => this.accuracy(at));
    return `Found: at dropout ${this.model.get("shake")} all layers do about the same. Test accuracy ${this.accuracy(this.at)}; unshaken ${none}, shaken hardest ${most}.`;
  }

  tell() {
    return `Networks at the same dropout: ${this.network.word.textContent}, ${this.network.meaning.textContent}. ${this.goal.textContent}`;
  }
}

export default hosted(Explorer, "shake", ["shake"]);
