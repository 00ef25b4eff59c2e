// A network that trains, or the record of one, beside the chain: their load curves epoch by epoch. One component, two hosts:
// in Jupyter Python adds epochs while it trains (widget_training.py), on a page without kernel all of them are there.

import { button, help, stepper } from "./controls.js";
import { html, number, symbolText, write } from "./dom.js";
import { LinePlot, roomy } from "./line_plot.js";
import { View, hosted } from "./view.js";

/** A curvature below this counts as none. */
const LINEAR = 0.02;
const WORDS = { concave: "the deep layers do more", linear: "every layer does the same", convex: "the shallow layers do more" };

/** Mean height above the chord, as a share of the range. */
function curvature(load) {
  const L = load.length - 1, range = Math.max(...load) - Math.min(...load);
  let sum = 0;
  load.forEach((v, l) => (sum += v - load[0] - (l / L) * (load[L] - load[0])));
  return range > 0 ? sum / (L * range) : 0;
}

class Explorer extends View {
  constructor(model, el) {
    super(model, ["shown", "curves", "chain", "about"]);
    this.plots = { network: new LinePlot(270, "network"), chain: new LinePlot(270, "spring") };
    this.about = html("p", { class: "about" });
    this.control = stepper(model, this.cleanup, "shown", () => model.get("curves").map((_, i) => i), {
      label: ["epoch"], say: (e) => `${e} of ${model.get("epochs")}`, speak: (e) => `epoch ${e}`,
      note: (e) => `the chain at t = ${number((100 * e) / model.get("epochs"), 0)}`,
    });
    this.play = button("Play", "Show the epochs one after the other", () => (this.timer ? this.stop() : this.run()));
    this.play.className = "run";
    this.begin(this.build(), el);
    this.cleanup.push(() => this.stop());
  }

  build() {
    const key = (name, text) => html("span", { class: `key ${name}` }, html("i"), text);
    return html(
      "div", { class: "deepmech-explorer training", role: "group", "aria-label": "A network in training, beside the chain" },
      this.head(), this.about,
      html(
        "div", { class: "plots" }, html("div", { class: "plot" }, this.plots.network.root),
        html("div", { class: "plot" }, this.plots.chain.root),
      ),
      html("div", { class: "legend" }, key("seed", "earlier epochs"), key("mean", "the epoch chosen"), key("chord", "straight line between the ends")),
      html("div", { class: "sliders one" }, this.control.root, this.play),
      help(
        "Left, the load curve of a network on 400 small digits, drawn anew after each epoch: the data separation after each of its layers.",
        "Right, the chain at the same place of its own phase diagram: its friction to the right is to the largest as one minus " +
          "the negative slope is to one, its noise to the strongest as dropout is to the largest of Fig. 1(c). Nothing is fitted. " +
          "Learning rate and batch size have no place in that map.",
        `Concave: curvature above ${LINEAR}; convex: below −${LINEAR}; linear between.`,
      ),
      this.status,
    );
  }

  run() {
    const last = this.model.get("curves").length - 1;
    if (this.model.get("shown") >= last) this.set({ shown: 0 });
    write(this.play, "Pause");
    this.timer = setInterval(() => {
      if (this.model.get("shown") >= this.model.get("curves").length - 1) return this.stop();
      this.set({ shown: this.model.get("shown") + 1 });
    }, 90);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = undefined;
    write(this.play, "Play");
    this.tell();
  }

  get at() {
    return Math.min(this.model.get("shown"), this.model.get("curves").length - 1);
  }

  layout() {
    write(this.about, this.model.get("about"));
    this.control.show();
    const layers = (curve) => ({
      low: 0, high: curve.length - 1, title: ["layer ", ...symbolText("ℓ")], at: curve.map((_, l) => l),
    });
    const { curves, chain } = Object.fromEntries(["curves", "chain"].map((name) => [name, this.model.get(name)]));
    const width = (plot) => plot.root.clientWidth;
    this.plots.network.layout(width(this.plots.network), layers(curves[0]), {
      ...roomy(curves.flat(), 0.5), title: ["network: load ", ...symbolText("D", "ℓ")],
    });
    this.plots.chain.layout(width(this.plots.chain), layers(chain[0]), {
      ...roomy(chain.flat(), 0.5), title: ["chain: load ", ...symbolText("D", "ℓ")],
    });
  }

  draw() {
    const at = this.at, points = (curve) => curve.map((v, l) => [l, v]);
    const lines = (all) => [
      ...all.slice(0, at).filter((_, i) => i % Math.ceil(at / 12) === 0).map((curve) => ({ class: "seed", points: points(curve) })),
      { class: "chord", points: [[0, all[at][0]], [all[at].length - 1, all[at].at(-1)]] },
      { class: "mean", points: points(all[at]), dots: 4 },
    ];
    const [curves, chain] = [this.model.get("curves"), this.model.get("chain")];
    this.plots.network.draw(lines(curves));
    this.plots.chain.draw(lines(chain));
    const bend = curvature(curves[at]), regime = bend > LINEAR ? "concave" : bend < -LINEAR ? "convex" : "linear";
    const [word, meaning] = at ? [regime[0].toUpperCase() + regime.slice(1), WORDS[regime]] : ["Untrained", "the network as it was drawn"];
    this.show(at ? regime : "", word, meaning, [
      `curvature ${number(bend, 2, true)}`, `the chain's ${number(curvature(chain[at]), 2, true)}`,
      `test accuracy ${number(100 * this.model.get("accuracy")[at], 1)} %`,
    ]);
    if (!this.timer && at === this.model.get("epochs")) this.tell();
  }

  tell() {
    if (!this.width) return;
    const words = Array.from(this.numbers.children, (e) => e.textContent).join(", ");
    this.status.textContent = `Epoch ${this.at}. ${this.word.textContent}: ${this.meaning.textContent}. ${words}.`;
  }
}

const { render, startPages } = hosted(Explorer, "training");
export default { render };
