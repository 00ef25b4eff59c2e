// Locally elastic features in the plane (paper B, Eq. 2) by Euler steps, with the random numbers that deepmech draws, and whether a straight line separates two classes of them. `p` is an object with intra, inter, noise.

import { Normals } from "./philox.js";

/** Length of an Euler step. */
export const STEP = 0.01;

/** K classes of n samples, each with two features: x[2 (k n + i)], x[2 (k n + i) + 1]. */
export class Cloud {
  /** `stream` has key, start and noise (words of the two purposes); class means start at `corners`, [x, y] each. */
  constructor(nSamples, corners, spread, stream) {
    const K = corners.length, size = 2 * K * nSamples;
    this.K = K;
    this.n = nSamples;
    this.random = new Float64Array(size + 4);
    this.x = new Float64Array(size);
    this.means = new Float64Array(2 * K);
    this.normals = new Normals(stream.key, stream.noise);
    new Normals(stream.key, stream.start).draw(0, size, this.random);
    for (let j = 0; j < size; j++) {
      this.x[j] = corners[Math.floor(j / (2 * nSamples))][j % 2] + spread * this.random[j];
    }
    this.steps = 0;
    this.measure();
  }

  get time() {
    return this.steps * STEP;
  }

  measure() {
    const { K, n, x, means } = this;
    means.fill(0);
    for (let k = 0; k < K; k++) {
      for (let i = 0; i < n; i++) {
        means[2 * k] += x[2 * (k * n + i)] / n;
        means[2 * k + 1] += x[2 * (k * n + i) + 1] / n;
      }
    }
  }

  /** Class k moves by STEP (alpha X_k + beta sum of the others) / K; every sample has noise of its own. */
  advance(p, steps) {
    const { K, n, x, means, random } = this, kick = p.noise * Math.sqrt(STEP);
    for (let s = 0; s < steps; s++, this.steps++) {
      this.measure();
      if (kick > 0) this.normals.draw(this.steps, x.length, random);
      for (let a = 0; a < 2; a++) {
        let all = 0;
        for (let k = 0; k < K; k++) all += means[2 * k + a];
        for (let k = 0; k < K; k++) {
          const pull = (STEP * ((p.intra - p.inter) * means[2 * k + a] + p.inter * all)) / K;
          for (let i = 0; i < n; i++) {
            const j = 2 * (k * n + i) + a;
            x[j] += pull + (kick > 0 ? kick * random[j] : 0);
          }
        }
      }
    }
    this.measure();
  }

  points(k) {
    return Array.from({ length: this.n }, (_, i) => [this.x[2 * (k * this.n + i)], this.x[2 * (k * this.n + i) + 1]]);
  }

  /** Mean of all samples, and the largest distance of a coordinate from it. */
  extent() {
    const middle = [0, 0], { x } = this;
    for (let j = 0; j < x.length; j++) middle[j % 2] += (2 * x[j]) / x.length;
    let reach = 0;
    for (let j = 0; j < x.length; j++) reach = Math.max(reach, Math.abs(x[j] - middle[j % 2]));
    return { middle, reach };
  }

  /** Smallest distance of two class means over the width of a class along one feature. */
  signal() {
    const { K, n, x, means } = this;
    let variance = 0, nearest = Infinity;
    for (let k = 0; k < K; k++) {
      for (let j = 2 * k * n; j < 2 * (k + 1) * n; j++) variance += (x[j] - means[2 * k + (j % 2)]) ** 2;
      for (let l = 0; l < k; l++) {
        nearest = Math.min(nearest, Math.hypot(means[2 * k] - means[2 * l], means[2 * k + 1] - means[2 * l + 1]));
      }
    }
    // n − 1 of n, as the mean is that of the same samples; a single sample has no width to speak of.
    return n > 1 ? nearest / Math.sqrt(variance / (2 * K * (n - 1))) : Infinity;
  }
}

/** The convex hull of points [x, y], counter-clockwise (Andrew's monotone chain). */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const out = [];
    for (const p of list) {
      while (out.length > 1 && turn(out.at(-2), out.at(-1), p) <= 0) out.pop();
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

/**
 * The widest of the gaps that a straight line can lie in: {gap, normal, middle}, gap > 0 where classes are separable.
 * Two convex polygons in the plane that do not touch have a gap along the normal of one of their edges; where both are
 * points or segments on one line, along it.
 */
export function separation(first, second) {
  const a = hull(first), b = hull(second);
  let best = { gap: -Infinity, normal: [1, 0], middle: 0 };
  const attempt = (u, v) => {
    const length = Math.hypot(u, v);
    if (length === 0) return;
    const normal = [u / length, v / length], on = (p) => normal[0] * p[0] + normal[1] * p[1];
    const [aLow, aHigh] = [Math.min(...a.map(on)), Math.max(...a.map(on))];
    const [bLow, bHigh] = [Math.min(...b.map(on)), Math.max(...b.map(on))];
    const after = bLow - aHigh, before = aLow - bHigh;
    if (Math.max(after, before) <= best.gap) return;
    best = { gap: Math.max(after, before), normal, middle: (after > before ? bLow + aHigh : aLow + bHigh) / 2 };
  };
  for (const h of [a, b]) {
    for (let i = 0; i < h.length; i++) {
      const next = h[(i + 1) % h.length];
      attempt(next[1] - h[i][1], h[i][0] - next[0]);
      if (h.length < 3) attempt(next[0] - h[i][0], next[1] - h[i][1]);
    }
  }
  if (a.length < 3 || b.length < 3) for (const p of a) for (const q of b) attempt(q[0] - p[0], q[1] - p[1]);
  return best;
}
