// The elastic explorer: classes of points in the plane that pull on one another. One component, two hosts: an anywidget in
// Jupyter, and a page without kernel or network. The model holds the parameters (see elastic.py); this view holds the points.

import { digits, help, sliders } from "./controls.js";
import { html, number, power, symbol } from "./dom.js";
import { CloudPlot } from "./elastic_cloud.js";
import { Cloud, STEP, separation } from "./elastic_model.js";
import { EffectPlane } from "./elastic_plane.js";
import { Player } from "./player.js";
import { hosted } from "./view.js";

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
