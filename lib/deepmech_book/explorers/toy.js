// A toy inside an argument: curves of a labelled array at one stop of a slider, and the sentence that belongs to it (toy.py).

import { figure, key } from "./controls.js";
import { html, number, write } from "./dom.js";
import { LinePlot, roomy } from "./line_plot.js";
import { View, hosted } from "./view.js";

const DOTS = { points: { dots: 4 }, others: { dots: 3 }, now: { dots: 6.5 } }, KINDS = ["mean", "seed", "free", "chord", ...Object.keys(DOTS)];

class Explorer extends View {
  constructor(model, el) {
    super(model, ["at"]);
    this.plot = new LinePlot(260, "toy");
    this.told = html("p", { class: "told", role: "status" });
    const stops = model.get("stops"), name = model.get("slider"), looks = Object.entries(model.get("looks"));
    const keys = looks.map(([curve, look]) => {
      const one = key(KINDS.includes(look) ? look : "mean", curve);
      if (!KINDS.includes(look)) one.firstChild.style.borderColor = look;
      return one;
    });
    this.begin(
      el, "toy", name, figure(this.plot, ...keys),
      this.sliders({ at: { label: [name], range: [0, stops.length - 1, 1], say: (i) => stops[i], speak: (i) => `${name} ${stops[i]}`, note: () => "" } }, " one"),
      this.told,
    );
  }

  /** The points [x, y] of every curve at a stop; what is not known is NaN. */
  curves(at) {
    const places = this.model.get("places")[at];
    return this.model.get("curves")[at].map((curve, i) => curve.map((v, j) => [places[i][j] ?? NaN, v ?? NaN]));
  }

  /** Axes hold every stop, or, where each has an abscissa of its own, this one. */
  layout() {
    const at = this.model.get("at"), titles = this.model.get("x").split(" | "), log = this.model.get("log");
    const seen = (titles.length > 1 ? [at] : this.model.get("stops").map((_, i) => i)).flatMap((i) => this.curves(i).flat());
    const known = seen.filter(([x, y]) => Number.isFinite(y) && (x > 0 || (!log && Number.isFinite(x))));
    const xs = known.map(([x]) => x), across = log ? { low: Math.min(...xs), high: Math.max(...xs), log } : roomy(xs);
    this.plot.layout({ ...across, title: [titles[at] ?? titles[0]] }, { ...roomy(known.map(([, y]) => y)), title: [this.model.get("y")] });
  }

  draw() {
    const at = this.model.get("at"), looks = this.model.get("looks"), names = this.model.get("names");
    this.plot.draw(this.curves(at).map((points, i) => {
      const look = looks[names[i]], kind = KINDS.includes(look) ? look : "mean";
      return { class: kind, points, ...(look === kind ? {} : { colours: [look] }), ...DOTS[kind] };
    }));
    write(this.told, this.model.get("says")[at]);
  }
}

export default hosted(Explorer, "toy", ["at"]);
