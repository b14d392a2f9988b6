// SPDX-License-Identifier: MIT
// The recording as the views ask for it: names, arguments and stacks of rows.

const kEnds = [
  "returned",
  "ended without a return (an exception, longjmp or lost records)",
  "its entry is not in the recording",
  "still open when the recording ended",
  "goes on behind the part of the recording that this page has",
];

class Recording {
  constructor(model) {
    Object.assign(this, model);
    const { header, buffer } = this;
    this.duration_ns = header.duration;
    this.bytes = new Uint8Array(buffer);
    this.ends = readFixed(buffer, header.strings.ends);
    this.texts = new Array(this.ends.length);
    this.decoder = new TextDecoder();
    this.kindNames = header.kinds.map((kind) => this.text(kind.name));
    this.kindColors = this.kindNames.map(colorIndex);
    this.threadNames = header.threads.map((thread) => this.text(thread.name));
    this.instanceNames = header.instances.map((name) => this.text(name));
    this.columns = new Map();
    this.instance = header.columns.instance ? readFixed(buffer, header.columns.instance) : null;
    this.stack = header.stacks ? readFixed(buffer, header.columns.stack) : null;
    this.frame = header.stacks ? readFixed(buffer, header.stacks.frame) : null;
    this.above = header.stacks ? readFixed(buffer, header.stacks.parent) : null;
  }
  text(index) {
    if (this.texts[index] === undefined) {
      const offset = this.header.strings.bytes.o;
      const from = index === 0 ? 0 : this.ends.at(index - 1);
      this.texts[index] = this.decoder.decode(
        this.bytes.subarray(offset + from, offset + this.ends.at(index)),
      );
    }
    return this.texts[index];
  }
  kindOf(row) {
    return this.header.kinds[this.kind[row]];
  }
  nameOf(row) {
    return this.kindNames[this.kind[row]];
  }
  callRow(row) {
    return this.isCall[this.kind[row]] === 1;
  }
  endOf(row) {
    return this.time[row] + this.duration[row];
  }
  threadText(thread) {
    return `${this.threadNames[thread]}-${this.header.threads[thread].tid}`;
  }
  // The instance whose buffer a row is from.
  instanceOf(row) {
    return this.instance ? this.instance.at(row) : 0;
  }
  instanceText(row) {
    return this.instanceNames[this.instanceOf(row)];
  }
  // The columns of a field: {value, absent}.
  columnOf(kind, index) {
    const key = kind * 65536 + index;
    let found = this.columns.get(key);
    if (!found) {
      const field = this.header.kinds[kind].fields[index];
      found = {
        value: readFixed(this.buffer, field.column),
        absent: field.absent ? readFixed(this.buffer, field.absent) : null,
      };
      this.columns.set(key, found);
    }
    return found;
  }
  // A field of a row: a number, a BigInt, a text, or null when this record does not have it.
  valueOf(row, index) {
    const field = this.kindOf(row).fields[index];
    const { value, absent } = this.columnOf(this.kind[row], index);
    const at = this.inKind[row];
    if (absent && absent.at(at) === 1) return null;
    return field.type === "s" || field.type === "a" ? this.text(value.at(at)) : value.exact(at);
  }
  fieldName(field) {
    return this.text(field.name);
  }
  valueText(row, index) {
    const value = this.valueOf(row, index);
    if (value === null) return null;
    const type = this.kindOf(row).fields[index].type;
    if (type === "x") return `0x${value.toString(16)}`;
    return type === "s" ? JSON.stringify(value) : String(value);
  }
  // "fd=3 count=4096"
  argumentsText(row) {
    const fields = this.kindOf(row).fields,
      words = [];
    for (let i = 0; i < fields.length; i++) {
      const value = this.valueText(row, i);
      if (value !== null) words.push(`${this.fieldName(fields[i])}=${value}`);
    }
    return words.join("  ");
  }
  // Recorded frames of a row, the innermost first.
  stackOf(row) {
    const frames = [];
    if (this.stack)
      for (let at = this.stack.at(row); at !== 0; at = this.above.at(at))
        frames.push(this.text(this.frame.at(at)));
    return frames;
  }
  // The calls around a row, the innermost first.
  callersOf(row) {
    const rows = [];
    for (let at = this.parent[row]; at >= 0; at = this.parent[at]) rows.push(at);
    return rows;
  }
}

// First index in the sorted `times` from `low` to `high` with times[index] >= time.
function lowerBound(times, time, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// --- colours of functions: Paul Tol's "light" scheme, which people who are colour-blind can tell
// apart, with lavender for its olive, in two strengths. Dark text is readable on each, and no
// colour says anything that a text does not say, too.
const kHues = [
  [119, 170, 221],
  [153, 221, 255],
  [68, 187, 153],
  [187, 204, 51],
  [238, 221, 136],
  [238, 136, 102],
  [255, 170, 187],
  [196, 176, 230],
];
function colorIndex(name) {
  let hash = 2166136261;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
  return (((hash >>> 8) ^ hash) >>> 0) % (kHues.length * 2);
}
const theme = {
  dark: false,
  paint: [], // [r, g, b] by colour index
  css: [],
  read() {
    this.dark = document.documentElement.classList.contains("dark");
    const toward = this.dark ? [16, 21, 27] : [255, 255, 255];
    this.paint = [];
    for (let i = 0; i < kHues.length * 2; i++) {
      const part = (i >= kHues.length ? (this.dark ? 0.2 : 0.3) : 0) + (this.dark ? 0.06 : 0);
      this.paint.push(
        kHues[i % kHues.length].map((c, k) => Math.round(c * (1 - part) + toward[k] * part)),
      );
    }
    this.css = this.paint.map((c) => `rgb(${c.join(",")})`);
    const style = getComputedStyle(document.documentElement);
    for (const name of [
      "bg",
      "panel",
      "raised",
      "line",
      "line-strong",
      "text",
      "dim",
      "faint",
      "accent",
      "accent-soft",
      "bad",
      "bar",
    ])
      this[name.replace("-", "_")] = style.getPropertyValue(`--${name}`).trim();
    this.sans = style.getPropertyValue("--sans");
    this.mono = style.getPropertyValue("--mono");
  },
};
