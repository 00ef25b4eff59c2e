// What explorers of stored Datasets share: the numbers that came with the page (in_page of page.py), and where a reader looks.

import { nearest } from "./controls.js";
import { average, html, write } from "./dom.js";
import { unpacked, View } from "./view.js";

/** A Dataset of a page: `variables` over the `axes` that a place is given on, then runs, then what curves run along. */
class Stored {
  constructor({ variables, ...facts }) {
    Object.assign(this, facts);
    const cells = this.axes.reduce((n, axis) => n * axis.values.length, 1) * this.seeds;
    this.variables = Object.fromEntries(Object.entries(variables).map(([name, packed]) => {
      const all = Array.from(unpacked(packed)), n = all.length / cells;
      return [name, Array.from({ length: cells }, (_, i) => all.slice(i * n, (i + 1) * n))];
    }));
  }

  /** A variable of every run at a place, one index for each axis: curves, or lists of one number. */
  runs(name, place) {
    const from = this.seeds * this.axes.reduce((at, axis, i) => at * axis.values.length + place[i], 0);
    return this.variables[name].slice(from, from + this.seeds);
  }

  /** Its mean over the runs: a curve, or a list of one number. */
  mean(name, place) {
    return average(this.runs(name, place));
  }

  /** All places on the line through this one along an axis. */
  along(axis, place) {
    return this.axes[axis].values.map((_, i) => place.with(axis, i));
  }
}

/**
 * An explorer of the Datasets that the model has `stored`. `looks` are the names of the model's values: of the one that says
 * into which Dataset, {look: [...]}, and of those that say where, one for each axis: a number where the axis has numbers, else
 * an index.
 */
export class StoredView extends View {
  constructor(model, looks, parameters) {
    super(model, parameters);
    this.looks = looks;
    this.unpacked = {};
  }

  /** The Dataset that is looked into, or the one of this key. */
  stored(look, key = this.model.get(look)) {
    return (this.unpacked[key] ??= new Stored(this.model.get("stored")[key]));
  }

  /** Where it is looked into. Values of the model change one by one: a place may lie outside a new Dataset for a moment. */
  where(look) {
    return this.stored(look).axes.map(({ values }, i) => {
      const here = this.model.get(this.looks[look][i]);
      return typeof values[0] === "number" ? nearest(values, here) : Math.min(Math.round(here), values.length - 1);
    });
  }

  /** The model's values for what answers to a place in `from`: of numbers the nearest, else the same share of the way. */
  answering(look, { axes }, from, place) {
    return Object.fromEntries(axes.map(({ values }, i) => {
      const old = from.axes[i].values, share = place[i] / (old.length - 1), number = typeof values[0] === "number";
      return [this.looks[look][i], number ? values[nearest(values, old[place[i]])] : Math.round(share * (values.length - 1))];
    }));
  }

  /** A list to choose a Dataset from, and what the one chosen is about. */
  choice(look, label) {
    const titles = this.model.get("stored"), about = html("p", { class: "about" });
    const choose = () => {
      this.set({ [look]: select.value, ...this.answering(look, this.stored(look, select.value), this.stored(look), this.where(look)) });
      this.publish();
    };
    const options = this.choices[look].map((key) => html("option", { value: key }, titles[key].title));
    const select = html("select", { name: look, "aria-label": label, onchange: choose }, ...options);
    this.controls.push({ show: () => {
      select.value = this.model.get(look);
      write(about, this.stored(look).about);
    } });
    return [select, about];
  }

  /** Draw every run of a variable here, over the values `at`, and their mean; other parts lie `below`, or `between` the two. */
  drawRuns(plot, look, name, at, x, y, { below = [], between = [], ...mean }) {
    const stored = this.stored(look), place = this.where(look), points = (curve) => curve.map((v, i) => [at[i], v]);
    plot.layout(x, y);
    plot.draw([
      ...below, ...stored.runs(name, place).map((curve) => ({ class: "seed", points: points(curve) })),
      ...between, { class: "mean", points: points(stored.mean(name, place)), ...mean },
    ]);
  }
}
