// SPDX-License-Identifier: MIT
//
// The lines of the timeline from top to bottom, and what stands in a line at a pixel. A lane is a
// strip of the sheet: a heading, a CPU, the events of a thread, or one level of its calls.
//
//   y      lane
//   0      heading  CPUs
//   24     cpu      0          how many records a pixel has; losses in front of it
//   …
//          heading  a thread   its name; folds its lanes
//          events   its events
//          calls    level 0 … n

const kHeadHeight = 26,
  kCpuHeight = 26,
  kEventHeight = 18,
  kCallHeight = 20;

class Lanes {
  constructor(recording) {
    this.recording = recording;
    this.folded = new Set();
    this.lay();
  }
  // Lanes as columns, because there may be 100,000 threads with many levels.
  lay() {
    const { recording } = this;
    const what = [],
      of = [],
      level = [],
      top = [];
    let y = 0;
    const push = (kind, index, number, height) => {
      what.push(kind);
      of.push(index);
      level.push(number);
      top.push(y);
      y += height;
    };
    if (recording.header.cpus.length > 0) {
      push("cpus", 0, 0, kHeadHeight);
      if (!this.folded.has("cpus"))
        for (let c = 0; c < recording.header.cpus.length; c++) push("cpu", c, 0, kCpuHeight);
    }
    for (const t of this.order()) {
      push("thread", t, 0, kHeadHeight);
      if (this.folded.has(t)) continue;
      if (recording.events.first[t + 1] > recording.events.first[t])
        push("events", t, 0, kEventHeight);
      for (let l = 0; l < recording.levels[t]; l++) push("calls", t, l, kCallHeight);
      y += 4;
    }
    top.push(y);
    Object.assign(this, { what, of, level, top: Float64Array.from(top), height: y });
  }
  // Threads as they appeared.
  order() {
    if (!this.threads) {
      const { recording } = this;
      const seen = new Uint8Array(recording.header.threads.length);
      this.threads = [];
      for (let row = 0; row < recording.n && this.threads.length < seen.length; row++) {
        const t = recording.thread[row];
        if (!seen[t]) ((seen[t] = 1), this.threads.push(t));
      }
    }
    return this.threads;
  }
  toggle(key) {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.lay();
  }
  // The lane at y of the sheet; -1 below all.
  at(y) {
    if (y < 0 || y >= this.height) return -1;
    const lane = lowerBound(this.top, y + 1e-9, 0, this.what.length) - 1;
    return Math.max(0, lane);
  }
  heightOf(lane) {
    return {
      cpus: kHeadHeight,
      thread: kHeadHeight,
      cpu: kCpuHeight,
      events: kEventHeight,
      calls: kCallHeight,
    }[this.what[lane]];
  }
  laneOfRow(row) {
    const { recording } = this;
    const t = recording.thread[row],
      call = recording.callRow(row);
    for (let lane = 0; lane < this.what.length; lane++)
      if (
        this.of[lane] === t &&
        (call
          ? this.what[lane] === "calls" && this.level[lane] === recording.level[row]
          : this.what[lane] === "events")
      )
        return lane;
    return -1;
  }
  // What a lane draws: sorted starts and the rows of the positions first … last.
  span(lane) {
    const { recording } = this;
    const index = this.of[lane];
    if (this.what[lane] === "calls") {
      const track = recording.trackOfThread[index] + this.level[lane];
      return {
        of: recording.tracks,
        low: recording.tracks.first[track],
        high: recording.tracks.first[track + 1],
      };
    }
    const of = this.what[lane] === "cpu" ? recording.cpus : recording.events;
    return { of, low: of.first[index], high: of.first[index + 1] };
  }
}

// Sums of a bit over the positions of a list of rows: how many matches stand before each.
function matchSums(rows, bits) {
  const sums = new Uint32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) sums[i + 1] = sums[i] + bits[rows[i]];
  return sums;
}

// Paints lanes into one strip of pixels each, which is stretched over the lane's height. The cost is
// a few binary searches a pixel, whatever the number of rows; calls of 2 pixels and more come back
// as boxes.
class StripPainter {
  constructor(recording) {
    this.recording = recording;
  }

  begin(view, width, matches) {
    this.from = view.from;
    this.perPixel = (view.until - view.from) / width;
    this.width = width;
    this.matches = matches;
  }
  // pixels: a Uint32Array of one line. Calls `box(position, x0, x1)`.
  calls(span, pixels, box) {
    const { start, end, busy, rows } = span.of;
    const { from, perPixel, width } = this;
    const until = from + perPixel * width;
    // The last call that begins before the view may reach into it.
    let i = Math.max(span.low, lowerBound(start, from, span.low, span.high) - 1);
    if (i < span.high && end[i] < from) i++;
    while (i < span.high && start[i] < until) {
      const x0 = (start[i] - from) / perPixel,
        x1 = (end[i] - from) / perPixel;
      if (x1 - x0 >= 2) {
        box(i, x0, x1);
        i++;
        continue;
      }
      const pixel = Math.max(0, Math.floor(x0));
      const edge = from + (pixel + 1) * perPixel;
      let next = lowerBound(start, edge, i + 1, span.high);
      // The last one of this pixel may be long: a box of its own.
      if (next - 1 > i && (end[next - 1] - start[next - 1]) / perPixel >= 2) next--;
      const part = Math.min(1, (busy[next] - busy[i]) / perPixel);
      if (pixel < width) pixels[pixel] = this.pixelOf(span.of, i, next, part);
      i = next;
    }
  }
  // The colour of several calls that share a pixel; one that was searched for is seen among others.
  pixelOf(of, low, high, part) {
    const { matches } = this;
    const alpha = 0.32 + 0.68 * part;
    if (!matches) return this.color(this.longest(of, low, high), alpha, true);
    const before = matches.tracks[low];
    if (matches.tracks[high] === before) return this.color(of.rows[low], alpha, false);
    const found = lowerBound(matches.tracks, before + 1, low, high) - 1;
    return this.color(of.rows[found], 1, true);
  }
  // The longest of the first few calls of a pixel gives it its colour.
  longest(of, low, high) {
    let best = low;
    for (let i = low + 1; i < Math.min(high, low + 8); i++)
      if (of.end[i] - of.start[i] > of.end[best] - of.start[best]) best = i;
    return of.rows[best];
  }
  color(row, alpha, lit) {
    const c = lit
      ? theme.paint[this.recording.kindColors[this.recording.kind[row]]]
      : theme.dark
        ? [70, 80, 92]
        : [205, 211, 218];
    return (
      ((Math.round(255 * (lit ? alpha : alpha * 0.6)) << 24) |
        (c[2] << 16) |
        (c[1] << 8) |
        c[0]) >>>
      0
    );
  }
  // How many records each pixel has. Calls `bar(x, count, row, lit)`.
  density(span, sums, bar) {
    const { start, rows } = span.of;
    const { from, perPixel, width } = this;
    let i = lowerBound(start, from, span.low, span.high);
    while (i < span.high) {
      const pixel = Math.floor((start[i] - from) / perPixel);
      if (pixel >= width) break;
      const next = Math.max(i + 1, lowerBound(start, from + (pixel + 1) * perPixel, i, span.high));
      bar(pixel, next - i, rows[i], !sums || sums[next] > sums[i]);
      i = next;
    }
  }
}
