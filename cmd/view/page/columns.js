// SPDX-License-Identifier: MIT
//
// The packed recording, unpacked. Its layout is drawn in cmd/view/page_pack.h. This runs in the
// worker; the class Column is used by the page, too.

// One column of the recording: numbers of 1, 2, 4 or 8 bytes above a common base, or doubles.
class Column {
  constructor(buffer, spec) {
    const types = {
      1: Uint8Array,
      2: Uint16Array,
      4: Uint32Array,
      8: BigUint64Array,
      f: Float64Array,
    };
    this.raw = new types[spec.e](buffer, spec.o, spec.n);
    this.length = spec.n;
    this.big = spec.e === 8;
    this.base = BigInt(spec.b || 0);
    this.baseNumber = Number(this.base);
    this.baseIsSafe = Number.isSafeInteger(this.baseNumber);
  }
  // As a double: exact up to 2^53.
  at(index) {
    if (this.big) return Number(this.base + this.raw[index]);
    return this.baseNumber + this.raw[index];
  }
  // As a number, or a BigInt where a number would not be exact.
  exact(index) {
    if (!this.big && this.baseIsSafe) return this.baseNumber + this.raw[index];
    const value = this.base + BigInt(this.raw[index]);
    return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
  }
}

// Type.from(list, f) without its iterator, which takes ten times as long.
function mapped(Type, list, f) {
  const out = new Type(list.length);
  for (let i = 0; i < out.length; i++) out[i] = f(list[i], i);
  return out;
}

function readFixed(buffer, spec) {
  return new Column(buffer, spec);
}

// Unsigned LEB128. With `sum` each number is the distance from the one before.
function readVarints(buffer, spec, sum) {
  const bytes = new Uint8Array(buffer, spec.o, spec.s);
  const out = new Float64Array(spec.n);
  let at = 0,
    total = 0;
  for (let i = 0; i < spec.n; i++) {
    let byte = bytes[at++];
    let value = byte & 127,
      factor = 128;
    while (byte > 127) {
      byte = bytes[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    }
    out[i] = sum ? (total += value) : value;
  }
  return out;
}

// Letters to bytes. A table, because atob() makes a string of what is to become bytes.
function bytesOfBase64(text) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const value = new Uint8Array(256);
  for (let i = 0; i < 64; i++) value[letters.charCodeAt(i)] = i;
  const from = new TextEncoder().encode(text);
  let size = from.length;
  while (size > 0 && (from[size - 1] === 61 || from[size - 1] <= 32)) size--;
  const out = new Uint8Array(Math.floor((size * 3) / 4));
  let to = 0,
    at = 0;
  for (; at + 3 < size; at += 4) {
    const word =
      (value[from[at]] << 18) |
      (value[from[at + 1]] << 12) |
      (value[from[at + 2]] << 6) |
      value[from[at + 3]];
    out[to++] = word >> 16;
    out[to++] = word >> 8;
    out[to++] = word;
  }
  if (size - at >= 2) out[to++] = (value[from[at]] << 2) | (value[from[at + 1]] >> 4);
  if (size - at === 3) out[to++] = (value[from[at + 1]] << 4) | (value[from[at + 2]] >> 2);
  return out;
}

async function inflated(bytes) {
  if (typeof DecompressionStream === "undefined")
    throw new Error(
      "This browser is too old to unpack the data: it has no DecompressionStream. " +
        "Chrome 80, Firefox 113 and Safari 16.4 have it.",
    );
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  try {
    return await new Response(stream).arrayBuffer();
  } catch (error) {
    throw new Error("The data in this page is damaged: it does not unpack. Was the file cut off?");
  }
}

// The header and the bytes that its columns point into.
async function unpack(text) {
  const buffer = await inflated(bytesOfBase64(text.trim()));
  const start = new Uint8Array(buffer, 0, Math.min(12, buffer.byteLength));
  if (String.fromCharCode(...start.subarray(0, 8)) !== "PBPAGE1\n")
    throw new Error("The data in this page is not a packed recording.");
  const size = new DataView(buffer).getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 12, size)));
  return { header, buffer: buffer.slice(Math.ceil((12 + size) / 8) * 8) };
}
