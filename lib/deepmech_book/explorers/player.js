// What explorers of something that moves share: a row of buttons, and a clock that runs while somebody looks.

import { button } from "./controls.js";
import { html, number } from "./dom.js";
import { Normals } from "./philox.js";
import { View } from "./view.js";

/**
 * An explorer of something that moves: `subject`, with `steps` and positions `x`, which Python sees as `shown`. A
 * subclass has `start()`, which makes the subject, `advance(steps)`, which moves it, and `tell()`, what a screen reader hears
 * after the state; it may have `outdated`, whether the subject fits the parameters no longer, `done`, whether there is nothing
 * more to come, so that starting means starting anew, and `between()`, work for every frame besides moving.
 */
export class Player extends View {
  /**
   * `physics`: names of the parameters; `perUnit`: steps in a unit of time; `stride`: steps of the button "Step";
   * `decimals`: of the time that a screen reader hears.
   */
  constructor(model, { physics, perUnit, stride, shown, decimals }) {
    super(model, physics);
    Object.assign(this, { perUnit, stride, shown, decimals });
  }

  begin(...all) {
    this.owed = 0;
    this.start();
    super.begin(...all);
    this.listen();
  }

  /** The row of buttons; `explain` says what each does: step, reset, noise, presets, hold and move. */
  buttons(explain) {
    const again = () => this.set({ seed: (this.model.get("seed") + 1) % this.model.get("noise_keys").length });
    const presets = Object.entries(this.model.get("presets")).map(([name, { explain: words, ...values }]) =>
      button(name, words, () => {
        this.set(values);
        this.reset();
        // Where little motion is wanted, nothing moves before Start is pressed.
        this.set({ running: !this.calm });
      }),
    );
    return html(
      "div", { class: "buttons" },
      html("div", {}, this.runButton(explain), button("Step", explain.step, () => this.step()),
        button("Reset", explain.reset, () => this.reset()), button("New noise", explain.noise, again)),
      html("div", { role: "group", "aria-label": explain.presets }, html("span", {}, "Try"), ...presets),
    );
  }

  /** The button that starts, anew if all is over, and holds. */
  runButton(explain) {
    this.explain = explain;
    return (this.run = button("", "", () => {
      if (this.done) this.reset();
      this.set({ running: !this.model.get("running") });
    }, "run"));
  }

  /** The random numbers of this seed and purpose. */
  normals(purpose) {
    return new Normals(this.model.get("noise_keys")[this.model.get("seed")], purpose);
  }

  place() {
    if (this.outdated) return this.reset();
    const first = !this.width;
    super.place();
    if (first) this.publish();
  }

  reset() {
    this.owed = 0;
    this.start();
    this.place();
    this.publish();
  }

  get time() {
    return this.subject.steps / this.perUnit;
  }

  /** Tell Python where things are, and screen readers too; while they move by themselves only a new state is worth a word. */
  publish() {
    this.model.set("time", Number(this.time.toFixed(6)));
    this.model.set(this.shown, Array.from(this.subject.x));
    this.model.save_changes();
    if (!this.width) return;
    this.draw();
    if (this.model.get("running") && this.subject.steps && this.regime === this.said) return;
    this.said = this.regime;
    this.speak(`Time ${number(this.time, this.decimals)}`, this.tell());
  }

  step() {
    this.set({ running: false });
    this.advance(this.stride);
    this.publish();
  }

  listen() {
    this.watch(["seed"], () => this.reset());
    if (this.calm) this.set({ running: false });
    this.follow("running", () => {
      const running = this.model.get("running");
      this.run.textContent = running ? "Pause" : "Start";
      this.run.title = running ? this.explain.hold : this.explain.move;
      if (!running && this.subject.steps) this.publish();
      this.wake();
    });
    const seen = new IntersectionObserver(([entry]) => {
      this.visible = entry.isIntersecting;
      this.wake();
    });
    seen.observe(this.root);
    this.cleanup.push(() => seen.disconnect(), () => cancelAnimationFrame(this.frame));
  }

  /** Whether there is anything to do in the next frame. */
  get busy() {
    return this.model.get("running");
  }

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
      if (steps) {
        this.advance(steps);
        if (this.width) this.draw();
        if (this.done) this.set({ running: false });
      }
      if (!this.spoken || now - this.spoken > 3000) {
        this.spoken = now;
        this.publish();
      }
    }
    this.between?.();
    this.wake();
  }
}
