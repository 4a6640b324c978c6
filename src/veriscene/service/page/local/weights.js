// Files of a model: compressed, and the network's weights in whole numbers.

/** The bytes of a file; `onBytes(count)` is called as they arrive. Hosts that decompress .gz files themselves are fine. */
export async function fetchBytes(url, onBytes = () => {}) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be loaded (${response.status}).`);
  const parts = [];
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    onBytes(value.length);
  }
  const blob = new Blob(parts);
  const [one, two] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const isCompressed = one === 0x1f && two === 0x8b;
  const stream = isCompressed ? blob.stream().pipeThrough(new DecompressionStream("gzip")) : blob.stream();
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The safetensors file in half precision that packed weights stand for. `segments`: numbers of bytes that are kept, and
 *  [rows, columns] of matrices in whole numbers, which follow the scales of their rows. */
export function unpack(packed, segments) {
  const size = segments.reduce((sum, each) => sum + (Array.isArray(each) ? 2 * each[0] * each[1] : each), 0);
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const whole = new Uint8Array(size);
  let [from, to] = [0, 0];
  for (const segment of segments) {
    if (!Array.isArray(segment)) {
      whole.set(packed.subarray(from, from + segment), to);
      from += segment;
      to += segment;
      continue;
    }
    const [rows, columns] = segment;
    const codes = new Int8Array(packed.buffer, packed.byteOffset + from + 4 * rows, rows * columns);
    for (let row = 0; row < rows; row++) {
      const scale = view.getFloat32(from + 4 * row, true);
      for (let at = row * columns; at < (row + 1) * columns; at++) {
        const bits = halfOf(codes[at] * scale);
        whole[to++] = bits & 255;
        whole[to++] = bits >> 8;
      }
    }
    from += rows * (4 + columns);
  }
  return whole;
}

const single = new Float32Array(1);
const singleBits = new Uint32Array(single.buffer);

/** The bits of a number in half precision, rounded to the nearest, ties to even. */
export function halfOf(number) {
  single[0] = number;
  const bits = singleBits[0];
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | 0x7c00; // too large
  if (magnitude < 0x38800000) {
    // Below the smallest normal number: multiples of 2 ** -24.
    const steps = Math.abs(single[0]) * 2 ** 24;
    const floor = Math.floor(steps);
    const isUp = steps - floor > 0.5 || (steps - floor === 0.5 && floor % 2 === 1);
    return sign | (floor + Number(isUp));
  }
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}
