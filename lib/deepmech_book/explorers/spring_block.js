// First-order spring-block chains (paper A, Eqs. 5-8), step by step as deepmech.simulators.spring_block computes them.
// `p` is an object with n_blocks, stiffness, friction_right, friction_left, noise; the target is y = 1.

import { Normals } from "./philox.js";

/** The length of one step, part of the model: the force of a step carries noise / sqrt(ETA). */
export const ETA = 0.01;

/** What friction lets through of a force (Eq. 6). */
const through = (force, right, left) => Math.max(force - right, 0) + Math.min(force + left, 0);

/** One chain, from rest at x = 0, with wall x[0] = 0 and target x[L + 1] = 1. */
export class Chain {
  constructor(nBlocks, normals) {
    this.x = new Float64Array(nBlocks + 2);
    this.x[nBlocks + 1] = 1;
    this.steps = 0;
    this.normals = normals;
    this.noise = new Float64Array(nBlocks + 4);
    this.velocity = new Float64Array(nBlocks);
  }

  /** One step, x += eta sigma(k L x + noise), all blocks at once. */
  step(p, noise) {
    const { x, velocity } = this, L = velocity.length, bar = p.noise / Math.sqrt(ETA);
    for (let i = 0; i < L; i++) {
      const force = p.stiffness * (x[i + 2] - 2 * x[i + 1] + x[i]) + bar * noise[i];
      velocity[i] = through(force, p.friction_right, p.friction_left);
    }
    for (let i = 0; i < L; i++) x[i + 1] += ETA * velocity[i];
    this.steps++;
  }

  advance(p, steps) {
    for (const end = this.steps + steps; this.steps < end; ) {
      if (p.noise > 0) this.normals.draw(this.steps, this.velocity.length, this.noise);
      this.step(p, this.noise);
    }
  }

  /** Whether friction holds block l = 1 .. L against its springs when there is no noise. */
  held(p, l) {
    const force = p.stiffness * (this.x[l + 1] - 2 * this.x[l] + this.x[l - 1]);
    return force <= p.friction_right + 1e-9 && force >= -p.friction_left - 1e-9;
  }
}

/** Positions where a quiet chain pulled from rest stops: the last n blocks move, n(n+1)/2 < k y / mu_right. */
export function equilibrium(p) {
  const L = p.n_blocks, step = p.friction_right / p.stiffness;
  let n = L;
  while (n > 0 && (n * (n + 1) / 2) * step >= 1) n--;
  const first = (1 - (n * (n + 1) / 2) * step) / (n + 1);
  const x = Float64Array.from({ length: L + 2 }, (_, l) => {
    const moved = Math.max(l - (L - n), 0);
    return moved * first + (moved * (moved - 1) / 2) * step;
  });
  return { x, moving: n };
}

/** Positions in the limit of large noise: every elongation exceeds the one before by (mu_right - mu_left) / 2k (Eq. 8). */
export function largeNoiseLimit(p) {
  const n = p.n_blocks + 1, step = (p.friction_right - p.friction_left) / (2 * p.stiffness);
  return Float64Array.from({ length: n + 1 }, (_, l) => l / n - (step / 2) * l * (n - l));
}

/** Mean deviation of the load curve from its chord over its range (deepmech.metrics.curvature): > 0 concave. */
export function curvature(x) {
  const n = x.length - 1;
  let sum = 0, low = 0, high = 0;
  for (let l = 0; l <= n; l++) {
    sum += (x[n] * l) / n - x[l];
    low = Math.min(low, x[l]);
    high = Math.max(high, x[l]);
  }
  return sum / n / (high - low);
}

/** A curvature up to this counts as none, as in the book's claims. */
export const LINEAR = 0.05;
export const regimeOf = (bend) => (bend > LINEAR ? "concave" : bend < -LINEAR ? "convex" : "linear");

/**
 * Curvature at time t_end over a grid of (friction_right, noise), rows of friction: yields how much of the work is done, in
 * slices short enough for an animation, and returns the curvatures.
 */
export function* diagramOf(p, { friction_right: rows, noise: columns, t_end, keys }, purpose) {
  const cells = rows.flatMap((friction_right) => columns.map((noise) => ({ ...p, friction_right, noise })));
  const steps = Math.round(t_end / ETA), noise = new Float64Array(p.n_blocks + 4), total = new Float64Array(cells.length);
  for (const [run, key] of keys.entries()) {
    const normals = new Normals(key, purpose), chains = cells.map(() => new Chain(p.n_blocks));
    for (let step = 0; step < steps; step++) {
      if (step % 16 === 0) yield (run + step / steps) / keys.length;
      normals.draw(step, p.n_blocks, noise);
      for (let m = 0; m < cells.length; m++) chains[m].step(cells[m], noise);
    }
    chains.forEach(({ x }, m) => (total[m] += curvature(x)));
  }
  return rows.map((_, r) => columns.map((_, c) => total[r * columns.length + c] / keys.length));
}
