// The counter-based random numbers of deepmech.core.random, in JavaScript: Philox4x32-10 and the Box-Muller transform.
// A number is a pure function of (key, purpose, step, index), so the page and the Python simulator draw the same ones.

/** High 32 bits of the product of two unsigned 32-bit numbers, from 16-bit halves (doubles hold only 53 bits). */
export function mulHigh(a, b) {
  const aLow = a & 0xffff, aHigh = a >>> 16, bLow = b & 0xffff, bHigh = b >>> 16;
  const first = aHigh * bLow + ((aLow * bLow) >>> 16);
  const second = aLow * bHigh + (first & 0xffff);
  return (aHigh * bHigh + (first >>> 16) + (second >>> 16)) >>> 0;
}

/** out[0..3] = the four random 32-bit words of counter (c0..c3) under key (k0, k1). */
export function philox(c0, c1, c2, c3, k0, k1, out) {
  for (let round = 0; round < 10; round++) {
    const high0 = mulHigh(0xd2511f53, c0), low0 = Math.imul(0xd2511f53, c0) >>> 0;
    const high1 = mulHigh(0xcd9e8d57, c2), low1 = Math.imul(0xcd9e8d57, c2) >>> 0;
    c0 = (high1 ^ c1 ^ k0) >>> 0;
    c1 = low1;
    c2 = (high0 ^ c3 ^ k1) >>> 0;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** Standard normal numbers of one stream and one purpose; `key` is the stream's 64-bit key, 16 hexadecimal digits. */
export class Normals {
  constructor(key, purpose) {
    this.k1 = parseInt(key.slice(0, 8), 16);
    this.k0 = parseInt(key.slice(8), 16);
    this.purpose = purpose;
    this.words = new Uint32Array(4);
  }

  /** out[0 .. n - 1] = the first n numbers of this step; `out` has room for n rounded up to a multiple of four. */
  draw(step, n, out) {
    const high = Math.floor(step / 4294967296);
    for (let i = 0; i < n; i += 4) {
      philox(i / 4, step >>> 0, high, this.purpose, this.k0, this.k1, this.words);
      for (let j = 0; j < 4; j += 2) {
        const radius = Math.sqrt(-2 * Math.log((this.words[j] + 0.5) * 2 ** -32));
        const angle = ((this.words[j + 1] + 0.5) * 2 ** -30 - 0.5) * (Math.PI / 2);
        out[i + j] = radius * Math.cos(angle);
        out[i + j + 1] = radius * Math.sin(angle);
      }
    }
  }
}
