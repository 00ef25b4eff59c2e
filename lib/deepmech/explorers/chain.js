// The spring-block explorer. One component, two hosts: an anywidget in Jupyter, and a page without kernel or network.
// The model holds the parameters (see chain.py); this view holds the moving chain.

import { ChainDrawing } from "./chain_drawing.js";
import { html, number, write } from "./dom.js";
import { LoadPlot } from "./load_plot.js";
import { help, sliders } from "./panels.js";
import { Normals } from "./philox.js";
import { PhasePlot } from "./phase_plot.js";
import { Player, hosted } from "./player.js";
import { Chain, DiagramRun, ETA, curvature, equilibrium, largeNoiseLimit } from "./spring_block.js";

const PHYSICS = ["friction_right", "friction_left", "noise", "stiffness", "n_blocks"];
/** A curvature below this counts as none. */
const LINEAR = 0.02;
/** The words of the state follow a running mean over this much time. */
const MEMORY = 10;
const STEPS_PER_UNIT = Math.round(1 / ETA);

const REGIMES = {
  concave: ["Lazy", "concave load curve: the deep layers carry the load"],
  linear: ["Balanced", "linear load curve: every layer carries the same load"],
  convex: ["Over-noisy", "convex load curve: the shallow layers carry the load"],
};
const regimeOf = (c) => (c > LINEAR ? "concave" : c < -LINEAR ? "convex" : "linear");

class Explorer extends Player {
  constructor(model, el) {
    super(model, PHYSICS, STEPS_PER_UNIT, STEPS_PER_UNIT);
    this.drawing = new ChainDrawing();
    this.load = new LoadPlot();
    const { noise, friction_right: friction } = model.get("ranges");
    const steps = { noise: noise[2], friction_right: friction[2] };
    this.phase = new PhasePlot(model.get("diagram"), steps, (noise, friction) => {
      this.set({ noise, friction_right: friction });
    });
    this.controls = sliders(model, this.cleanup, () => this.parameters);
    this.build(el);
    this.reset();
    this.listen();
  }

  // What is on the page.

  build(el) {
    this.regime = html("strong");
    this.meaning = html("span");
    this.numbers = html("p", { class: "numbers" }, html("span"), html("span"), html("span"));
    this.status = html("p", { class: "spoken", role: "status" });
    this.progress = html("span", { class: "when" });
    this.scaleEnds = [html("span"), html("span")];
    this.root = html(
      "div", { class: "deepmech-explorer", role: "group", "aria-label": "Spring–block chain explorer" },
      html(
        "div", { class: "top" },
        html("div", { class: "head" }, html("p", { class: "state" }, this.regime, this.meaning), this.numbers),
        this.drawing.root,
      ),
      this.buttons({
        step: "Advance by one unit of time, 100 steps", reset: "Put every block back to the wall",
        noise: "Another seed of the noise, from the start", presets: "Settings of the three regimes",
        hold: "Hold the chain where it is", move: "Let the chain move",
      }),
      html("div", { class: "plots" }, this.loadFigure(), this.phaseFigure()),
      html("div", { class: "sliders" }, ...this.controls.map((c) => c.root)), help(LINEAR, MEMORY), this.status,
    );
    el.append(this.root);
  }

  loadFigure() {
    const key = (name, text) => html("span", { class: `key ${name}` }, html("i"), text);
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

  reset() {
    const p = this.parameters;
    const key = this.model.get("noise_keys")[this.model.get("seed")];
    this.chain = new Chain(p.n_blocks, new Normals(key, this.model.get("purpose")));
    this.mean = curvature(this.chain.x);
    this.owed = 0;
    this.layout();
    this.publish();
  }

  /** Whole steps, and the running mean of the curvature once per unit of time or call, whichever is more often. */
  advance(steps) {
    const p = this.parameters;
    while (steps > 0) {
      const burst = Math.min(steps, STEPS_PER_UNIT);
      this.chain.advance(p, burst);
      const memory = Math.min(MEMORY, this.chain.time / 2);
      this.mean += (curvature(this.chain.x) - this.mean) * Math.min(1, (burst * ETA) / memory);
      steps -= burst;
    }
    this.draw();
  }

  /** Tell Python where the chain is, and screen readers too; while it runs by itself only a new regime is worth a word. */
  publish() {
    this.model.set("time", Number(this.chain.time.toFixed(6)));
    this.model.set("position", Array.from(this.chain.x));
    this.model.save_changes();
    this.draw();
    const regime = regimeOf(this.mean), [word, meaning] = REGIMES[regime], p = this.parameters;
    if (this.model.get("running") && this.moved && regime === this.said) return;
    this.said = regime;
    const said = `Time ${number(this.chain.time, 0)}. ${word}: ${meaning}. Curvature ${number(this.mean, 2, true)}.`;
    this.status.textContent = `${said} Noise ${number(p.noise, 4)}, friction right ${number(p.friction_right, 3)}.`;
  }

  draw() {
    const p = this.parameters, regime = regimeOf(this.mean), x = this.chain.x;
    this.drawing.update(this.chain, p);
    this.load.update(this.chain, p);
    if (this.root.dataset.regime !== regime) {
      this.root.dataset.regime = regime;
      [this.regime.textContent, this.meaning.textContent] = REGIMES[regime];
    }
    let energy = 0;
    for (let l = 1; l < x.length; l++) energy += (p.stiffness / 2) * (x[l] - x[l - 1]) ** 2;
    const [time, bend, stored] = this.numbers.children;
    write(time, `t = ${number(this.chain.time, 1)}`);
    write(bend, `curvature ${number(this.mean, 3, true)}`);
    write(stored, `energy ${number(energy, 3)}`);
  }

  // What depends on parameters and width.

  layout() {
    const p = this.parameters;
    if (this.chain.velocity.length !== p.n_blocks) return this.reset();
    const quiet = equilibrium(p).x, loud = largeNoiseLimit(p), reach = Math.max(1, ...loud);
    this.width = this.root.clientWidth;
    this.drawing.layout(this.width, p, reach);
    const width = this.load.root.clientWidth;
    this.load.layout(width, p.n_blocks, 1 - reach, quiet, loud);
    this.phase.layout(width);
    this.phase.update(p);
    for (const control of this.controls) control.show();
    this.shade(p);
    this.draw();
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

  get moved() {
    return this.chain.steps > 0;
  }

  get busy() {
    return super.busy || Boolean(this.computing);
  }

  between() {
    if (this.computing) this.computeDiagram();
  }
}

const { render, startPages } = hosted(Explorer, "chain");
export default { render };
