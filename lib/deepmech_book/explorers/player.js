// What the explorers share: parameters in the model, state in words, a row of buttons, and a clock that runs while
// somebody looks.

import { button, follow, localModel } from "./controls.js";
import { html, number, set, write } from "./dom.js";

/**
 * An explorer of something that moves: `subject`, with `steps`, `time` and positions `x`, which Python sees as `shown`. A
 * subclass has `advance(steps)`, `layout()`, `draw()`, `start()`, which makes the subject, and `tell()`, what a screen
 * reader hears after the state; it builds `root` of its own and calls `begin` with it.
 */
export class Player {
  /**
   * `physics`: names of the parameters; `perUnit`: steps in a unit of time; `stride`: steps of the button "Step";
   * `decimals`: of the time that a screen reader hears.
   */
  constructor(model, { physics, perUnit, stride, shown, decimals }) {
    Object.assign(this, { model, physics, perUnit, stride, shown, decimals });
    this.cleanup = [];
    this.word = html("strong");
    this.meaning = html("span");
    this.numbers = html("p", { class: "numbers" }, html("span"), html("span"), html("span"));
    this.status = html("p", { class: "spoken", role: "status" });
  }

  begin(root, el) {
    this.root = root;
    el.append(root);
    this.reset();
    this.listen();
  }

  /** The state in words and numbers. */
  head() {
    return html("div", { class: "head" }, html("p", { class: "state" }, this.word, this.meaning), this.numbers);
  }

  /** Show the state: its key for the style sheet, its name, what it means, and three numbers. */
  show(regime, word, meaning, numbers) {
    this.regime = regime;
    set(this.root, { "data-regime": regime });
    write(this.word, word);
    write(this.meaning, meaning);
    numbers.forEach((text, i) => write(this.numbers.children[i], text));
  }

  get parameters() {
    return Object.fromEntries(this.physics.map((name) => [name, this.model.get(name)]));
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  /** The row of buttons; `explain` says what each does: step, reset, noise, presets, hold and move. */
  buttons(explain) {
    const again = () => this.set({ seed: (this.model.get("seed") + 1) % this.model.get("noise_keys").length });
    this.explain = explain;
    this.run = button("", "", () => {
      if (this.done) this.reset();
      this.set({ running: !this.model.get("running") });
    });
    this.run.className = "run";
    const presets = Object.entries(this.model.get("presets")).map(([name, { explain: words, ...values }]) =>
      button(name, words, () => {
        this.set(values);
        this.reset();
      }),
    );
    return html(
      "div", { class: "buttons" },
      html("div", {}, this.run, button("Step", explain.step, () => this.step()),
        button("Reset", explain.reset, () => this.reset()), button("New noise", explain.noise, again)),
      html("div", { role: "group", "aria-label": explain.presets }, html("span", {}, "Try"), ...presets),
    );
  }

  reset() {
    this.owed = 0;
    this.start();
    this.layout();
    this.publish();
  }

  get moved() {
    return this.subject.steps > 0;
  }

  /** Tell Python where things are, and screen readers too; while they move by themselves only a new state is worth a word. */
  publish() {
    this.model.set("time", Number(this.subject.time.toFixed(6)));
    this.model.set(this.shown, Array.from(this.subject.x));
    this.model.save_changes();
    this.draw();
    if (this.model.get("running") && this.moved && this.regime === this.said) return;
    this.said = this.regime;
    const time = number(this.subject.time, this.decimals);
    this.status.textContent = `Time ${time}. ${this.word.textContent}: ${this.meaning.textContent}. ${this.tell()}`;
  }

  step() {
    this.set({ running: false });
    this.advance(this.stride);
    this.publish();
  }

  listen() {
    const on = (name, react) => {
      this.model.on(`change:${name}`, react);
      this.cleanup.push(() => this.model.off(`change:${name}`, react));
    };
    for (const name of this.physics) on(name, () => this.layout());
    on("seed", () => this.reset());
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.set({ running: false });
    this.cleanup.push(follow(this.model, "running", () => {
      const running = this.model.get("running");
      this.run.textContent = running ? "Pause" : "Start";
      this.run.title = running ? this.explain.hold : this.explain.move;
      if (!running && this.moved) this.publish();
      this.wake();
    }));
    const seen = new IntersectionObserver(([entry]) => {
      this.visible = entry.isIntersecting;
      this.wake();
    });
    const resized = new ResizeObserver(([entry]) => {
      // Only the width counts: the height follows from it, and answering to it could go round in circles.
      if (entry.contentRect.width && entry.contentRect.width !== this.width) this.layout();
    });
    seen.observe(this.root);
    resized.observe(this.root);
    this.cleanup.push(() => seen.disconnect(), () => resized.disconnect(), () => cancelAnimationFrame(this.frame));
  }

  /** Whether there is nothing more to come: starting then means starting anew. */
  get done() {
    return false;
  }

  /** Whether there is anything to do in the next frame. */
  get busy() {
    return this.model.get("running");
  }

  /** Work for every frame besides moving. */
  between() {}

  wake() {
    if (this.frame || !this.visible || !this.busy) return;
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    this.frame = undefined;
    // After a pause or out of sight the clock goes on from here.
    const seconds = Math.min(0.05, (now - (this.then ?? now)) / 1000);
    this.then = now;
    if (this.model.get("running")) {
      this.owed += seconds * this.model.get("speed") * this.perUnit;
      const steps = Math.floor(this.owed);
      this.owed -= steps;
      if (steps) this.advance(steps);
      if (!this.spoken || now - this.spoken > 3000) {
        this.spoken = now;
        this.publish();
      }
    }
    this.between();
    this.wake();
  }
}

/** How `Explorer` is shown: `render` for Jupyter, `startPages` for every element [data-deepmech-`kind`] of a page. */
export function hosted(Explorer, kind) {
  function render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => {
      for (const undo of explorer.cleanup) undo();
      explorer.root.remove();
    };
  }

  /** Start every explorer that waits on a page without kernel: its state is the JSON inside its element. */
  function startPages() {
    const mark = `data-deepmech-${kind}`;
    for (const el of document.querySelectorAll(`[${mark}]`)) {
      const state = JSON.parse(el.querySelector("script").textContent);
      el.removeAttribute(mark);
      render({ model: localModel(state), el });
    }
  }
  return { render, startPages };
}
