// The folding ruler: the steps of deepmech.simulators.folding_ruler.simulate, with the same jerks.

/** Time step, the largest that the simulator allows for these pulls. */
export const STEP = 0.02;
const WALL = 1e300;

/** A rising polyline: corners (w, y), of which the first `size` count (see friction.py). */
class Polyline {
  constructor(room) {
    this.w = new Float64Array(room);
    this.y = new Float64Array(room);
    this.size = 0;
  }

  push(w, y) {
    this.w[this.size] = w;
    this.y[this.size++] = y;
  }

  /** Where it first reaches `height`. */
  first(height) {
    const { w, y } = this;
    let j = 0;
    while (y[j] < height) j++;
    if (j === 0 || w[j] === w[j - 1]) return w[j];
    return w[j - 1] + ((height - y[j - 1]) / (y[j] - y[j - 1])) * (w[j] - w[j - 1]);
  }

  /** Where it last is at `height` or below it. */
  last(height) {
    const { w, y, size } = this;
    let j = size - 1;
    while (y[j] > height) j--;
    if (j === size - 1 || w[j] === w[j + 1]) return w[j];
    return w[j] + ((height - y[j]) / (y[j + 1] - y[j])) * (w[j + 1] - w[j]);
  }

  /** Lowest and highest value at rest, w = 0. */
  atRest() {
    const { w, y, size } = this;
    let j = 0;
    while (j < size - 1 && w[j] < 0) j++;
    if (w[j] !== 0) {
      if (j === 0 || w[j] < 0) return [y[j], y[j]];
      const value = y[j - 1] + ((0 - w[j - 1]) / (w[j] - w[j - 1])) * (y[j] - y[j - 1]);
      return [value, value];
    }
    let k = j;
    while (k < size - 1 && w[k + 1] === 0) k++;
    return [y[j], y[k]];
  }
}

export class Ruler {
  /** `jerks(period)` is the strength of the jerk in that period of the pull. */
  constructor(p, setting, jerks) {
    Object.assign(this, { setting, jerks, n: setting.n_pairs, pull: pullOf(p) });
    const room = 8 * this.n + 8;
    this.lines = [new Polyline(room), new Polyline(room)];
    this.steps = 0;
    const start = this.hand(p, 0) / this.n;
    this.x = Float64Array.from({ length: this.n + 1 }, (_, i) => i * start);
    const row = () => new Float64Array(this.n + 1);
    [this.v, this.out, this.drag, this.bound, this.lo, this.hi, this.lows, this.highs] = Array.from({ length: 8 }, row);
  }

  get time() {
    return this.steps * STEP;
  }

  /** Where the hand is at step k. */
  hand(p, k) {
    const { fold, extension, stop, n_pairs: n, jerk_period: period } = this.setting;
    const t = STEP * k, s = Math.min(t / p.duration, 1);
    const path = n * (fold + (extension - fold) * s * s * (3 - 2 * s));
    const turn = Math.floor(t / period), phase = t / period - turn;
    const quiet = turn >= Math.floor(p.duration / period) - 2;
    const forth = quiet ? 0 : ((p.jerk_speed * period) / (2 * Math.PI)) * (1 - Math.cos(2 * Math.PI * phase));
    return Math.min(path + (forth ? this.jerks(turn) * forth : 0), n * stop);
  }

  extensions() {
    return Array.from({ length: this.n }, (_, i) => this.x[i + 1] - this.x[i]);
  }

  advance(p, steps) {
    const { n, x, v, out, drag, bound, lo, hi } = this, h = STEP, { stop } = this.setting;
    const f = p.table_friction, c = p.shake_speed;
    for (const end = this.steps + steps; this.steps < end; this.steps++) {
      for (let i = 1; i <= n; i++) {
        const u = Math.min(Math.max(x[i] - x[i - 1], 0), stop);
        bound[i] = h / Math.sqrt(1 - u * u);
        lo[i] = -u / h;
        hi[i] = (stop - u) / h;
        // Sideways sliding turns dry friction along the pull into drag.
        drag[i] = c > 0 ? (h * f) / Math.sqrt(v[i] * v[i] + c * c) : 0;
      }
      this.solve((this.hand(p, this.steps + 1) - x[n]) / h, c > 0 ? 0 : h * f);
      for (let i = 1; i <= n; i++) x[i] += h * out[i];
      v.set(out);
    }
  }

  /** Velocities after a step in which the hand moves at `speed`: the minimum of a convex function, found exactly. */
  solve(speed, f) {
    const { n, v, out, drag, bound, lo, hi, lows, highs } = this;
    let [line, next] = this.lines;
    line.size = 0;
    line.push(0, -WALL);
    line.push(0, WALL);
    for (let i = 1; i <= n; i++) {
      // A pair: inside its bounds it is locked; at a bound it slides freely up to its stop.
      const b = bound[i], low = line.last(-b), high = line.first(b);
      [lows[i], highs[i], next.size] = [low, high, 0];
      for (let j = 0; j < line.size; j++) if (line.y[j] <= -b) next.push(line.w[j] + lo[i], line.y[j]);
      next.push(low + lo[i], -b);
      next.push(low, -b);
      for (let j = 0; j < line.size; j++) if (-b < line.y[j] && line.y[j] < b) next.push(line.w[j], line.y[j]);
      next.push(high, b);
      next.push(high + hi[i], b);
      for (let j = 0; j < line.size; j++) if (line.y[j] >= b) next.push(line.w[j] + hi[i], line.y[j]);
      [line, next] = [next, line];
      if (i === n) break;
      // A node: inertia and drag tilt the polyline, dry friction adds a jump at rest.
      const [below, above] = line.atRest();
      next.size = 0;
      const tilted = (j, jump) => next.push(line.w[j], line.y[j] + line.w[j] - v[i] + drag[i] * line.w[j] + jump);
      for (let j = 0; j < line.size; j++) if (line.w[j] < 0) tilted(j, -f);
      next.push(0, below - v[i] - f);
      next.push(0, above - v[i] + f);
      for (let j = 0; j < line.size; j++) if (line.w[j] > 0) tilted(j, f);
      [line, next] = [next, line];
    }
    out[n] = speed;
    for (let i = n; i > 0; i--) {
      if (out[i] > highs[i]) out[i - 1] = Math.max(highs[i], out[i] - hi[i]);
      else if (out[i] < lows[i]) out[i - 1] = Math.min(lows[i], out[i] - lo[i]);
      else out[i - 1] = out[i];
    }
  }
}

/** What must not change on the way: the hand's path would jump. */
export const pullOf = (p) => [p.duration, p.jerk_speed].join();

/** Extensions after an infinitely slow pull to mean `extension`, in closed form (deepmech's slow_profile). */
export function slowProfile(n, friction, extension, fold, stop) {
  const at = (pull) => Array.from({ length: n }, (_, i) => {
    const force = Math.max(pull - (n - 1 - i) * friction, 1);
    return Math.min(stop, Math.max(fold, Math.sqrt(1 - 1 / force ** 2)));
  });
  const mean = (u) => u.reduce((a, b) => a + b) / n;
  let low = 1, high = 1 / Math.sqrt(1 - stop * stop) + n * friction;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (mean(at(middle)) < extension) low = middle;
    else high = middle;
  }
  return at(high);
}
