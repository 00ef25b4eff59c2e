// Arrays that came with the page as 16-bit multiples of a step (packed.py).

const MISSING = -32768;

/** The numbers, as doubles; nan where one is missing. */
export function unpacked({ step, data }) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
    const count = view.getInt16(2 * i, true);
    return count === MISSING ? NaN : count * step;
  });
}
