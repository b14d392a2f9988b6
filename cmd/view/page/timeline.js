// SPDX-License-Identifier: MIT
// The timeline: what is seen, drawing it, and what keys and the pointer do to it.

const kLabelWidth = 216,
  kAxisHeight = 30;

class Timeline {
  constructor(app) {
    this.app = app;
    this.recording = app.recording;
    this.lanes = new Lanes(this.recording);
    this.painter = new StripPainter(this.recording);
    this.length = Math.max(this.recording.duration_ns, 1);
    this.view = { from: 0, until: this.length };
    this.range = null; // what was dragged over: {from, until}
    this.selected = -1;
    this.hover = null;
    this.keys = new Set();
    this.frames = [];
    this.scroller = byId("tracks");
    this.canvas = byId("sheet");
    this.map = byId("map");
    this.strip = document.createElement("canvas");
    this.widths = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    this.resize();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const width = this.scroller.clientWidth,
      height = this.scroller.clientHeight;
    if (width === 0) return;
    this.ratio = ratio;
    this.width = width;
    this.viewHeight = height;
    this.plotWidth = Math.max(50, width - kLabelWidth);
    for (const [canvas, h] of [
      [this.canvas, height],
      [this.map, 44],
    ]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(h * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${h}px`;
    }
    this.layout();
    this.mapImage = null;
    this.draw();
  }
  layout() {
    const spacer = this.scroller.querySelector(".spacer");
    spacer.style.height = `${Math.max(0, this.lanes.height + kAxisHeight + 12 - this.viewHeight)}px`;
  }

  // --- what is seen
  show(from, until) {
    const least = 20;
    let span = Math.min(Math.max(until - from, least), this.length * 1.0);
    if (span < least) span = this.length;
    from = Math.min(Math.max(from, 0), this.length - span);
    this.view = { from, until: from + span };
    this.draw();
  }
  zoom(factor, x = this.plotWidth / 2) {
    const span = this.view.until - this.view.from;
    const at = this.view.from + span * (x / this.plotWidth);
    const next = Math.min(Math.max(span * factor, 20), this.length);
    this.show(at - next * (x / this.plotWidth), at + next * (1 - x / this.plotWidth));
  }
  pan(part) {
    const step = (this.view.until - this.view.from) * part;
    this.show(this.view.from + step, this.view.until + step);
  }
  timeAt(x) {
    return (
      this.view.from + (this.view.until - this.view.from) * ((x - kLabelWidth) / this.plotWidth)
    );
  }
  xOf(time) {
    return (
      kLabelWidth + ((time - this.view.from) / (this.view.until - this.view.from)) * this.plotWidth
    );
  }
  // Brings a row into view: its time with some room around it, and its lane.
  reveal(row, fit) {
    const { recording, lanes } = this;
    const start = recording.time[row],
      end = recording.endOf(row);
    const span = this.view.until - this.view.from;
    if (fit) {
      const room = Math.max((end - start) * 0.15, recording.callRow(row) ? 20 : 2000);
      this.show(start - room, end + room);
    } else if (
      end < this.view.from ||
      start > this.view.until ||
      ((end - start) / span) * this.plotWidth < 1
    ) {
      const want = Math.min(span, Math.max((end - start) * 12, 2000));
      this.show((start + end) / 2 - want / 2, (start + end) / 2 + want / 2);
    }
    const t = recording.thread[row];
    if (lanes.folded.has(t)) {
      lanes.toggle(t);
      this.layout();
    }
    const lane = lanes.laneOfRow(row);
    if (lane < 0) return;
    const y = lanes.top[lane],
      top = this.scroller.scrollTop;
    if (y < top + 4 || y + 60 > top + this.viewHeight - kAxisHeight)
      this.scroller.scrollTop = Math.max(0, y - (this.viewHeight - kAxisHeight) / 2);
    this.draw();
  }
  select(row) {
    this.selected = row;
    this.draw();
  }

  // --- drawing, at most once a frame
  draw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame((now) => {
      this.wanted = false;
      const began = performance.now();
      this.step(now);
      this.paint();
      this.frames.push(performance.now() - began);
      if (this.frames.length > 600) this.frames.shift();
      if (this.keys.size > 0) this.draw();
    });
  }
  // Keys that are held move as long as they are.
  step(now) {
    const passed = Math.min(50, now - (this.before || now));
    this.before = this.keys.size > 0 ? now : 0;
    if (this.keys.size === 0) return;
    const fast = this.keys.has("shift") ? 3 : 1;
    const zoom = (this.keys.has("w") ? -1 : 0) + (this.keys.has("s") ? 1 : 0);
    const pan = (this.keys.has("d") ? 1 : 0) - (this.keys.has("a") ? 1 : 0);
    if (zoom !== 0) this.zoom(Math.exp(zoom * passed * 0.0042 * fast), this.pointerX());
    if (pan !== 0) this.pan(pan * passed * 0.0011 * fast);
  }
  pointerX() {
    const x = this.pointer ? this.pointer.x - kLabelWidth : -1;
    return x > 0 && x < this.plotWidth ? x : this.plotWidth / 2;
  }

  paint() {
    if (!this.width) return;
    const g = this.canvas.getContext("2d");
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.fillStyle = theme.bg;
    g.fillRect(0, 0, this.width, this.viewHeight);
    const ticks = this.ticks();
    this.paintTicks(g, ticks);
    this.paintLanes(g);
    this.paintRange(g);
    this.paintAxis(g, ticks);
    this.paintMap();
  }
  // Round moments, 90 pixels or more apart.
  ticks() {
    const span = this.view.until - this.view.from;
    const least = span / Math.max(1, this.plotWidth / 110);
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least);
    const ticks = [];
    for (let at = Math.ceil(this.view.from / step) * step; at <= this.view.until; at += step)
      ticks.push(at);
    return { step, at: ticks };
  }
  paintTicks(g, ticks) {
    g.fillStyle = theme.line;
    g.globalAlpha = 0.6;
    for (const at of ticks.at) g.fillRect(Math.round(this.xOf(at)), 0, 1, this.viewHeight);
    g.globalAlpha = 1;
  }
  paintAxis(g, ticks) {
    g.fillStyle = theme.panel;
    g.fillRect(0, 0, this.width, kAxisHeight);
    g.fillStyle = theme.line;
    g.fillRect(0, kAxisHeight - 1, this.width, 1);
    g.fillRect(kLabelWidth - 1, 0, 1, this.viewHeight);
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.dim;
    g.textBaseline = "middle";
    for (const at of ticks.at) {
      const x = Math.round(this.xOf(at));
      g.fillRect(x, kAxisHeight - 6, 1, 5);
      g.fillText(momentText(at, ticks.step), x + 4, kAxisHeight / 2);
    }
    g.fillStyle = theme.panel;
    g.fillRect(0, 0, kLabelWidth - 1, kAxisHeight - 1);
    g.fillStyle = theme.text;
    g.font = `600 12px ${theme.sans}`;
    g.fillText(shortTime(this.view.until - this.view.from), 14, kAxisHeight / 2);
    const width = g.measureText(shortTime(this.view.until - this.view.from)).width;
    g.fillStyle = theme.faint;
    g.font = `11px ${theme.sans}`;
    g.fillText("in view", 20 + width, kAxisHeight / 2);
  }

  paintLanes(g) {
    const { lanes } = this;
    const scroll = this.scroller.scrollTop;
    const matches = this.app.matches;
    const width = Math.round(this.plotWidth * this.ratio);
    this.painter.begin(this.view, width, matches);
    const first = Math.max(0, lanes.at(Math.min(scroll, lanes.height - 1)));
    const visible = [];
    for (let lane = first; lane < lanes.what.length; lane++) {
      if (lanes.top[lane] - scroll > this.viewHeight) break;
      visible.push(lane);
    }
    this.prepareStrip(width, visible.length);
    this.boxes = [];
    visible.forEach((lane, line) => {
      const y = lanes.top[lane] - scroll + kAxisHeight;
      if (lanes.what[lane] === "calls") this.stripOfCalls(lane, line, y);
    });
    const strip = this.strip.getContext("2d");
    strip.putImageData(this.image, 0, 0);
    g.imageSmoothingEnabled = false;
    g.save();
    g.beginPath();
    g.rect(kLabelWidth, 0, this.plotWidth, this.viewHeight);
    g.clip();
    visible.forEach((lane, line) => {
      const y = lanes.top[lane] - scroll + kAxisHeight;
      if (lanes.what[lane] === "calls")
        g.drawImage(
          this.strip,
          0,
          line,
          width,
          1,
          kLabelWidth,
          y + 1,
          this.plotWidth,
          kCallHeight - 2,
        );
      else if (lanes.what[lane] === "cpu") this.paintCpu(g, lane, y);
      else if (lanes.what[lane] === "events") this.paintEvents(g, lane, y);
      else this.paintHeadLine(g, y);
    });
    this.paintBoxes(g);
    g.restore();
    for (const lane of visible) this.paintLabel(g, lane, lanes.top[lane] - scroll + kAxisHeight);
  }
  prepareStrip(width, lines) {
    if (!this.image || this.image.width !== width || this.image.height < lines) {
      this.strip.width = width;
      this.strip.height = Math.max(64, lines);
      this.image = new ImageData(width, this.strip.height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(0, 0, width * lines);
  }
  stripOfCalls(lane, line, y) {
    const width = this.image.width;
    this.painter.calls(
      this.lanes.span(lane),
      this.pixels.subarray(line * width, (line + 1) * width),
      (position, x0, x1) => this.boxes.push([position, x0, x1, y]),
    );
  }
  paintBoxes(g) {
    const { recording } = this;
    const matches = this.app.matches;
    g.font = `11px ${theme.sans}`;
    g.textBaseline = "middle";
    for (const [position, left, right, y] of this.boxes) {
      const row = recording.tracks.rows[position],
        kind = recording.kind[row];
      const x0 = Math.max(-2, left / this.ratio),
        x1 = Math.min(this.plotWidth + 2, right / this.ratio);
      const lit = !matches || matches.bits[row] === 1;
      g.fillStyle = lit
        ? theme.css[recording.kindColors[kind]]
        : theme.dark
          ? "#2b343f"
          : "#e3e7ec";
      const w = Math.max(x1 - x0 - (x1 - x0 > 4 ? 1 : 0), 1);
      g.fillRect(kLabelWidth + x0, y + 1, w, kCallHeight - 2);
      if (recording.how[row] !== 0)
        this.paintTorn(g, kLabelWidth + x0, y + 1, w, recording.how[row]);
      if (row === this.selected) this.outline(g, kLabelWidth + x0, y + 1, w, kCallHeight - 2);
      if (w > 26)
        this.paintName(g, kind, kLabelWidth + x0 + 5, y + kCallHeight / 2 + 0.5, w - 9, lit);
    }
  }
  outline(g, x, y, w, h) {
    g.strokeStyle = theme.text;
    g.lineWidth = 2;
    g.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), h - 2);
  }
  // Calls without a return, or without an entry, have a dashed edge where they are not whole.
  paintTorn(g, x, y, w, how) {
    g.fillStyle = "rgba(15,22,30,.55)";
    const edge = how === 2 ? x : x + w - 2;
    for (let dy = 0; dy < kCallHeight - 2; dy += 5) g.fillRect(edge, y + dy, 2, 3);
  }
  paintName(g, kind, x, y, room, lit) {
    const name = this.recording.kindNames[kind];
    let width = this.widths.get(kind);
    if (width === undefined)
      this.widths.set(kind, (width = g.measureText(name.slice(0, 300)).width));
    g.fillStyle = lit ? "#101820" : theme.faint;
    if (width <= room) return g.fillText(name, x, y);
    const letters = Math.floor((name.length * (room - 8)) / width);
    if (letters >= 2) g.fillText(`${name.slice(0, letters)}…`, x, y);
  }

  paintCpu(g, lane, y) {
    const cpu = this.lanes.of[lane];
    const { recording } = this;
    const matches = this.app.matches;
    const height = kCpuHeight - 5;
    const scale = 1 / this.ratio;
    this.painter.density(this.lanes.span(lane), matches && matches.cpus, (x, count, row, lit) => {
      const h = Math.min(height, 4 + Math.log2(count) * 3.2);
      g.fillStyle = lit
        ? theme.css[this.threadColor(recording.thread[row])]
        : theme.dark
          ? "#39434f"
          : "#d3d9df";
      g.fillRect(kLabelWidth + x * scale, y + 2 + height - h, Math.max(scale, 1), h);
    });
    const { time, count } = this.app.lossesOf(cpu);
    for (let i = 0; i < time.length; i++) this.paintLoss(g, this.xOf(time[i]), y + 1, count[i]);
    this.paintSelectedTick(g, y, kCpuHeight, recording.cpu[this.selected] === cpu);
  }
  threadColor(thread) {
    return thread % kHues.length;
  }
  // A red triangle and a line: something is missing in front of this moment.
  paintLoss(g, x, y) {
    if (x < kLabelWidth - 8 || x > this.width + 8) return;
    g.fillStyle = theme.bad;
    g.fillRect(x - 0.75, y, 1.5, kCpuHeight - 2);
    g.beginPath();
    g.moveTo(x - 5, y);
    g.lineTo(x + 5, y);
    g.lineTo(x, y + 7);
    g.fill();
  }
  paintEvents(g, lane, y) {
    const { recording } = this;
    const matches = this.app.matches;
    const scale = 1 / this.ratio,
      middle = y + kEventHeight / 2;
    this.painter.density(this.lanes.span(lane), matches && matches.events, (x, count, row, lit) => {
      g.fillStyle = lit
        ? theme.css[recording.kindColors[recording.kind[row]]]
        : theme.dark
          ? "#39434f"
          : "#d3d9df";
      const h = count === 1 ? 11 : Math.min(kEventHeight - 3, 11 + Math.log2(count));
      g.fillRect(kLabelWidth + x * scale, middle - h / 2, count === 1 ? 2 : Math.max(scale, 1), h);
    });
    const t = this.lanes.of[lane];
    const shown =
      this.selected >= 0 &&
      !recording.callRow(this.selected) &&
      recording.thread[this.selected] === t;
    this.paintSelectedTick(g, y, kEventHeight, shown);
  }
  paintSelectedTick(g, y, height, shown) {
    if (!shown || this.selected < 0) return;
    const x = this.xOf(this.recording.time[this.selected]);
    g.fillStyle = theme.text;
    g.fillRect(x - 1, y, 2, height);
    g.beginPath();
    g.arc(x, y + 3, 3.5, 0, 7);
    g.fill();
  }
  paintHeadLine(g, y) {
    g.fillStyle = theme.panel;
    g.fillRect(kLabelWidth, y, this.plotWidth, kHeadHeight - 2);
  }
  paintLabel(g, lane, y) {
    const { lanes, recording } = this;
    const what = lanes.what[lane],
      index = lanes.of[lane],
      height = lanes.heightOf(lane);
    const isHead = what === "cpus" || what === "thread";
    g.fillStyle = isHead ? theme.panel : theme.bg;
    g.fillRect(0, y, kLabelWidth - 1, isHead ? height - 2 : height);
    g.textBaseline = "middle";
    const middle = y + (isHead ? height / 2 - 1 : height / 2) + 0.5;
    if (isHead) {
      const key = what === "cpus" ? "cpus" : index;
      this.paintTwist(g, 14, middle, !lanes.folded.has(key));
      const note =
        what === "cpus"
          ? `${recording.header.cpus.length}`
          : shortCount(this.app.rowsOfThread(index));
      g.font = `11px ${theme.sans}`;
      const noteWidth = g.measureText(note).width;
      g.fillStyle = theme.faint;
      g.fillText(note, kLabelWidth - 12 - noteWidth, middle);
      g.font = `600 12px ${theme.sans}`;
      g.fillStyle = theme.text;
      const name = what === "cpus" ? "CPUs" : recording.threadText(index);
      if (what === "thread") {
        g.fillStyle = theme.css[this.threadColor(index)];
        g.fillRect(26, middle - 5, 4, 10);
        g.fillStyle = theme.text;
      }
      return this.fitText(
        g,
        name,
        what === "thread" ? 36 : 26,
        middle,
        kLabelWidth - 56 - noteWidth,
      );
    }
    g.font = `11px ${theme.sans}`;
    g.fillStyle = theme.dim;
    if (what === "cpu") g.fillText(`CPU ${recording.header.cpus[index].cpu}`, 26, middle);
    if (what === "events") g.fillText("events", 36, middle);
    if (what === "calls" && lanes.level[lane] === 0) g.fillText("calls", 36, middle);
  }
  fitText(g, text, x, y, room) {
    const width = g.measureText(text).width;
    if (width <= room) return g.fillText(text, x, y);
    const letters = Math.max(1, Math.floor((text.length * (room - 10)) / width));
    g.fillText(`${text.slice(0, letters)}…`, x, y);
  }
  paintTwist(g, x, y, open) {
    g.fillStyle = theme.dim;
    g.beginPath();
    if (open) (g.moveTo(x - 4, y - 2), g.lineTo(x + 4, y - 2), g.lineTo(x, y + 3));
    else (g.moveTo(x - 2, y - 4), g.lineTo(x + 3, y), g.lineTo(x - 2, y + 4));
    g.fill();
  }
  paintRange(g) {
    if (!this.range) return;
    const x0 = Math.max(kLabelWidth, this.xOf(this.range.from));
    const x1 = Math.min(this.width, this.xOf(this.range.until));
    if (x1 <= kLabelWidth || x0 >= this.width) return;
    g.fillStyle = theme.accent;
    g.globalAlpha = 0.1;
    g.fillRect(x0, kAxisHeight, x1 - x0, this.viewHeight);
    g.globalAlpha = 0.8;
    g.fillRect(x0, kAxisHeight, 1, this.viewHeight);
    g.fillRect(x1 - 1, kAxisHeight, 1, this.viewHeight);
    g.globalAlpha = 1;
  }

  // The whole recording, with what is in view. The picture is kept; only the frame moves.
  paintMap() {
    const g = this.map.getContext("2d");
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (!this.mapImage || this.mapMatches !== this.app.matches) this.makeMap();
    g.fillStyle = theme.bg;
    g.fillRect(0, 0, this.width, 44);
    g.drawImage(this.mapImage, 0, 0, this.width, 44);
    const x0 = kLabelWidth + (this.view.from / this.length) * this.plotWidth;
    const x1 = kLabelWidth + (this.view.until / this.length) * this.plotWidth;
    g.fillStyle = theme.dark ? "rgba(0,0,0,.5)" : "rgba(110,122,135,.22)";
    g.fillRect(kLabelWidth, 0, x0 - kLabelWidth, 44);
    g.fillRect(x1, 0, this.width - x1, 44);
    g.fillStyle = theme.accent;
    g.fillRect(x0 - 1, 0, 2, 44);
    g.fillRect(Math.max(x1 - 1, x0 + 1), 0, 2, 44);
    g.fillStyle = theme.dim;
    g.font = `11px ${theme.sans}`;
    g.textBaseline = "middle";
    g.fillText("all", 14, 15);
    g.fillStyle = theme.text;
    g.font = `600 12px ${theme.sans}`;
    g.fillText(shortTime(this.length), 14, 30);
  }
  makeMap() {
    const canvas = (this.mapImage = document.createElement("canvas"));
    this.mapMatches = this.app.matches;
    canvas.width = Math.round(this.width * this.ratio);
    canvas.height = Math.round(44 * this.ratio);
    const g = canvas.getContext("2d");
    g.scale(this.ratio, this.ratio);
    const { recording } = this;
    const steps = Math.max(1, Math.floor(this.plotWidth / 2));
    const all = new Uint32Array(steps),
      found = new Uint32Array(steps);
    const bits = this.app.matches && this.app.matches.bits;
    for (let row = 0; row < recording.n; row++) {
      const step = Math.min(steps - 1, Math.floor((recording.time[row] / this.length) * steps));
      all[step]++;
      if (bits && bits[row]) found[step]++;
    }
    let most = 1;
    for (const count of all) most = Math.max(most, count);
    const height = (count) => (count === 0 ? 0 : Math.max(2, 34 * Math.sqrt(count / most)));
    for (let step = 0; step < steps; step++) {
      const x = kLabelWidth + (step * this.plotWidth) / steps;
      g.fillStyle = bits ? theme.line_strong : theme.css[0];
      g.fillRect(x, 42 - height(all[step]), 2, height(all[step]));
      if (!found[step]) continue;
      g.fillStyle = theme.accent;
      g.fillRect(x, 42 - height(found[step]), 2, height(found[step]));
    }
    for (const time of this.app.losses.time) {
      g.fillStyle = theme.bad;
      g.fillRect(kLabelWidth + (time / this.length) * this.plotWidth - 1, 0, 2, 6);
    }
  }
  repaint() {
    this.mapImage = null;
    this.draw();
  }
}
