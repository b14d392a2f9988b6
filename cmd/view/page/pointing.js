// SPDX-License-Identifier: MIT
// The timeline's answers to pointer and keys.

Object.assign(Timeline.prototype, {
  listen() {
    const sheet = this.canvas;
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    sheet.addEventListener("pointerdown", (event) => this.down(event));
    sheet.addEventListener("pointermove", (event) => this.move(event));
    sheet.addEventListener("pointerup", (event) => this.up(event));
    sheet.addEventListener("pointerleave", () => {
      this.pointer = null;
      tip.hide();
    });
    sheet.addEventListener("dblclick", (event) => {
      const hit = this.hit(event.offsetX, event.offsetY);
      if (hit && hit.row >= 0) this.reveal(hit.row, true);
    });
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.scroller.addEventListener("keydown", (event) => this.keyDown(event));
    window.addEventListener("keyup", (event) => this.keyUp(event));
    window.addEventListener("blur", () => this.keys.clear());
    const jump = (event) => {
      if (event.buttons !== 1) return;
      const middle = ((event.offsetX - kLabelWidth) / this.plotWidth) * this.length;
      const half = (this.view.until - this.view.from) / 2;
      this.show(middle - half, middle + half);
    };
    this.map.addEventListener("pointerdown", (event) => {
      this.map.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.map.addEventListener("pointermove", jump);
  },

  // Control (or a pinch) zooms, Shift or a sideways wheel pans, plain wheels scroll the lanes.
  wheel(event) {
    const unit = event.deltaMode === 1 ? 20 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY * unit * 0.0022), this.pointerX());
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan(((event.deltaX || event.deltaY) * unit) / this.plotWidth);
    }
  },

  // What stands at a point: {lane, row}; row is -1 where there is nothing.
  hit(x, y) {
    const { lanes, recording } = this;
    if (y < kAxisHeight) return null;
    const lane = lanes.at(y - kAxisHeight + this.scroller.scrollTop);
    if (lane < 0) return null;
    if (x < kLabelWidth || lanes.what[lane] === "cpus" || lanes.what[lane] === "thread")
      return { lane, row: -1 };
    const span = lanes.span(lane);
    const perPixel = (this.view.until - this.view.from) / this.plotWidth;
    const time = this.timeAt(x),
      reach = 3 * perPixel;
    if (lanes.what[lane] === "calls") return { lane, row: this.callAt(span, time, perPixel) };
    let best = -1,
      distance = reach;
    for (
      let i = lowerBound(span.of.start, time - reach, span.low, span.high);
      i < span.high && span.of.start[i] <= time + reach;
      i++
    ) {
      const d = Math.abs(span.of.start[i] - time);
      if (d <= distance) ((distance = d), (best = i));
    }
    return {
      lane,
      row: best < 0 ? -1 : span.of.rows[best],
      cpu: lanes.what[lane] === "cpu" ? lanes.of[lane] : -1,
    };
  },
  // The call at a moment; else the longest one of this pixel or the next.
  callAt(span, time, perPixel) {
    const { start, end, rows } = span.of;
    const behind = lowerBound(start, time + 1e-9, span.low, span.high);
    if (
      behind > span.low &&
      end[behind - 1] >= time &&
      end[behind - 1] - start[behind - 1] >= perPixel
    )
      return rows[behind - 1];
    let best = -1,
      longest = -1;
    for (
      let i = Math.max(span.low, lowerBound(start, time - 2 * perPixel, span.low, span.high));
      i < span.high && start[i] <= time + 2 * perPixel;
      i++
    )
      if (end[i] - start[i] > longest) ((longest = end[i] - start[i]), (best = i));
    return best < 0 ? -1 : rows[best];
  },

  down(event) {
    if (event.button > 1) return;
    this.scroller.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    const pans = event.button === 1 || event.shiftKey;
    if (event.button === 1) event.preventDefault();
    this.drag = {
      x: event.offsetX,
      y: event.offsetY,
      pans,
      from: this.view.from,
      scroll: this.scroller.scrollTop,
      moved: false,
    };
    tip.hide();
  },
  move(event) {
    const x = event.offsetX,
      y = event.offsetY;
    this.pointer = { x, y };
    const { drag } = this;
    if (!drag) return this.point(event, x, y);
    if (!drag.moved && Math.abs(x - drag.x) + Math.abs(y - drag.y) < 5) return;
    drag.moved = true;
    if (drag.pans) {
      const span = this.view.until - this.view.from;
      const from = drag.from - ((x - drag.x) / this.plotWidth) * span;
      this.scroller.scrollTop = drag.scroll - (y - drag.y);
      return this.show(from, from + span);
    }
    const ends = [
      this.timeAt(Math.max(kLabelWidth, drag.x)),
      this.timeAt(Math.max(kLabelWidth, x)),
    ];
    this.range = {
      from: Math.max(0, Math.min(...ends)),
      until: Math.min(this.length, Math.max(...ends)),
    };
    this.draw();
  },
  up(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag) return;
    if (drag.moved) {
      if (!drag.pans) this.app.setRange(this.range);
      return;
    }
    const hit = this.hit(event.offsetX, event.offsetY);
    if (!hit) return;
    const what = this.lanes.what[hit.lane];
    if (what === "cpus" || what === "thread") {
      this.lanes.toggle(what === "cpus" ? "cpus" : this.lanes.of[hit.lane]);
      this.layout();
      return this.draw();
    }
    if (this.range) this.app.setRange(null);
    this.app.select(hit.row, "timeline");
  },
  point(event, x, y) {
    const hit = this.hit(x, y);
    this.canvas.style.cursor = hit && (hit.row >= 0 || x < kLabelWidth) ? "pointer" : "default";
    if (hit && hit.cpu >= 0 && this.lossTip(event, hit.cpu, x)) return;
    if (!hit || hit.row < 0) return tip.hide();
    this.app.tipOfRow(event, hit.row);
  },
  lossTip(event, cpu, x) {
    const { time, count } = this.app.lossesOf(cpu);
    for (let i = 0; i < time.length; i++) {
      if (Math.abs(this.xOf(time[i]) - x) > 5) continue;
      tip.show(event, "Lost records", [
        ["count", count[i] > 0 ? countText(count[i]) : "not known"],
        ["CPU", String(this.recording.header.cpus[cpu].cpu)],
        ["before", momentText(time[i], this.view.until - this.view.from)],
      ]);
      return true;
    }
    return false;
  },

  // --- keys, as in Perfetto
  keyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if ("wasd".includes(key) && key.length === 1) {
      this.keys.add(key);
      if (event.shiftKey) this.keys.add("shift");
      else this.keys.delete("shift");
      event.preventDefault();
      return this.draw();
    }
    const actions = {
      arrowleft: () => this.neighbour(-1),
      arrowright: () => this.neighbour(1),
      arrowup: () => this.around(),
      arrowdown: () => this.inside(),
      f: () => this.selected >= 0 && this.reveal(this.selected, true),
      home: () => this.show(0, this.length),
      0: () => this.show(0, this.length),
      "+": () => this.zoom(0.6),
      "=": () => this.zoom(0.6),
      "-": () => this.zoom(1 / 0.6),
      m: () => this.rangeOfSelected(),
    };
    if (!actions[key]) return;
    event.preventDefault();
    actions[key]();
  },
  keyUp(event) {
    this.keys.delete(event.key.toLowerCase());
    if (event.key === "Shift") this.keys.delete("shift");
    if (this.keys.size === 1 && this.keys.has("shift")) this.keys.clear();
  },
  // The call or event of the same lane before or after; without a selection the view moves.
  neighbour(step) {
    if (this.selected < 0) return this.pan(step * 0.15);
    const lane = this.lanes.laneOfRow(this.selected);
    if (lane < 0) return;
    const span = this.lanes.span(lane),
      time = this.recording.time[this.selected];
    let i = lowerBound(span.of.start, time, span.low, span.high);
    while (i < span.high && span.of.rows[i] !== this.selected) i++;
    const next = i + step;
    if (next >= span.low && next < span.high) this.app.select(span.of.rows[next], "key");
  },
  around() {
    if (this.selected < 0) return this.scroller.scrollBy(0, -60);
    if (this.recording.parent[this.selected] >= 0)
      this.app.select(this.recording.parent[this.selected], "key");
  },
  // The first call that the selected one made.
  inside() {
    if (this.selected < 0) return this.scroller.scrollBy(0, 60);
    const { recording } = this;
    const t = recording.thread[this.selected];
    const track = recording.trackOfThread[t] + recording.level[this.selected] + 1;
    if (!recording.callRow(this.selected) || track >= recording.trackOfThread[t + 1]) return;
    const { first, start, rows } = recording.tracks;
    const i = lowerBound(start, recording.time[this.selected], first[track], first[track + 1]);
    if (i < first[track + 1] && recording.parent[rows[i]] === this.selected)
      this.app.select(rows[i], "key");
  },
  rangeOfSelected() {
    if (this.selected < 0 || !this.recording.callRow(this.selected)) return;
    this.app.setRange({
      from: this.recording.time[this.selected],
      until: this.recording.endOf(this.selected),
    });
  },
});
