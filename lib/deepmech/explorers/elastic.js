// The elastic explorer: classes of points in the plane that pull on one another. One component, two hosts: an anywidget in
// Jupyter, and a page without kernel or network. The model holds the parameters (see elastic.py); this view holds the points.

import { slider } from "./controls.js";
import { html, number, symbol, write } from "./dom.js";
import { CloudPlot } from "./elastic_cloud.js";
import { Cloud, STEP, separation } from "./elastic_model.js";
import { EffectPlane } from "./elastic_plane.js";
import { Player, hosted } from "./player.js";

const PHYSICS = ["intra", "inter", "n_classes", "n_samples", "noise"];
/** Steps of the button "Step": half a unit of time. */
const HALF_UNIT = Math.round(0.5 / STEP);
/** The points stop here: beyond, doubles and readers lose sight of the noise. */
const LARGEST = 1e9;

class Explorer extends Player {
  constructor(model, el) {
    super(model, PHYSICS, Math.round(1 / STEP), HALF_UNIT);
    this.plot = new CloudPlot();
    const ranges = model.get("ranges");
    this.plane = new EffectPlane(ranges.inter, ranges.intra, (inter, intra) => this.set({ inter, intra }));
    this.controls = this.sliders(ranges);
    this.build(el);
    this.reset();
    this.listen();
  }

  // What is on the page.

  sliders(ranges) {
    const make = (name, options) => slider(this.model, this.cleanup, name, { range: ranges[name], ...options });
    const digits = (n) => (v) => number(v, n);
    const rate = () => {
      const p = this.parameters;
      return `differences grow at rate ${number((p.intra - p.inter) / p.n_classes, 2, true)}`;
    };
    return [
      make("intra", { label: ["within classes ", symbol("α")], say: digits(2), note: rate }),
      make("inter", { label: ["between classes ", symbol("β")], say: digits(2), note: () => "of a sample on the other classes" }),
      make("noise", { label: ["noise ", symbol("σ")], say: digits(2), note: () => "classes widen as σ√t" }),
      make("n_classes", { label: ["classes ", symbol("K")], say: String, note: () => "starts anew" }),
      make("n_samples", { label: ["samples per class ", symbol("n")], say: String, note: () => "starts anew" }),
      make("speed", { label: ["speed"], say: digits(1), note: () => "units of time per second" }),
    ];
  }

  build(el) {
    this.word = html("strong");
    this.meaning = html("span");
    this.numbers = html("p", { class: "numbers" }, html("span"), html("span"), html("span"));
    this.status = html("p", { class: "spoken", role: "status" });
    const line = (...text) => html("li", {}, ...text);
    this.root = html(
      "div", { class: "deepmech-explorer elastic", role: "group", "aria-label": "Locally elastic points explorer" },
      html("div", { class: "head" }, html("p", { class: "state" }, this.word, this.meaning), this.numbers),
      html("div", { class: "plots" }, html("div", { class: "plot top" }, this.plot.root), html("div", { class: "plot" }, this.plane.root)),
      this.buttons({
        step: "Advance by half a unit of time, 50 steps", reset: "Back to the start",
        noise: "Another seed of start and noise", presets: "Settings to try",
        hold: "Hold the points where they are", move: "Let the points move",
      }),
      html("div", { class: "sliders" }, ...this.controls.map((c) => c.root)),
      html(
        "details", {}, html("summary", {}, "How to read this"),
        html(
          "ul", {},
          line("Every point is a sample with two features; colour and shape tell its class. A step draws all of a class's ",
            "points along its own mean by ", symbol("α"), "/K and along the other classes' means by ", symbol("β"), "/K (Eq. 2)."),
          line("The view follows the mean of all points and grows with them: what looks still may be moving fast."),
          line("A line stands between two classes where one can: exactly decided, in the widest gap between their hulls."),
          line("Drag the ring in the plane of effects, or move it with the arrow keys (with Shift five times as far)."),
          line(`The points stop where they are ${LARGEST.toExponential(0).replace("e+", "·10^")} units apart.`),
        ),
      ),
      this.status,
    );
    el.append(this.root);
  }

  // What moves.

  reset() {
    const p = this.parameters, m = this.model;
    const stream = { key: m.get("noise_keys")[m.get("seed")], start: m.get("purposes")[0], noise: m.get("purposes")[1] };
    this.cloud = new Cloud(p.n_samples, m.get("corners")[p.n_classes - 2], m.get("start_spread"), stream);
    this.owed = 0;
    this.layout();
    this.publish();
  }

  advance(steps) {
    this.cloud.advance(this.parameters, steps);
    this.draw();
    if (this.cloud.extent().reach > LARGEST) this.set({ running: false });
  }

  /** Tell Python where the points are, and screen readers too; while they run only a new state is worth a word. */
  publish() {
    this.model.set("time", Number(this.cloud.time.toFixed(6)));
    this.model.set("points", Array.from(this.cloud.x));
    this.model.save_changes();
    this.draw();
    if (this.model.get("running") && this.moved && this.state === this.said) return;
    this.said = this.state;
    const p = this.parameters;
    this.status.textContent = `Time ${number(this.cloud.time, 1)}. ${this.word.textContent}: ${this.meaning.textContent}. `
      + `Effect within classes ${number(p.intra, 2)}, between classes ${number(p.inter, 2)}.`;
  }

  draw() {
    const { K } = this.cloud, found = [], hulls = Array.from({ length: K }, (_, k) => this.cloud.points(k));
    for (let k = 0; k < K; k++) {
      for (let l = 0; l < k; l++) {
        const pair = separation(hulls[l], hulls[k]);
        if (pair.gap > 0) found.push(pair);
      }
    }
    const pairs = (K * (K - 1)) / 2;
    this.plot.update(this.cloud, found);
    this.state = found.length === pairs ? "apart" : found.length ? "partly" : "mixed";
    this.root.dataset.regime = { apart: "convex", partly: "", mixed: "concave" }[this.state];
    write(this.word, { apart: "Separable", partly: "Partly separable", mixed: "Mixed" }[this.state]);
    write(this.meaning, pairs === 1
      ? found.length ? "a line separates the classes" : "no line separates the classes"
      : `lines separate ${found.length} of ${pairs} pairs of classes`);
    const [time, signal, size] = this.numbers.children, ratio = this.cloud.signal();
    write(time, `t = ${number(this.cloud.time, 1)}`);
    write(signal, `means over width ${Number.isFinite(ratio) ? number(ratio, ratio < 100 ? 1 : 0) : "∞"}`);
    const { reach } = this.cloud.extent();
    write(size, `view ±${reach < 1000 ? number(reach, 1) : reach.toExponential(1).replace("e+", "·10^")}`);
  }

  // What depends on parameters and width.

  layout() {
    const p = this.parameters;
    if (this.cloud.K !== p.n_classes || this.cloud.n !== p.n_samples) return this.reset();
    this.width = this.root.clientWidth;
    // 560 is the width at which elastic.css puts the pictures above one another.
    this.plot.layout(this.plot.root.clientWidth, this.cloud, this.width <= 560);
    this.plane.layout(this.plane.root.clientWidth);
    this.plane.update(p);
    for (const control of this.controls) control.show();
    this.draw();
  }

  // Time.

  get moved() {
    return this.cloud.steps > 0;
  }
}

const { render, startPages } = hosted(Explorer, "elastic");
export default { render };
