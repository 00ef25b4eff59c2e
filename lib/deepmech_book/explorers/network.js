// The network of paper A's Figure 1 in training: the steps of deepmech.train(MLP(...), Training(...), data) in float64, from
// the same streams. Features are kept unit by unit, the samples of a unit beside one another.

import { mulHigh, philox } from "./philox.js";

/** out[r] = sum over i of w[r * ahead + i * aside] x[i] + b[r]: rows of n samples; inputs go four by four. */
export function product(w, ahead, aside, x, rows, n, b) {
  const inner = x.length / n, out = new Float64Array(rows * n);
  for (let r = 0; r < rows; r++) {
    const o = r * n;
    if (b) out.fill(b[r], o, o + n);
    let i = 0;
    for (; i + 3 < inner; i += 4) {
      const k = r * ahead + i * aside, w0 = w[k], w1 = w[k + aside], w2 = w[k + 2 * aside], w3 = w[k + 3 * aside];
      const x0 = i * n, x1 = x0 + n, x2 = x1 + n, x3 = x2 + n;
      for (let s = 0; s < n; s++) out[o + s] += w0 * x[x0 + s] + w1 * x[x1 + s] + w2 * x[x2 + s] + w3 * x[x3 + s];
    }
    for (; i < inner; i++) for (let s = 0, v = w[r * ahead + i * aside]; s < n; s++) out[o + s] += v * x[i * n + s];
  }
  return out;
}

/** out[r, i] = sum over samples of d[r] x[i]; inputs go four by four. */
export function outer(d, x, n) {
  const rows = d.length / n, inner = x.length / n, out = new Float64Array(rows * inner);
  for (let r = 0; r < rows; r++) {
    const o = r * n;
    for (let i = 0; i < inner; i += 4) {
      let sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
      const x0 = i * n, x1 = x0 + n, x2 = x1 + n, x3 = x2 + n;
      for (let s = 0; s < n; s++) {
        const v = d[o + s];
        sum0 += v * x[x0 + s];
        sum1 += v * x[x1 + s];
        sum2 += v * x[x2 + s];
        sum3 += v * x[x3 + s];
      }
      out.set([sum0, sum1, sum2, sum3], r * inner + i);
    }
  }
  return out;
}

export class Training {
  /**
   * `data`: pixels `x` and `xTest`, sample by sample, and classes `y`, `yTest`; `sizes`: units of every layer; `words`: the
   * counter words of purposes; `key`: of the stream; `p`: slope, dropout, learning_rate, batch_size.
   */
  constructor({ data, sizes, words, key, p }) {
    Object.assign(this, { data, sizes, words, p, steps: 0, epoch: 0 });
    this.key = [parseInt(key.slice(8), 16), parseInt(key.slice(0, 8), 16)];
    const uniform = (name, n, inputs) => Float64Array.from(this.bits(words[name], 0, n), (v) => (2 * ((v + 0.5) * 2 ** -32) - 1) / Math.sqrt(inputs));
    this.linear = sizes.slice(1).map((units, l) => ({
      weight: uniform(`weight ${l + 1}`, units * sizes[l], sizes[l]), bias: uniform(`bias ${l + 1}`, units, sizes[l]),
    }));
    this.norm = sizes.slice(0, -1).map((units) => ({
      gain: new Float64Array(units).fill(1), shift: new Float64Array(units), mean: new Float64Array(units), variance: new Float64Array(units).fill(1),
    }));
    this.memory = new Map();
  }

  bits(purpose, step, n) {
    const out = new Uint32Array(n + (4 - (n % 4)) % 4);
    for (let i = 0; i < out.length; i += 4) philox(i / 4, step, 0, purpose, ...this.key, out.subarray(i, i + 4));
    return out.subarray(0, n);
  }

  /** A training step's masks are those of `step`; without one the network is evaluated, with the averages of its norms. */
  forward(x, n, step) {
    const training = step !== undefined, { slope, dropout } = this.p, last = this.linear.length - 1;
    const tape = [], features = [];
    let h = this.normalise(0, x, n, training, tape);
    features.push(h);
    this.linear.forEach(({ weight, bias }, l) => {
      const input = h, z = product(weight, this.sizes[l], 1, h, this.sizes[l + 1], n, bias);
      tape.push({ input });
      if (l === last) return (h = z);
      h = this.normalise(l + 1, z, n, training, tape).map((v) => (v > 0 ? v : slope * v));
      features.push(h);
      if (!training || !dropout) return;
      const words = this.bits(this.words[`dropout ${l + 1}`], step, Math.ceil(h.length / 2)), below = Math.round(dropout * 65536);
      const mask = (tape.at(-1).mask = new Float64Array(h.length));
      for (let i = 0; i < h.length; i++) mask[i] = ((i % 2 ? words[i >> 1] >>> 16 : words[i >> 1] & 0xffff) >= below ? 1 : 0) / (1 - dropout);
      h = h.map((v, i) => v * mask[i]);
    });
    return { features, output: h, tape };
  }

  normalise(l, z, n, training, tape) {
    const { gain, shift, mean, variance } = this.norm[l], out = new Float64Array(z.length);
    const hat = new Float64Array(z.length), inverse = new Float64Array(gain.length);
    for (let u = 0; u < gain.length; u++) {
      let m = mean[u], v = variance[u];
      const from = u * n, to = from + n;
      if (training) {
        m = v = 0;
        for (let i = from; i < to; i++) m += z[i] / n;
        for (let i = from; i < to; i++) v += (z[i] - m) ** 2 / n;
        mean[u] += 0.1 * (m - mean[u]);
        variance[u] += 0.1 * ((v * n) / (n - 1) - variance[u]);
      }
      inverse[u] = 1 / Math.sqrt(v + 1e-5);
      for (let i = from; i < to; i++) out[i] = gain[u] * (hat[i] = (z[i] - m) * inverse[u]) + shift[u];
    }
    tape.push({ hat, inverse, out });
    return out;
  }

  /** Back through the norm of layer l: gradients of its gain and shift, and of what came in. */
  denormalise(l, d, n, { hat, inverse }) {
    const { gain } = this.norm[l], gains = new Float64Array(gain.length), shifts = new Float64Array(gain.length);
    const out = new Float64Array(d.length);
    for (let u = 0; u < gain.length; u++) {
      for (let i = u * n; i < (u + 1) * n; i++) {
        gains[u] += d[i] * hat[i];
        shifts[u] += d[i];
      }
      const scale = (gain[u] * inverse[u]) / n;
      for (let i = u * n; i < (u + 1) * n; i++) out[i] = scale * (n * d[i] - shifts[u] - hat[i] * gains[u]);
    }
    return { gains, shifts, out };
  }

  /** One step of Adam on the samples `chosen`. What a norm subtracts again (biases before it, the input's shift) stays. */
  step(chosen) {
    const n = chosen.length, { sizes } = this, last = sizes.length - 2, slope = this.p.slope;
    const { output, tape } = this.forward(this.gather(this.data.x, chosen), n, this.steps++);
    let d = this.softmax(output, n);
    chosen.forEach((sample, s) => (d[this.data.y[sample] * n + s] -= 1));
    d = d.map((v) => v / n);
    for (let l = last; l >= 0; l--) {
      const { weight, bias } = this.linear[l], { input } = tape[2 * l + 1], before = tape[2 * l];
      if (l === last) this.adam(bias, Float64Array.from(bias, (_, r) => d.subarray(r * n, (r + 1) * n).reduce((a, v) => a + v, 0)));
      const gradient = outer(d, input, n);
      d = product(weight, 1, sizes[l], d, sizes[l], n);
      this.adam(weight, gradient);
      if (l > 0) {
        const { out, mask } = before;
        for (let i = 0; i < d.length; i++) d[i] *= (mask ? mask[i] : 1) * (out[i] > 0 ? 1 : slope);
      }
      const { gains, shifts, out } = this.denormalise(l, d, n, before), { gain, shift } = this.norm[l];
      d = out;
      this.adam(gain, gains);
      if (l > 0) this.adam(shift, shifts);
    }
  }

  adam(values, gradient) {
    if (!this.memory.has(values)) this.memory.set(values, [new Float64Array(values.length), new Float64Array(values.length)]);
    const [first, second] = this.memory.get(values), t = this.steps, rate = this.p.learning_rate / (1 - 0.9 ** t), root = Math.sqrt(1 - 0.999 ** t);
    for (let i = 0; i < values.length; i++) {
      first[i] += (1 - 0.9) * (gradient[i] - first[i]);
      second[i] = 0.999 * second[i] + (1 - 0.999) * gradient[i] ** 2;
      values[i] -= rate * (first[i] / (Math.sqrt(second[i]) / root + 1e-8));
    }
  }

  softmax(output, n) {
    const out = new Float64Array(output.length), rows = output.length / n;
    for (let s = 0; s < n; s++) {
      let top = -Infinity, sum = 0;
      for (let r = 0; r < rows; r++) top = Math.max(top, output[r * n + s]);
      for (let r = 0; r < rows; r++) sum += out[r * n + s] = Math.exp(output[r * n + s] - top);
      for (let r = 0; r < rows; r++) out[r * n + s] /= sum;
    }
    return out;
  }

  gather(x, chosen) {
    const inputs = this.sizes[0], out = new Float64Array(inputs * chosen.length);
    chosen.forEach((sample, s) => {
      for (let i = 0; i < inputs; i++) out[i * chosen.length + s] = x[sample * inputs + i];
    });
    return out;
  }

  /** A pass over the training set, in this epoch's own order. */
  runEpoch() {
    const n = this.data.y.length, size = Math.min(n, this.p.batch_size), all = Array.from({ length: n }, (_, i) => i);
    this.epoch++;
    if (size < n) {
      const words = this.bits(this.words.order, this.epoch, 2 * n);
      all.sort((a, b) => words[2 * a + 1] - words[2 * b + 1] || words[2 * a] - words[2 * b] || a - b);
    }
    for (let start = 0; start < n; start += size) this.step(all.slice(start, start + size));
  }

  /** The load curve of the training set, and the share of test samples that the network knows. */
  measure() {
    const { x, y, xTest, yTest } = this.data, every = (labels) => Array.from(labels, (_, i) => i);
    const { features } = this.forward(this.gather(x, every(y)), y.length), { output } = this.forward(this.gather(xTest, every(yTest)), yTest.length);
    let right = 0;
    for (let s = 0; s < yTest.length; s++) {
      let best = 0;
      for (let r = 1; r < this.sizes.at(-1); r++) if (output[r * yTest.length + s] > output[best * yTest.length + s]) best = r;
      right += best === yTest[s];
    }
    return { curve: features.map((h) => this.separation(h, y)), accuracy: right / yTest.length };
  }

  /** log(Tr within / Tr between) of features (paper A, Eq. 3). */
  separation(h, y) {
    const n = y.length, K = this.sizes.at(-1), count = new Float64Array(K);
    let within = 0, between = 0;
    for (const k of y) count[k]++;
    for (let u = 0; u < h.length / n; u++) {
      const means = new Float64Array(K), row = h.subarray(u * n, (u + 1) * n);
      row.forEach((v, s) => (means[y[s]] += v / count[y[s]]));
      const mean = means.reduce((sum, v, k) => sum + (v * count[k]) / n, 0);
      row.forEach((v, s) => (within += (v - means[y[s]]) ** 2 / n));
      means.forEach((v, k) => (between += (count[k] / n) * (v - mean) ** 2));
    }
    return Math.log(within / between);
  }
}

/**
 * Train in the background: `told({curve, accuracy})` before the first epoch and after each; the result stops it. In a worker
 * where the browser allows one, otherwise epoch by epoch on the page.
 */
export function trainAside(options, epochs, told) {
  const parts = [mulHigh, philox, product, outer, Training].map(String).join("\n");
  const work = ({ data: [options, epochs] }) => {
    const training = new Training(options);
    for (let e = 0; e <= epochs; e++) {
      if (e) training.runEpoch();
      postMessage(training.measure());
    }
  };
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([parts, "\nonmessage = ", work], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => told(data);
    worker.postMessage([options, epochs]);
    return () => worker.terminate();
  } catch {
    const training = new Training(options);
    let timer;
    const next = () => {
      if (training.epoch < epochs) timer = setTimeout(slice);
      told(training.measure());
    };
    const slice = () => {
      training.runEpoch();
      next();
    };
    timer = setTimeout(next);
    return () => clearTimeout(timer);
  }
}
