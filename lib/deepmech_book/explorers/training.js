// A network that trains on the page, epoch by epoch beside the chain, and a reader who has said before how it will end. What was
// trained before stays, three runs of it. In Jupyter Python reads the same curves (see training.py).

import { button, digits, figure, guess, help, key, legend } from "./controls.js";
import { html, number, symbol, symbolText, write } from "./dom.js";
import { LinePlot, roomy } from "./line_plot.js";
import { trainAside } from "./network.js";
import { Normals } from "./philox.js";
import { Chain, ETA, LINEAR, curvature, regimeOf } from "./spring_block.js";
import { View, hosted, unpacked } from "./view.js";

const WORDS = { concave: "the deep layers do more", linear: "every layer does the same", convex: "the shallow layers do more" };
/** Mean height above the chord, as a share of the range: that of positions, turned over. */
const bendOf = (load) => curvature(load.map((v) => load[0] - v));
/** Whether the load falls, by the rule of deepmech.interpret: by half of its range or more. Else no layer separates anything. */
const falls = (load) => load[0] - load.at(-1) >= 0.5 * (Math.max(...load) - Math.min(...load));
const FLAT = "Not falling yet";
/** So many earlier runs stay in sight. */
const KEPT = 3;

class Explorer extends View {
  constructor(model, el) {
    super(model, ["slope", "dropout", "learning_rate", "batch_size", "seed"]);
    this.plots = { network: new LinePlot(270, "network"), chain: new LinePlot(270, "spring") };
    this.run = button("Train", "Train a network with these settings", () => this.set({ running: !model.get("running") }), "run");
    this.guess = guess("How will the network's load curve end?", () => this.set({ running: true }));
    this.about = html("p", { class: "about" });
    this.pins = [];
    this.earlier = key("pin", "how earlier runs ended");
    this.earlier.hidden = true;
    this.list = html("ol", { class: "pins", "aria-label": "Earlier runs" });
    const again = () => this.set({ seed: (model.get("seed") + 1) % model.get("train_keys").length });
    const unknown = () => "no counterpart in the chain", epochs = model.get("epochs");
    this.begin(
      el, "training", "A network in training, beside the chain",
      html("div", { class: "top" }, this.head()), this.about,
      html("div", { class: "plots" }, ...Object.values(this.plots).map((plot) => figure(plot))),
      legend(key("seed", "earlier epochs"), key("mean", "the epoch chosen"), key("chord", "straight line between the ends"), this.earlier),
      this.list,
      html("div", { class: "buttons" }, html("div", {}, this.run, button("Another start", "Other weights, another order of samples, other dropout", again)), this.guess.root),
      this.sliders({
        slope: { label: ["negative slope ", symbol("α")], say: digits(1), note: (v) => (v === 0 ? "ReLU" : v === 1 ? "linear" : "leaky ReLU") },
        dropout: { label: ["dropout"], say: digits(2), note: () => "share of units silenced in a step" },
        learning_rate: { label: ["learning rate"], say: String, note: unknown },
        batch_size: { label: ["batch size"], say: String, note: unknown },
        shown: {
          label: ["epoch"], values: () => this.curves.map((_, i) => i), say: (e) => `${e ?? 0} of ${epochs}`, speak: (e) => `epoch ${e ?? 0}`,
          note: (e) => `the chain at t = ${number((model.get("chain").t_end * (e ?? 0)) / epochs, 0)}`,
        },
      }),
      help(
        "Left, the load curve of a network that your browser trains on 400 small digits: the data separation after each of its layers, drawn anew after each epoch. It takes the steps of the library's own training, with the same start, batches and dropout.",
        "Right, the chain at the same place of its own phase diagram: its friction to the right is to the largest as one minus the negative slope is to one, its noise to the strongest as dropout is to the largest of Fig. 1(c). Nothing is fitted. Learning rate and batch size have no place in that map.",
        `Concave: curvature above ${LINEAR}; convex: below −${LINEAR}; linear between. Not falling: from first to last layer by less than half of the curve's range.`,
      ),
    );
    // Where a finished run is there to see, there is nothing to guess before a setting is changed.
    this.guess.root.hidden = this.model.get("trained");
    this.settled = { ...this.parameters };
    this.watch(["curves", "shown"], () => this.place());
    this.watch(this.watched, () => this.forget());
    this.follow("running", () => (model.get("running") ? this.train() : this.stop()));
    this.cleanup.push(() => this.halt?.());
  }

  get curves() {
    return this.model.get("curves");
  }

  /** The chain's load curves at as many times as there are epochs. */
  chain() {
    const { slope, dropout, seed } = this.parameters, { friction, friction_left, noise, most_dropout, t_end, keys, purpose } = this.model.get("chain");
    const p = { n_blocks: 7, stiffness: 1, friction_right: friction * (1 - slope), friction_left, noise: noise * Math.min(1, dropout / most_dropout) };
    const chain = new Chain(p.n_blocks, new Normals(keys[seed], purpose)), epochs = this.model.get("epochs");
    return Array.from({ length: epochs + 1 }, (_, e) => {
      chain.advance(p, Math.round((t_end * e) / epochs / ETA) - chain.steps);
      return Array.from(chain.x, (x) => 1 - x);
    });
  }

  /** Settings were changed: what was trained is of other ones. */
  forget() {
    if (this.curves.length > this.model.get("epochs")) this.pin();
    if (this.curves.length) this.set({ running: false, curves: [], accuracy: [], shown: 0 });
    this.settled = { ...this.parameters };
    this.guess.root.hidden = false;
    this.guess.ask();
  }

  /** Keep how the finished run ended, with its settings. */
  pin() {
    const { slope, dropout, learning_rate: rate, batch_size: batch, seed } = this.settled, curve = this.curves.at(-1);
    const words = `slope ${number(slope, 1)}, dropout ${number(dropout, 2)}, learning rate ${rate}, batches of ${batch}, seed ${seed}: `;
    this.pins = [...this.pins.filter((pin) => !pin.words.startsWith(words)), {
      curve, words: `${words}curvature ${number(bendOf(curve), 2, true)}, test accuracy ${number(100 * this.model.get("accuracy").at(-1), 1)} %`,
    }].slice(-KEPT);
    this.list.replaceChildren(...this.pins.map((pin) => html("li", {}, pin.words)));
    this.earlier.hidden = false;
  }

  train() {
    const names = ["images", "labels", "sizes", "words", "train_keys", "n_test", "epochs"];
    const [images, labels, sizes, words, keys, nTest, epochs] = names.map((name) => this.model.get(name));
    const pixels = unpacked(images), n = labels.length - nTest, split = n * sizes[0];
    const data = { x: pixels.slice(0, split), xTest: pixels.slice(split), y: labels.slice(0, n), yTest: labels.slice(n) };
    this.set({ curves: [], accuracy: [], shown: 0 });
    this.run.textContent = "Stop";
    this.halt = trainAside({ data, sizes, words, key: keys[this.parameters.seed], p: this.parameters }, epochs, ({ curve, accuracy }) => {
      this.set({ accuracy: [...this.model.get("accuracy"), accuracy], shown: this.curves.length, curves: [...this.curves, curve] });
      if (this.curves.length > epochs) this.set({ running: false });
    });
  }

  stop() {
    this.halt?.();
    this.halt = undefined;
    this.run.textContent = "Train";
    if (!this.curves.length) return;
    const last = this.curves.at(-1), regime = regimeOf(bendOf(last));
    if (falls(last)) this.guess.tell(regime, `: ${WORDS[regime]}`);
    else this.guess.ask(`${FLAT}: train on, or change a setting.`);
    this.speak(`Epoch ${this.at}`, `${this.inNumbers} ${this.guess.said}`);
  }

  get at() {
    return Math.max(0, Math.min(this.model.get("shown"), this.curves.length - 1));
  }

  layout() {
    const { slope, dropout, learning_rate: rate, batch_size: batch, seed } = this.parameters;
    write(this.about, `Slope ${number(slope, 1)}, dropout ${number(dropout, 2)}, learning rate ${rate}, batches of ${batch}. 400 digits of 8 × 8 pixels; seven hidden layers of 100 units; seed ${seed}, ${this.model.get("epochs")} epochs.`);
    this.springs = this.chain();
    for (const [name, curves] of Object.entries({ network: this.curves, chain: this.springs })) {
      const points = curves[0]?.length ?? this.model.get("sizes").length - 1, plot = this.plots[name];
      plot.layout(
        { low: 0, high: points - 1, title: ["layer ", ...symbolText("ℓ")], at: Array.from({ length: points }, (_, l) => l) },
        { ...roomy([...curves.flat(), ...(name === "network" ? this.pins.flatMap((pin) => pin.curve) : [])], 0.5), title: [`${name}: load `, ...symbolText("D", "ℓ"), name === "chain" ? " (from 1 to 0)" : " (a logarithm)"] },
      );
    }
  }

  draw() {
    const at = this.at, { curves, springs } = this;
    const lines = (all) => all.length === 0 ? [] : [
      ...all.slice(0, at).filter((_, i) => i % Math.ceil(at / 12) === 0).map((curve) => ({ class: "seed", points: [...curve.entries()] })),
      { class: "chord", points: [[0, all[at][0]], [all[at].length - 1, all[at].at(-1)]] },
      { class: "mean", points: [...all[at].entries()], dots: 4 },
    ];
    const pinned = this.pins.flatMap(({ curve }, i) => [
      { class: "pin", points: [...curve.entries()] },
      { class: "word", text: String(i + 1), x: curve.length - 1, y: curve.at(-1), anchor: "end" },
    ]);
    this.plots.network.draw([...pinned, ...lines(curves)]);
    this.plots.chain.draw(lines(springs));
    if (!curves.length) {
      this.show("", "Untrained", "say how its load curve will end, or press Train", ["curvature –", "the chain's –", "test accuracy –"]);
      return;
    }
    const bend = bendOf(curves[at]), other = bendOf(springs[at]), regime = regimeOf(bend), chain = regimeOf(other);
    const beside = chain === regime ? `so does the chain${regime !== "linear" && Math.abs(other) > 2 * Math.abs(bend) ? ", far more sharply" : ""}` : `the chain disagrees: it is ${chain}`;
    const [word, meaning] = at === 0 ? ["Untrained", "the network as it was drawn"]
      : falls(curves[at]) ? [regime[0].toUpperCase() + regime.slice(1), `${WORDS[regime]}; ${beside}`]
      : [FLAT, "no load to share: the layers do not separate the classes so far"];
    this.show("", word, meaning, [
      `curvature ${number(bend, 2, true)}`, `the chain's ${at ? number(bendOf(springs[at]), 2, true) : "–"}`,
      `test accuracy ${number(100 * this.model.get("accuracy")[at], 1)} %`,
    ]);
  }
}

export default hosted(Explorer, "training", ["slope", "dropout", "learning_rate", "batch_size", "seed"]);
