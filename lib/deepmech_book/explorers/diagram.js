// The explorer of phase diagrams: two of them side by side, a cell of each pointed at. The model holds the diagrams (see
// diagram.py) and what is pointed at.

import { button, help, legend } from "./controls.js";
import { html, number, path, set, svg, symbolText, write } from "./dom.js";
import { LinePlot, roomy } from "./line_plot.js";
import { Plane, signed, thinned } from "./plane.js";
import { StoredView } from "./stored.js";
import { hosted } from "./view.js";

const LOOKS = { left: ["left_row", "left_column"], right: ["right_row", "right_column"] };
const NAMES = [...Object.entries(LOOKS).flat(2), "shade", "linked"];
const SHADES = ["curvature", "outcome"];
/** What an outcome is called that is a share. */
const ACCURACY = "test accuracy";
const HEIGHT = 300;
/** Dark to bright, as in pictures (cividis). */
const SHADES_OF = [[0, 34, 78], [66, 77, 109], [124, 123, 120], [187, 174, 107], [254, 232, 56]];
/** A colour by a share from 0 to 1. */
const shaded = (share) => {
  const at = 4 * Math.min(1, Math.max(0, share)), i = Math.min(3, Math.floor(at));
  return `rgb(${SHADES_OF[i].map((v, k) => Math.round(v + (at - i) * (SHADES_OF[i + 1][k] - v))).join()})`;
};

/** What cells are shaded by, of every run at a place. */
const each = (diagram, shade, place) => diagram.runs(shade, place).map(([value]) => value);
/** Their means, row by row. */
const means = (diagram, shade) => diagram.along(0, [0, 0]).map((row) => diagram.along(1, row).map((place) => diagram.mean(shade, place)[0]));

/** In words; a number that is none belongs to a network that diverged. */
function say(diagram, shade, value) {
  if (!Number.isFinite(value)) return "none, as training diverged";
  if (shade === "curvature") return number(value, 3, true);
  return diagram.outcome === ACCURACY ? `${number(100 * value, 1)} %` : number(value, 4);
}

/** A phase diagram: a small load curve in every cell, shaded, with the cell pointed at as a handle to drag. */
class DiagramMap extends Plane {
  /** `onMove({row, column})` is called under the `names` that row and column have in the model. */
  constructor(side, [row, column], onMove) {
    super({
      height: HEIGHT, onMove, across: { name: column }, up: { name: row },
      label: `Cell of the ${side} diagram. Arrow keys: right for more noise, left for less, up and down for the row`,
    });
    this.curves = svg("g", { class: "curves" });
    this.cross = svg("path", { class: "cross" });
    this.svg.append(this.cells, this.curves, this.contour, this.cross, this.grid);
  }

  /** Show a diagram, its cells shaded by `shade`; return what is lightest and darkest, of curvatures `most` below zero and above. */
  show(diagram, shade, most) {
    const title = ({ words, symbol, sub }) => [words + (symbol ? " " : ""), ...(symbol ? symbolText(symbol, sub) : [])];
    const [rows, columns] = diagram.axes, [R, C] = [rows.values.length, columns.values.length];
    Object.assign(this.across, columns, { range: [0, C - 1, 1], title: [...title(columns), "   (more noise →)"] });
    Object.assign(this.up, rows, { range: [0, R - 1, 1], title: title(rows) });
    this.frame([-0.5, C - 0.5], [-0.5, R - 0.5]);
    const { x, y } = this, [w, h] = [x(1) - x(0), y(0) - y(1)], bent = shade === "curvature";
    const values = means(diagram, shade), known = values.flat().filter(Number.isFinite);
    const ends = [Math.min(...known), Math.max(...known)];  // bright is good: much accuracy, little energy
    const [low, high] = bent ? [-most, most] : diagram.outcome === ACCURACY ? ends : ends.reverse();
    const share = (v) => (v - low) / (high - low || 1);
    const look = (v) => (!Number.isFinite(v) ? { class: "missing" } : bent ? signed(v / high) : { fill: shaded(share(v)) });
    this.shadeCells(values, values[0].map((_, c) => x(c)), values.map((_, r) => y(r)), look, means(diagram, "curvature"));
    // Every curve fills its cell: shapes can be compared, heights cannot.
    this.curves.replaceChildren(...values.flatMap((row, r) => row.map((_, c) => {
      const load = diagram.mean("load", [r, c]), top = Math.max(...load), range = top - Math.min(...load);
      const points = load.flatMap((value, l) => [
        x(c) + w * (0.72 * (l / (load.length - 1)) - 0.36), y(r) + h * (0.6 * ((top - value) / range) - 0.3),
      ]);
      return svg("path", { d: Number.isFinite(range) ? path(points) : "", class: bent || share(values[r][c]) > 0.45 ? "" : "pale" });
    })));
    return [low, high];
  }

  /** Aim at a cell; `spoken` is what a screen reader hears after its place. */
  aim([row, column], spoken) {
    this.update({ [this.up.name]: row, [this.across.name]: column });
    const { x, y, box } = this, [w, h] = [(x(1) - x(0)) / 2, (y(0) - y(1)) / 2];
    const band = (l, t, r, b) => path([l, t, r, t, r, b, l, b]) + "Z";
    this.cross.setAttribute("d", band(box.left, y(row) - h, box.right, y(row) + h) + band(x(column) - w, box.top, x(column) + w, box.bottom));
    set(this.handle, { "aria-valuetext": `${this.handle.getAttribute("aria-valuetext")}: ${spoken}` });
  }
}

/** One of the two diagrams with all that belongs to its cell. */
class Side {
  constructor(explorer, side) {
    Object.assign(this, { explorer, side });
    this.map = new DiagramMap(side, LOOKS[side], (values) => explorer.move(side, values));
    this.ends = [html("span"), html("span")];
    this.bar = html("i");
    this.curve = new LinePlot(250, "load");
    this.facts = html("dl", { class: "facts" });
    this.cuts = [new LinePlot(190, "cut"), new LinePlot(190, "cut")];
    this.root = html(
      "section", { class: "side", "aria-label": `Diagram on the ${side}` }, ...explorer.choice(side, `Diagram on the ${side}`),
      this.map.root, legend(html("span", { class: "bar" }, this.ends[0], this.bar, this.ends[1])),
      this.facts, this.curve.root, html("div", { class: "cuts" }, this.cuts[1].root, this.cuts[0].root),
    );
  }

  get diagram() {
    return this.explorer.stored(this.side);
  }

  /** What is here, for ears. */
  tell() {
    const place = this.explorer.where(this.side);
    return SHADES.map((shade) => `${this.name(shade)} ${say(this.diagram, shade, this.diagram.mean(shade, place)[0])}`).join(", ");
  }

  name(shade) {
    return shade === "curvature" ? shade : this.diagram.outcome;
  }

  draw() {
    const { diagram, explorer } = this, place = explorer.where(this.side), shade = explorer.model.get("shade");
    const bends = explorer.sides.flatMap((side) => means(side.diagram, "curvature").flat()).filter(Number.isFinite);
    const [low, high] = this.map.show(diagram, shade, Math.max(...bends.map(Math.abs)));
    this.map.aim(place, this.tell());
    const ends = shade === "curvature"
      ? [`convex ${number(low, 2)}`, `${number(high, 2, true)} concave`] : [low, high].map((v) => say(diagram, shade, v));
    ends.forEach((text, i) => write(this.ends[i], text));
    this.bar.className = shade;
    this.drawFacts(diagram, place);
    this.drawCurve(diagram, diagram.mean("load", place), diagram.runs("load", place));
    for (const axis of [0, 1]) this.drawCut(axis, diagram, place, shade);
  }

  drawFacts(diagram, place) {
    const { seeds } = diagram, range = (shade) => {
      const known = each(diagram, shade, place).filter(Number.isFinite);
      if (known.length < seeds) return ` (${seeds - known.length} of ${seeds} diverged)`;
      return ` (${say(diagram, shade, Math.min(...known))} to ${say(diagram, shade, Math.max(...known))})`;
    };
    const lines = [
      ...diagram.axes.map(({ words, values }, i) => [words, values[place[i]]]),
      ...SHADES.map((shade) => [this.name(shade), say(diagram, shade, diagram.mean(shade, place)[0]) + range(shade)]),
    ];
    this.facts.replaceChildren(...lines.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))));
  }

  drawCurve({ layers }, mean, runs) {
    const every = layers.length > 13 ? 4 : layers.length > 9 ? 2 : 1, last = layers.at(-1);
    this.explorer.drawRuns(
      this.curve, this.side, "load", layers,
      { low: 0, high: last, title: ["layer ", ...symbolText("ℓ")], at: layers.filter((l) => l % every === 0) },
      { ...roomy(runs.flat()), title: ["load ", ...symbolText("D", "ℓ")] },
      { below: [{ class: "chord", points: [[layers[0], mean[0]], [last, mean.at(-1)]] }], dots: 3.5 },
    );
  }

  /** The row or the column through the cell: the mean of every cell, and a bar from its lowest to its highest seed. */
  drawCut(axis, diagram, place, shade) {
    const plot = this.cuts[axis], { values, words } = diagram.axes[axis], here = place[axis], signed = shade === "curvature";
    const unit = shade === "outcome" && diagram.outcome === ACCURACY ? 100 : 1, along = diagram.along(axis, place);
    const all = along.map((at) => each(diagram, shade, at).map((v) => unit * v)), mean = along.map((at, i) => [i, unit * diagram.mean(shade, at)[0]]);
    plot.layout(
      { low: -0.3, high: values.length - 0.7, title: [words], say: (i) => values[i], at: thinned(values, plot.root.clientWidth - 72) },
      { ...roomy([...all.flat(), ...(signed ? [0] : [])]), n: 4, title: [unit === 100 ? "accuracy, %" : this.name(shade)] },
    );
    plot.draw([
      ...(signed ? [{ class: "zero", points: [[-1, 0], [values.length, 0]] }] : []),
      { class: "here", points: [[here, plot.y.invert(0)], [here, plot.y.invert(999)]] },
      ...all.map((one, i) => ({ class: "range", points: [[i, Math.min(...one)], [i, Math.max(...one)]] })),
      { class: "mean", points: mean, dots: 3 },
      { class: "mean now", points: [mean[here]], dots: 5.5 },
    ]);
  }
}

class Explorer extends StoredView {
  constructor(model, el) {
    super(model, LOOKS, NAMES);
    this.goal = html("p", { class: "goal", role: "status" });
    this.sides = Object.keys(LOOKS).map((side) => new Side(this, side));
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
      this.goal, html("div", { class: "plots" }, ...this.sides.map((side) => side.root)),
      help(
        "Every cell is one experiment, and the small curve in it its load curve, stretched to fill the cell. Noise grows to " +
          "the right (the paper draws it mirrored), nonlinearity (for the chain, friction) upwards.",
        "Point at a cell: click or tap it, drag the ring, or move it with the arrow keys (with Shift five cells at a time).",
        "Accuracy or energy: the more yellow, the better. Orange or curves that bulge: concave, the deep layers do more. Blue or curves that sag: convex. On the solid line the " +
          "mean curvature changes sign.",
        "Below, the load curves of the cell: a thin line for every seed, the thick one their mean, dotted the straight line " +
          "between its ends. Then the row and the column through the cell; bars reach from the lowest to the highest seed.",
        "Load curves are rounded to 0.001, curvatures, accuracies and energies to 0.0001.",
      ),
    );
    this.publish();
  }

  move(side, values) {
    const other = side === "left" ? "right" : "left", place = LOOKS[side].map((name) => values[name]);
    const there = this.model.get("linked") ? this.answering(other, this.stored(other), this.stored(side), place) : {};
    this.set({ ...values, ...there });
  }

  /** What a screen reader hears; while a ring moves, it hears the ring. */
  publish() {
    this.status.textContent = this.sides.map((s) => `${s.diagram.title}: ${s.tell()}.`).join(" ");
  }

  draw() {
    const shade = this.model.get("shade");
    this.shades.forEach((b, i) => set(b, { "aria-pressed": String(SHADES[i] === shade) }));
    for (const side of this.sides) side.draw();
    this.ask();
  }

  /** A question about the diagram on the left, and its answer once the ring is there. */
  ask() {
    const diagram = this.stored("left"), here = diagram.mean("outcome", this.where("left"))[0], most = diagram.outcome === ACCURACY;
    const best = Math[most ? "max" : "min"](...means(diagram, "outcome").flat().filter(Number.isFinite)), found = here === best;
    set(this.goal, { class: found ? "goal found" : "goal" });
    write(this.goal, found
      ? `Found: ${say(diagram, "outcome", here)}, ${most ? "the most accurate" : "the least energy"}. The curvature there is ${say(diagram, "curvature", diagram.mean("curvature", this.where("left"))[0])}; a straight curve has 0.`
      : `On the left, find the cell ${most ? "of the most accurate networks" : "of least energy"}. Is its curve straight?`);
  }
}

export default hosted(Explorer, "diagram", NAMES);
