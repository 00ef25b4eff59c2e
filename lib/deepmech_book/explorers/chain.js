// The spring-block explorer. One component, two hosts: an anywidget in Jupyter, and a page without kernel or network.
// The model holds the parameters (see chain.py); this view holds the moving chain.

import { ChainDrawing, shade } from "./chain_drawing.js";
import { button, guess, key } from "./controls.js";
import { html, number, symbolText } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { chainHelp, chainSliders } from "./panels.js";
import { Normals } from "./philox.js";
import { PhasePlot } from "./phase_plot.js";
import { Player } from "./player.js";
import { Chain, DiagramRun, ETA, curvature, equilibrium, largeNoiseLimit } from "./spring_block.js";
import { hosted } from "./view.js";

const PHYSICS = ["friction_right", "friction_left", "noise", "stiffness", "n_blocks"];
/** A curvature below this counts as none. */
const LINEAR = 0.02;
/** The words of the state follow a running mean over this much time. */
const MEMORY = 10;
/** A guess is judged after this much time. */
const SETTLED = 60;
const STEPS_PER_UNIT = Math.round(1 / ETA);

const REGIMES = {
  concave: ["Lazy", "concave load curve: the deep layers carry the load"],
  linear: ["Balanced", "linear load curve: every layer carries the same load"],
  convex: ["Over-noisy", "convex load curve: the shallow layers carry the load"],
};
const regimeOf = (c) => (c > LINEAR ? "concave" : c < -LINEAR ? "convex" : "linear");

class Explorer extends Player {
  constructor(model, el) {
    super(model, { physics: PHYSICS, perUnit: STEPS_PER_UNIT, stride: STEPS_PER_UNIT, shown: "position", decimals: 0 });
    this.drawing = new ChainDrawing();
    this.load = new LinePlot(276, "load");
    const { noise, friction_right: friction } = model.get("ranges");
    this.phase = new PhasePlot(model.get("diagram"), noise, friction, (values) => this.set(values));
    this.controls = chainSliders(model, this.cleanup, () => this.parameters);
    this.guess = guess("How will the load curve end?", { concave: "Concave", linear: "Linear", convex: "Convex" }, () => {
      this.asked = true;
      this.root.classList.remove("guessing");
      this.set({ running: true });
    });
    this.begin(this.build(), el);
  }

  // What is on the page.

  build() {
    this.progress = html("span", { class: "when" });
    this.scaleEnds = [html("span"), html("span")];
    return html(
      "div", { class: "deepmech-explorer", role: "group", "aria-label": "Spring–block chain explorer" },
      html("div", { class: "top" }, this.head(), this.drawing.root),
      this.buttons({
        step: "Advance by one unit of time, 100 steps", reset: "Put every block back to the wall",
        noise: "Another seed of the noise, from the start", presets: "Settings of the three regimes",
        hold: "Hold the chain where it is", move: "Let the chain move",
      }),
      html("div", { class: "buttons" }, button("Guess one", "A chain that you do not know, at the wall", () => this.hide()), this.guess.root),
      html("div", { class: "plots" }, this.loadFigure(), this.phaseFigure()),
      html("div", { class: "sliders" }, ...this.controls.map((c) => c.root)), chainHelp(LINEAR, MEMORY), this.status,
    );
  }

  loadFigure() {
    return html(
      "div", { class: "plot" }, this.load.root,
      html("div", { class: "legend" }, key("chord", "even spacing"), key("quiet", "rest without noise"), key("loud", "limit of large noise (Eq. 8)")),
    );
  }

  phaseFigure() {
    return html(
      "div", { class: "plot" }, this.phase.root,
      html("div", { class: "legend" }, html("span", { class: "bar" }, this.scaleEnds[0], html("i"), this.scaleEnds[1]), this.progress),
    );
  }

  // What moves.

  start() {
    const key = this.model.get("noise_keys")[this.model.get("seed")];
    this.subject = new Chain(this.parameters.n_blocks, new Normals(key, this.model.get("purpose")));
    this.mean = curvature(this.subject.x);
  }

  /** Another chain at the wall, without the map that would tell how its load curve ends. */
  hide() {
    const ranges = this.model.get("ranges"), values = { running: false };
    for (const name of ["friction_right", "friction_left", "noise"]) {
      const [low, high, step] = ranges[name];
      values[name] = Number((Math.round((low + Math.random() * (high - low)) / step) * step).toFixed(6));
    }
    this.set(values);
    this.reset();
    this.asked = false;
    this.guess.ask();
    this.root.classList.add("guessing");
  }

  /** Whole steps, and the running mean of the curvature once per unit of time or call, whichever is more often. */
  advance(steps) {
    const p = this.parameters;
    while (steps > 0) {
      const burst = Math.min(steps, STEPS_PER_UNIT);
      this.subject.advance(p, burst);
      const memory = Math.min(MEMORY, this.subject.time / 2);
      this.mean += (curvature(this.subject.x) - this.mean) * Math.min(1, (burst * ETA) / memory);
      steps -= burst;
    }
  }

  get outdated() {
    return this.subject.velocity.length !== this.model.get("n_blocks");
  }

  tell() {
    const p = this.parameters;
    return `${this.guess.said} Curvature ${number(this.mean, 2, true)}. Noise ${number(p.noise, 4)}, friction right ${number(p.friction_right, 3)}.`;
  }

  draw() {
    const p = this.parameters, regime = regimeOf(this.mean), { x, time } = this.subject;
    this.drawing.update(this.subject, p);
    this.drawLoad(p);
    let energy = 0;
    for (let l = 1; l < x.length; l++) energy += (p.stiffness / 2) * (x[l] - x[l - 1]) ** 2;
    if (this.asked && time >= SETTLED) {
      this.asked = false;
      this.guess.tell(regime);
    }
    this.show(regime, ...REGIMES[regime], [
      `t = ${number(time, 1)}`, `curvature ${number(this.mean, 3, true)}`, `energy ${number(energy, 3)}`,
    ]);
  }

  /** The load curve D = y - x over the layers, with its chord and the two limits known in closed form. */
  drawLoad(p) {
    const { x } = this.subject, { n_blocks: L } = p, curve = (x) => Array.from(x, (v, l) => [l, 1 - v]);
    this.load.draw([
      { class: "zero", points: [[0, 0], [L + 1, 0]] }, { class: "chord", points: [[0, 1], [L + 1, 0]] },
      { class: "quiet", points: curve(this.quiet) }, { class: "loud", points: curve(this.loud) },
      { class: "load", points: curve(x) },
      {
        class: "block", points: curve(x).slice(1, -1), dots: 5,
        mark: (i) => ({ class: `dot block ${this.subject.held(p, i + 1) ? "held" : ""}`, style: shade(i + 1, L) }),
      },
    ]);
  }

  // What depends on parameters and width.

  layout() {
    const p = this.parameters;
    [this.quiet, this.loud] = [equilibrium(p).x, largeNoiseLimit(p)];
    const reach = Math.max(1, ...this.loud), width = this.load.root.clientWidth;
    const every = p.n_blocks > 9 && width < 340 ? 2 : 1;
    this.drawing.layout(this.width, p, reach);
    this.load.layout(
      width,
      {
        low: 0, high: p.n_blocks + 1, title: ["layer ", ...symbolText("ℓ")],
        at: Array.from({ length: p.n_blocks + 2 }, (_, l) => l).filter((l) => l % every === 0),
      },
      {
        low: 0.92 - reach, high: 1.08,
        title: ["load ", ...symbolText("D", "ℓ"), " = ", ...symbolText("y − x", "ℓ")],
      },
    );
    this.phase.layout(width);
    this.phase.update(p);
    for (const control of this.controls) control.show();
    this.shade(p);
  }

  /** The diagram that came with the page where it applies; elsewhere one computed here, in slices between frames. */
  shade(p) {
    const given = this.model.get("diagram");
    const settings = [p.friction_left, p.stiffness, p.n_blocks].join();
    if (settings === this.shaded) return;
    this.shaded = settings;
    const same = settings === [given.friction_left, given.stiffness, given.n_blocks].join();
    this.computing = same ? null : new DiagramRun(p, given, this.model.get("purpose"));
    if (same) this.showDiagram(given.curvature);
    this.wake();
  }

  showDiagram(values) {
    const largest = Math.max(0.05, ...values.flat().map(Math.abs));
    this.phase.draw(values, largest);
    this.scaleEnds[0].textContent = `convex ${number(-largest, 2)}`;
    this.scaleEnds[1].textContent = `${number(largest, 2, true)} concave`;
    this.phase.root.classList.remove("stale");
    this.progress.textContent = `at t = ${this.model.get("diagram").t_end}`;
  }

  computeDiagram() {
    const values = this.computing.work(6);
    this.phase.root.classList.add("stale");
    this.progress.textContent = `computing ${Math.floor(100 * this.computing.progress)} %`;
    if (!values) return;
    this.computing = null;
    this.showDiagram(values);
  }

  // Time.

  get busy() {
    return super.busy || Boolean(this.computing);
  }

  between() {
    if (this.computing) this.computeDiagram();
  }
}

const { render, startPages } = hosted(Explorer, "chain", [...PHYSICS, "seed"]);
export default { render };
