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

  get time() {
    return this.steps * ETA;
  }

  /** x += eta sigma(k L x + noise), all blocks at once. */
  advance(p, steps) {
    const { x, noise, velocity } = this, L = velocity.length, bar = p.noise / Math.sqrt(ETA);
    for (let s = 0; s < steps; s++, this.steps++) {
      if (bar > 0) this.normals.draw(this.steps, L, noise);
      for (let i = 0; i < L; i++) {
        const force = p.stiffness * (x[i + 2] - 2 * x[i + 1] + x[i]) + bar * noise[i];
        velocity[i] = through(force, p.friction_right, p.friction_left);
      }
      for (let i = 0; i < L; i++) x[i + 1] += ETA * velocity[i];
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

/** Curvature at time t_end over a grid of (friction_right, noise), in slices short enough for an animation. */
export class DiagramRun {
  constructor(p, diagram, purpose) {
    this.rows = diagram.friction_right.length;
    this.columns = diagram.noise.length;
    const cells = this.rows * this.columns, L = p.n_blocks;
    this.k = p.stiffness;
    this.left = p.friction_left;
    this.right = Float64Array.from({ length: cells }, (_, m) => diagram.friction_right[Math.floor(m / this.columns)]);
    this.bar = Float64Array.from({ length: cells }, (_, m) => diagram.noise[m % this.columns] / Math.sqrt(ETA));
    this.streams = diagram.keys.map((key) => new Normals(key, purpose));
    this.steps = Math.round(diagram.t_end / ETA);
    this.total = new Float64Array(cells);
    this.noise = new Float64Array(L + 4);
    this.velocity = Array.from({ length: L }, () => new Float64Array(cells));
    this.run = 0;
    this.restart();
  }

  restart() {
    const L = this.velocity.length;
    this.step = 0;
    this.x = Array.from({ length: L + 2 }, (_, l) => new Float64Array(this.total.length).fill(l > L ? 1 : 0));
  }

  get progress() {
    return (this.run + this.step / this.steps) / this.streams.length;
  }

  /** Work for about `milliseconds`; returns the finished curvatures (rows of friction, columns of noise), or null. */
  work(milliseconds) {
    const end = performance.now() + milliseconds;
    while (this.run < this.streams.length) {
      if (performance.now() > end) return null;
      for (let burst = 0; burst < 16 && this.step < this.steps; burst++, this.step++) this.advance();
      if (this.step < this.steps) continue;
      const x = new Float64Array(this.x.length);
      for (let m = 0; m < this.total.length; m++) {
        for (let l = 0; l < x.length; l++) x[l] = this.x[l][m];
        this.total[m] += curvature(x);
      }
      this.run++;
      this.restart();
    }
    const row = (r) => Array.from(this.total.subarray(r * this.columns, (r + 1) * this.columns), (c) => c / this.run);
    return Array.from({ length: this.rows }, (_, r) => row(r));
  }

  advance() {
    const { x, velocity, right, bar, k, left, noise } = this, cells = right.length;
    this.streams[this.run].draw(this.step, velocity.length, noise);
    for (let i = 0; i < velocity.length; i++) {
      const behind = x[i], here = x[i + 1], ahead = x[i + 2], v = velocity[i], z = noise[i];
      for (let m = 0; m < cells; m++) {
        v[m] = through(k * (ahead[m] - 2 * here[m] + behind[m]) + bar[m] * z, right[m], left);
      }
    }
    for (let i = 0; i < velocity.length; i++) {
      const here = x[i + 1], v = velocity[i];
      for (let m = 0; m < cells; m++) here[m] += ETA * v[m];
    }
  }
}
