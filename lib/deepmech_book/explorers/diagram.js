// The explorer of phase diagrams: two of them side by side, a cell of each pointed at. The model holds the diagrams (see
// diagram.py) and what is pointed at.

import { button, help, legend } from "./controls.js";
import { html, number, path, set, svg, symbolText, write } from "./dom.js";
import { LinePlot, roomy } from "./line_plot.js";
import { Plane, thinned } from "./plane.js";
import { hosted, unpacked, View } from "./view.js";

// A shipped phase diagram: a small load curve in every cell, shaded, with the cell pointed at as a handle to drag.
const HEIGHT = 300;
/** The darkest shade: small curves must stay legible on it. */
const DARKEST = 0.7;

class DiagramMap extends Plane {
  /** `names` are those of row and column in the model; `onMove({row, column})` is called under these names. */
  constructor(side, names, onMove) {
    const axis = (name) => ({ name, range: [0, 1, 1], words: "", title: [], values: ["0", "1"] });
    super({
      height: HEIGHT, onMove, across: axis(names.column), up: axis(names.row),
      label: `Cell of the ${side} diagram. Arrow keys: left for more noise, right for less, up and down for the row`,
    });
    this.curves = svg("g", { class: "curves" });
    this.cross = svg("path", { class: "cross" });
    this.svg.append(this.cells, this.curves, this.contour, this.cross, this.grid);
  }

  /** Show diagram `d`, its cells shaded by `shade`. */
  layout(d, shade) {
    const { across, up } = this, [R, C] = [d.rows.values.length, d.columns.values.length];
    const title = ({ words, symbol, sub }) => [words + (symbol ? " " : ""), ...(symbol ? symbolText(symbol, sub) : [])];
    Object.assign(across, {
      range: [0, C - 1, 1], values: d.columns.values, words: d.columns.words, title: [`← more noise:  `, ...title(d.columns)],
    });
    Object.assign(up, { range: [0, R - 1, 1], values: d.rows.values, words: d.rows.words, title: title(d.rows) });
    set(this.handle, { "aria-valuemax": C - 1 });
    this.frame([-0.5, C - 0.5], [-0.5, R - 0.5]);
    const { x, y } = this, [w, h] = [x(1) - x(0), y(0) - y(1)];
    const values = d.means(shade), signed = shade === "curvature", [low, high] = d.scale(shade);
    const look = (v) => ({
      class: !Number.isFinite(v) ? "missing" : !signed ? "share" : v > 0 ? "concave" : "convex",
      opacity: Number.isFinite(v) ? (DARKEST * (signed ? Math.abs(v) : v - low)) / ((signed ? high : high - low) || 1) : 1,
    });
    this.shadeCells(values, values[0].map((_, c) => x(c)), values.map((_, r) => y(r)), look, d.means("curvature"));
    // Every curve fills its cell: shapes can be compared, heights cannot.
    this.curves.replaceChildren(...values.flatMap((row, r) => row.map((_, c) => {
      const load = d.loads(r, c), top = Math.max(...load), range = top - Math.min(...load), points = [];
      load.forEach((value, l) => {
        points.push(x(c) + w * (0.72 * (l / (load.length - 1)) - 0.36), y(r) + h * (0.6 * ((top - value) / range) - 0.3));
      });
      return svg("path", { d: Number.isFinite(range) ? path(points) : "" });
    })));
  }

  /** Aim at a cell; `spoken` is what a screen reader hears after its place. */
  aim(p, spoken) {
    this.update(p);
    const { x, y, box } = this, [row, column] = [p[this.up.name], p[this.across.name]];
    const [w, h] = [(x(1) - x(0)) / 2, (y(0) - y(1)) / 2];
    const band = (l, t, r, b) => path([l, t, r, t, r, b, l, b]) + "Z";
    this.cross.setAttribute("d", band(box.left, y(row) - h, box.right, y(row) + h) + band(x(column) - w, box.top, x(column) + w, box.bottom));
    set(this.handle, { "aria-valuetext": `${this.handle.getAttribute("aria-valuetext")}: ${spoken}` });
  }
}

const SIDES = ["left", "right"];
const SHADES = ["curvature", "outcome"];
const OUTCOMES = { accuracy: "test accuracy", energy: "elastic energy" };

/** A diagram with its numbers unpacked: load curves and shades over rows, columns, seeds. */
class Diagram {
  constructor(packed) {
    Object.assign(this, packed);
    this.curves = unpacked(packed.load);
    this.shades = packed.shades.map(unpacked);
  }

  /** The load curve of one seed of a cell; without a seed, their mean. */
  loads(row, column, seed) {
    const L = this.layers.length, from = ((row * this.columns.values.length + column) * this.seeds) * L;
    if (seed !== undefined) return Array.from(this.curves.subarray(from + seed * L, from + (seed + 1) * L));
    return this.layers.map((_, l) => {
      let sum = 0;
      for (let s = 0; s < this.seeds; s++) sum += this.curves[from + s * L + l];
      return sum / this.seeds;
    });
  }

  /** What a cell can be shaded by, of every seed. */
  each(shade, row, column) {
    const from = (row * this.columns.values.length + column) * this.seeds;
    return Array.from(this.shades[SHADES.indexOf(shade)].subarray(from, from + this.seeds));
  }

  mean(shade, row, column) {
    return this.each(shade, row, column).reduce((a, b) => a + b) / this.seeds;
  }

  /** The means of all cells, row by row. */
  means(shade) {
    return this.rows.values.map((_, r) => this.columns.values.map((_, c) => this.mean(shade, r, c)));
  }

  /** Their lowest and highest; what has a sign, as far below zero as above. */
  scale(shade) {
    const known = this.means(shade).flat().filter(Number.isFinite), most = Math.max(...known.map(Math.abs));
    return shade === "curvature" ? [-most, most] : [Math.min(...known), Math.max(...known)];
  }

  /** In words; a number that is none belongs to a network that diverged. */
  say(shade, value) {
    if (!Number.isFinite(value)) return "none, as training diverged";
    if (shade === "curvature") return number(value, 3, true);
    return this.outcome === "accuracy" ? `${number(100 * value, 1)} %` : number(value, 4);
  }
}

/** One of the two diagrams with all that belongs to its cell. */
class Side {
  constructor(explorer, side) {
    Object.assign(this, { explorer, side, names: { row: `${side}_row`, column: `${side}_column` } });
    const { model } = explorer;
    const choice = explorer.select(side, `Diagram on the ${side}`, model.get("diagrams"), (key) => explorer.choose(this, key));
    this.about = html("p", { class: "about" });
    this.map = new DiagramMap(side, this.names, (cell) => explorer.move(this, cell));
    this.ends = [html("span"), html("span")];
    this.bar = html("i");
    this.curve = new LinePlot(250, "load");
    this.facts = html("dl", { class: "facts" });
    this.cuts = { columns: new LinePlot(190, "cut"), rows: new LinePlot(190, "cut") };
    this.root = html(
      "section", { class: "side", "aria-label": `Diagram on the ${side}` }, choice, this.about, this.map.root,
      legend(html("span", { class: "bar" }, this.ends[0], this.bar, this.ends[1])),
      this.facts, this.curve.root, html("div", { class: "cuts" }, this.cuts.columns.root, this.cuts.rows.root),
    );
  }

  get diagram() {
    return this.explorer.diagram(this.explorer.model.get(this.side));
  }

  /** The cell pointed at; values of the model change one by one, so that it may lie outside a new diagram for a moment. */
  get cell() {
    const { model } = this.explorer, { rows, columns } = this.diagram;
    return {
      row: Math.min(model.get(this.names.row), rows.values.length - 1),
      column: Math.min(model.get(this.names.column), columns.values.length - 1),
    };
  }

  /** What is here, for ears. */
  tell() {
    const d = this.diagram, { row, column } = this.cell;
    return SHADES.map((shade) => `${this.name(shade)} ${d.say(shade, d.mean(shade, row, column))}`).join(", ");
  }

  name(shade) {
    return shade === "curvature" ? shade : OUTCOMES[this.diagram.outcome];
  }

  layout() {
    const d = this.diagram, shade = this.explorer.model.get("shade");
    write(this.about, d.about);
    this.map.layout(d, shade);
    const [low, high] = d.scale(shade);
    const ends = shade === "curvature"
      ? [`convex ${number(low, 2)}`, `${number(high, 2, true)} concave`] : [low, high].map((v) => d.say(shade, v));
    ends.forEach((text, i) => write(this.ends[i], text));
    this.bar.className = shade;
  }

  draw() {
    const d = this.diagram, { row, column } = this.cell, shade = this.explorer.model.get("shade");
    this.map.aim({ [this.names.row]: row, [this.names.column]: column }, this.tell());
    this.drawFacts(d, row, column);
    const seeds = Array.from({ length: d.seeds }, (_, s) => d.loads(row, column, s)), mean = d.loads(row, column);
    const every = d.layers.length > 13 ? 4 : d.layers.length > 9 ? 2 : 1;
    const at = (curve) => curve.map((v, l) => [d.layers[l], v]);
    this.curve.layout(
      { low: 0, high: d.layers.at(-1), title: ["layer ", ...symbolText("ℓ")], at: d.layers.filter((l) => l % every === 0) },
      { ...roomy(seeds.flat()), title: ["load ", ...symbolText("D", "ℓ")] },
    );
    this.curve.draw([
      { class: "chord", points: [[d.layers[0], mean[0]], [d.layers.at(-1), mean.at(-1)]] },
      ...seeds.map((curve) => ({ class: "seed", points: at(curve) })),
      { class: "mean", points: at(mean), dots: 3.5 },
    ]);
    this.drawCut("columns", d, (c) => [row, c], column, shade);
    this.drawCut("rows", d, (r) => [r, column], row, shade);
  }

  drawFacts(d, row, column) {
    const range = (shade) => {
      const each = d.each(shade, row, column).filter(Number.isFinite);
      if (each.length < d.seeds) return ` (${d.seeds - each.length} of ${d.seeds} diverged)`;
      return ` (${d.say(shade, Math.min(...each))} to ${d.say(shade, Math.max(...each))})`;
    };
    const lines = [
      [d.rows.words, d.rows.values[row]], [d.columns.words, d.columns.values[column]],
      ...SHADES.map((shade) => [this.name(shade), d.say(shade, d.mean(shade, row, column)) + range(shade)]),
    ];
    this.facts.replaceChildren(...lines.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
  }

  /** The row or the column through the cell: the mean of every cell, and a bar from its lowest to its highest seed. */
  drawCut(axis, d, place, here, shade) {
    const plot = this.cuts[axis], { values, words } = d[axis], each = values.map((_, i) => d.each(shade, ...place(i)));
    const unit = shade === "outcome" && d.outcome === "accuracy" ? 100 : 1;
    const scaled = each.map((all) => all.map((v) => unit * v)), means = scaled.map((all) => all.reduce((a, b) => a + b) / d.seeds);
    const signed = shade === "curvature", at = thinned(values, plot.root.clientWidth - 72);
    plot.layout(
      { low: -0.3, high: values.length - 0.7, title: [words], say: (i) => values[i], at },
      { ...roomy([...scaled.flat(), ...(signed ? [0] : [])]), n: 4, title: [unit === 100 ? "accuracy, %" : this.name(shade)] },
    );
    plot.draw([
      ...(signed ? [{ class: "zero", points: [[-1, 0], [values.length, 0]] }] : []),
      { class: "here", points: [[here, plot.y.invert(0)], [here, plot.y.invert(999)]] },
      ...scaled.map((all, i) => ({ class: "range", points: [[i, Math.min(...all)], [i, Math.max(...all)]] })),
      { class: "mean", points: means.map((v, i) => [i, v]), dots: 3 },
      { class: "mean now", points: [[here, means[here]]], dots: 5.5 },
    ]);
  }
}

class Explorer extends View {
  constructor(model, el) {
    super(model, [...SIDES.flatMap((side) => [side, `${side}_row`, `${side}_column`]), "shade", "linked"]);
    this.sides = SIDES.map((side) => new Side(this, side));
    this.shades = SHADES.map((shade) => button(
      shade === "curvature" ? "Curvature" : "Accuracy or energy", "Shade cells by this", () => this.set({ shade }),
    ));
    const link = html("input", { type: "checkbox", name: "linked", onchange: () => this.set({ linked: link.checked }) });
    this.controls.push({ show: () => (link.checked = model.get("linked")) });
    this.begin(
      el, "diagram", "Phase diagrams explorer",
      html(
        "div", { class: "buttons" },
        html("div", { role: "group", "aria-label": "What cells are shaded by" }, html("span", {}, "Shade by"), ...this.shades),
        html("label", { class: "check" }, link, " move both rings together"),
      ),
      html("div", { class: "plots" }, ...this.sides.map((side) => side.root)),
      help(
        "Every cell is one experiment, and the small curve in it its load curve, stretched to fill the cell. Noise grows to " +
          "the left, nonlinearity (for the chain, friction) upwards, as in the paper.",
        "Point at a cell: click or tap it, drag the ring, or move it with the arrow keys (with Shift five cells at a time).",
        "Red or curves that bulge: concave, the deep layers do more. Blue or curves that sag: convex. On the solid line the " +
          "mean curvature changes sign.",
        "Below, the load curves of the cell: a thin line for every seed, the thick one their mean, dotted the straight line " +
          "between its ends. Then the row and the column through the cell; bars reach from the lowest to the highest seed.",
        "Load curves are rounded to 0.001, curvatures, accuracies and energies to 0.0001.",
      ),
    );
    this.publish();
  }

  diagram(key) {
    return this.once(key, () => new Diagram(this.model.get("diagrams")[key]));
  }

  /** The same place in another diagram, as a share of its rows and columns. */
  across({ row, column }, from, to) {
    const same = (i, axis) => Math.round((i / (from[axis].values.length - 1)) * (to[axis].values.length - 1));
    return { row: same(row, "rows"), column: same(column, "columns") };
  }

  move(side, values) {
    const other = this.sides.find((s) => s !== side);
    const cell = { row: values[side.names.row], column: values[side.names.column] };
    if (!this.model.get("linked")) return this.set(values);
    const there = this.across(cell, side.diagram, other.diagram);
    this.set({ ...values, [other.names.row]: there.row, [other.names.column]: there.column });
  }

  choose(side, key) {
    const { row, column } = this.across(side.cell, side.diagram, this.diagram(key));
    this.set({ [side.side]: key, [side.names.row]: row, [side.names.column]: column });
    this.publish();
  }

  /** What a screen reader hears; while a ring moves, it hears the ring. */
  publish() {
    this.status.textContent = this.sides.map((s) => `${s.diagram.title}: ${s.tell()}.`).join(" ");
  }

  layout() {
    const shade = this.model.get("shade");
    this.shades.forEach((b, i) => set(b, { "aria-pressed": String(SHADES[i] === shade) }));
    for (const side of this.sides) side.layout();
  }

  draw() {
    for (const side of this.sides) side.draw();
  }
}

const { render, startPages } = hosted(Explorer, "diagram", ["left", "left_row", "left_column", "right", "right_row", "right_column", "shade", "linked"]);
export default { render };
