// The spring-block explorer. The model holds the parameters (see chain.py), this view the moving chain.

import { button, digits, figure, guess, help, key } from "./controls.js";
import { ChainDrawing, shade } from "./chain_drawing.js";
import { html, number, path, set, snap, svg, symbol, symbolText } from "./dom.js";
import { LinePlot } from "./line_plot.js";
import { Plane, signed } from "./plane.js";
import { Player } from "./player.js";
import { Chain, curvature, diagramOf, equilibrium, ETA, largeNoiseLimit, LINEAR, regimeOf } from "./spring_block.js";
import { hosted } from "./view.js";

// The phase diagram: signed curvature over noise and friction, with the current point as a handle to drag.
class PhasePlot extends Plane {
  /** Ranges are [low, high, step]; `onMove({noise, friction_right})` is called while the handle moves. */
  constructor(diagram, noise, friction, onMove) {
    super({
      height: 276, onMove,
      label: "Point in the phase diagram. Arrow keys: right for more noise, left for less, up for more friction, down for less",
      across: { name: "noise", range: noise, title: ["noise ", ...symbolText("ε"), " →"], ticks: 4, digits: 4, words: "noise" },
      up: {
        name: "friction_right", range: friction, title: ["friction right ", ...symbolText("μ", "→")], ticks: 5, digits: 3,
        words: "friction right",
      },
    });
    this.noise = diagram.noise;
    this.friction = diagram.friction_right;
    this.even = svg("path", { class: "even" });
    this.evenName = svg("text", { class: "even-name" }, ...symbolText("μ", "→"), " = ", ...symbolText("μ", "←"));
    this.svg.append(this.cells, this.even, this.evenName, this.contour, this.grid);
  }

  layout() {
    const { noise, friction } = this, [dx, dy] = [noise[1] - noise[0], friction[1] - friction[0]];
    this.frame([noise[0] - dx / 2, noise.at(-1) + dx / 2], [friction[0] - dy / 2, friction.at(-1) + dy / 2]);
    this.draw(this.curvature, this.largest);
  }

  /** Show these curvatures, rows of friction and columns of noise, on a colour scale up to `largest`. */
  draw(curvature, largest) {
    [this.curvature, this.largest] = [curvature, largest];
    if (!this.x || !curvature) return;
    this.shadeCells(curvature, this.noise.map(this.x), this.friction.map(this.y), (c) => signed(c / largest));
  }

  update(p) {
    super.update(p);
    const y = this.y(p.friction_left), visible = y > this.box.top + 2;
    this.even.setAttribute("d", visible ? path([this.box.left, y, this.box.right, y]) : "");
    set(this.evenName, { x: this.box.right - 6, y: y - 8, visibility: y > this.box.top + 18 ? "inherit" : "hidden" });
  }
}

const PHYSICS = ["friction_right", "friction_left", "noise", "stiffness", "n_blocks"];
/** The words of the state follow a running mean over this much time. */
const MEMORY = 10;
/** A guess is judged after this much time. */
const SETTLED = 100;
const STEPS_PER_UNIT = Math.round(1 / ETA);

const REGIMES = {
  concave: ["Lazy", "concave load curve: the deep layers carry the load"],
  linear: ["Balanced", "straight load curve: layers carry about the same load"],
  convex: ["Over-noisy", "convex load curve: the shallow layers carry the load"],
};

/** Why a chain's load curve has this shape after so short a time (Eq. 8, and the way there). */
function because(regime, { friction_right: right, friction_left: left }) {
  if (regime === "linear") return Math.abs(right - left) < 0.03 ? ", because μ→ and μ← are nearly equal" : ", on the way from concave to where the frictions balance";
  if (regime === "concave") return right > left ? ", because μ→ > μ←" : ", because the noise is too weak to free the blocks so soon";
  return left > right ? ", because μ← > μ→ and the noise frees the blocks" : ", by the chance of these kicks";
}

class Explorer extends Player {
  constructor(model, el) {
    super(model, { physics: PHYSICS, perUnit: STEPS_PER_UNIT, stride: STEPS_PER_UNIT, shown: "position", decimals: 0 });
    this.drawing = new ChainDrawing();
    this.load = new LinePlot(276, "load");
    const { noise, friction_right: friction } = this.ranges;
    this.phase = new PhasePlot(model.get("diagram"), noise, friction, (values) => this.set(values));
    this.guess = guess("How will the load curve end?", () => {
      this.asked = true;
      this.root.classList.remove("guessing");
      this.set({ running: true });
    });
    this.progress = html("span", { class: "when" });
    this.scaleEnds = [html("span"), html("span")];
    const moving = () => {
      const p = this.parameters, n = equilibrium(p).moving;
      return `without noise ${n === p.n_blocks ? `all ${n} move` : `${n} of ${p.n_blocks} move`}`;
    };
    this.begin(
      el, "chain", "Spring–block chain explorer",
      // The chain stays in sight as long as its sliders are, and hides no plot.
      html("div", {}, html("div", { class: "top" }, this.head(), this.drawing.root), this.buttons({
        step: "Advance by one unit of time, 100 steps", reset: "Put every block back to the wall",
        noise: "Another seed of the noise, from the start", presets: "Settings of the three regimes",
        hold: "Hold the chain where it is", move: "Let the chain move",
      }), this.sliders({
        friction_right: { label: ["friction right ", symbol("μ", "→")], say: digits(3), note: moving },
        friction_left: { label: ["friction left ", symbol("μ", "←")], say: digits(3), note: () => "felt only with noise" },
        noise: {
          label: ["noise ", symbol("ε")], say: digits(4),
          note: (v) => `force kicks of ε/√η = ${number(v / Math.sqrt(ETA), 3)}`,
        },
      })),
      html("div", { class: "buttons" }, button("Guess one", "A chain that you do not know, at the wall", () => this.hide()), this.guess.root),
      html(
        "div", { class: "plots" },
        figure(this.load, key("chord", "straight"), key("quiet", "rest without noise"), key("loud", "under strong noise")),
        figure(this.phase, html("span", { class: "bar" }, this.scaleEnds[0], html("i"), this.scaleEnds[1]), this.progress),
      ),
      html("details", {}, html("summary", {}, "More to set: stiffness, blocks, speed"), this.sliders({
        stiffness: { label: ["stiffness ", symbol("k")], say: digits(1), note: () => "force per length; y = 1" },
        n_blocks: { label: ["blocks ", symbol("L")], say: String, note: () => "a new chain starts at the wall" },
        speed: { label: ["speed"], say: String, note: () => "units of time per second" },
      })),
      help(
        ["A spring joins each block to the next; the last one pulls towards the target. Block ", symbol("ℓ"),
          " stands for layer ", symbol("ℓ"), " of a network, its distance to the target for the load still to be carried."],
        "Hollow blocks: friction holds them against their springs; only noise can move them.",
        "The teeth of the table are steep where friction is large: their left faces resist motion to the right, " +
          "their right faces motion to the left.",
        "Drag the ring through the phase diagram, or move it with the arrow keys (with Shift five times as far). " +
          "On the solid line the load curve is straight at the time written below.",
        "Curvature: how far the load curve lies above its chord (below: negative), on average, as a share of its range. " +
          "Energy: what the springs hold, half of k times their elongations squared.",
        `The words and the curvature follow a running mean over ${MEMORY} units of time; a curvature within ` +
          `${LINEAR} of zero counts as straight.`,
        `In each step of ${ETA} a block moves by the step times what friction lets through of spring force and noise ` +
          "(Eqs. 5 and 6).",
      ),
    );
  }

  // What moves.

  start() {
    this.subject = new Chain(this.parameters.n_blocks, this.normals(this.model.get("purpose")));
    this.mean = curvature(this.subject.x);
  }

  /** Another chain at the wall, its settings beside the question, without what would tell how its load curve ends: map and limits. */
  hide() {
    const values = this.clear();
    this.root.classList.add("guessing");
    this.set({ running: false, ...values });
    this.asked = false;
    const { friction_right: right, friction_left: left, noise } = values;
    this.guess.ask(`μ→ = ${number(right, 3)}, μ← = ${number(left, 3)}, noise ε = ${number(noise, 4)}: what will the load curve be at t = ${SETTLED}?`);
    this.reset();
  }

  /** Settings by chance whose chain ends clearly bent or clearly straight. */
  clear() {
    for (;;) {
      const values = {}, chain = new Chain(this.parameters.n_blocks, this.normals(this.model.get("purpose")));
      for (const name of ["friction_right", "friction_left", "noise"]) {
        const [low, high] = this.ranges[name];
        values[name] = snap(low + Math.random() * (high - low), this.ranges[name]);
      }
      chain.advance({ ...this.parameters, ...values }, SETTLED * STEPS_PER_UNIT);
      const bend = Math.abs(curvature(chain.x));
      if (bend < 0.4 * LINEAR || bend > 1.6 * LINEAR) return values;
    }
  }

  /** Whole steps, and the running mean of the curvature once per unit of time or call, whichever is more often. */
  advance(steps) {
    const p = this.parameters;
    while (steps > 0) {
      const burst = Math.min(steps, STEPS_PER_UNIT);
      this.subject.advance(p, burst);
      const memory = Math.min(MEMORY, this.time / 2);
      this.mean += (curvature(this.subject.x) - this.mean) * Math.min(1, (burst * ETA) / memory);
      steps -= burst;
    }
  }

  get outdated() {
    return this.subject.velocity.length !== this.model.get("n_blocks");
  }

  tell() {
    const p = this.parameters;
    if (this.root.classList.contains("guessing")) return this.guess.root.firstChild.textContent;
    return `${this.guess.said} Curvature ${number(this.mean, 2, true)}. Noise ${number(p.noise, 4)}, friction right ${number(p.friction_right, 3)}.`;
  }

  draw() {
    const p = this.parameters, regime = regimeOf(this.mean), { time } = this, { x } = this.subject;
    this.drawing.update(this.subject, p);
    this.drawLoad(p);
    let energy = 0;
    for (let l = 1; l < x.length; l++) energy += (p.stiffness / 2) * (x[l] - x[l - 1]) ** 2;
    if (this.asked && time >= SETTLED) {
      this.asked = false;
      this.guess.tell(regime, ` at t = ${SETTLED}${because(regime, p)}`);
    }
    this.show(time ? regime : "", ...(time ? REGIMES[regime] : ["At the wall", "nothing has moved yet"]), [
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
    const reach = Math.max(1, ...this.loud), every = p.n_blocks > 9 && this.load.root.clientWidth < 340 ? 2 : 1;
    this.drawing.layout(this.width, p, reach);
    this.load.layout(
      {
        low: 0, high: p.n_blocks + 1, title: ["layer ", ...symbolText("ℓ")],
        at: Array.from({ length: p.n_blocks + 2 }, (_, l) => l).filter((l) => l % every === 0),
      },
      {
        low: 0.92 - reach, high: 1.08,
        title: ["load ", ...symbolText("D", "ℓ"), " = ", ...symbolText("y − x", "ℓ")],
      },
    );
    this.phase.layout();
    this.phase.update(p);
    this.shade(p);
  }

  /** The diagram that came with the page where it applies; elsewhere one computed here, in slices between frames. */
  shade(p) {
    const given = this.model.get("diagram");
    const settings = [p.friction_left, p.stiffness, p.n_blocks].join();
    if (settings === this.shaded) return;
    this.shaded = settings;
    const same = settings === [given.friction_left, given.stiffness, given.n_blocks].join();
    this.computing = same ? null : diagramOf(p, given, this.model.get("purpose"));
    if (same) this.showDiagram(given.curvature);
    else this.phase.draw(given.curvature.map((row) => row.map(() => 0)), 1);
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

  // Time.

  get busy() {
    return super.busy || Boolean(this.computing);
  }

  between() {
    if (!this.computing) return;
    const end = performance.now() + 6;
    let told;
    do told = this.computing.next();
    while (!told.done && performance.now() < end);
    this.phase.root.classList.add("stale");
    if (told.done) {
      this.computing = null;
      this.showDiagram(told.value);
    } else this.progress.textContent = `computing ${Math.floor(100 * told.value)} %`;
  }
}

export default hosted(Explorer, "chain", [...PHYSICS, "seed"]);
