// SPDX-License-Identifier: MIT
// A running process: its functions by calls and time, its histograms and buffers, once a second.
// There is one in a page that `patchbay view -p` serves, and in no other.

const kLiveEvery = 1000, // ms
  kLiveKept = 60, // looks, for the lines of calls
  kLiveBars = 40; // entries of a histogram that are drawn

class LiveView {
  constructor(app) {
    this.app = app;
    this.root = byId("view-live");
    this.by = "time_ns";
    this.word = "";
    this.history = new Map(); // function -> calls a second, the newest last
    this.rates = [];
    this.head = element("div", { class: "live-head" });
    this.functions = element("section", { class: "live-part" });
    this.histograms = element("section", { class: "live-part" });
    this.buffers = element("section", { class: "live-part" });
    this.find = element("input", {
      class: "text",
      type: "search",
      placeholder: "Functions",
      "aria-label": "Functions",
      oninput: () => {
        this.word = this.find.value.toLowerCase();
        this.draw();
      },
    });
    this.pause = element(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => this.setPaused(!this.paused) },
      "Pause",
    );
    this.root.append(
      element(
        "div",
        { class: "live", tabindex: 0 },
        element("div", { class: "tools" }, this.head, this.find, this.pause),
        this.functions,
        this.histograms,
        this.buffers,
      ),
    );
    this.looks = 0;
    this.look();
  }
  show() {
    this.draw();
  }
  repaint() {
    this.draw();
  }
  setPaused(paused) {
    this.paused = paused;
    this.pause.setAttribute("aria-pressed", paused);
    this.pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) this.look();
  }
  async look() {
    clearTimeout(this.later);
    if (this.paused || this.asking) return;
    this.asking = true;
    try {
      const answer = await fetch("live", { cache: "no-store" });
      if (!answer.ok) throw new Error(`the server says ${answer.status}`);
      this.take(await answer.json());
      this.problem = null;
    } catch (error) {
      this.problem = `No answer: patchbay view has ended, or this page may not reach it (${error.message})`;
    }
    this.asking = false;
    this.draw();
    if (!this.state || !this.state.ended) this.later = setTimeout(() => this.look(), kLiveEvery);
  }
  take(state) {
    this.state = state;
    this.looks++;
    document.documentElement.dataset.looks = this.looks;
    if (!state.top || state.ended) return;
    const seconds = state.top.recent_seconds;
    if (!(seconds > 0)) return;
    const keep = (list, value) => {
      list.push(value);
      if (list.length > kLiveKept) list.shift();
    };
    keep(this.rates, state.top.recent_calls / seconds);
    const seen = new Set();
    for (const each of state.top.functions) {
      const key = keyOf(each);
      seen.add(key);
      if (!this.history.has(key)) this.history.set(key, []);
      keep(this.history.get(key), each.recent_calls / seconds);
    }
    for (const name of this.history.keys()) if (!seen.has(name)) this.history.delete(name);
  }

  // --- drawing
  draw() {
    if (this.app.view && this.app.view !== "live") return;
    this.drawHead();
    if (!this.state) return;
    this.drawFunctions();
    this.drawHistograms();
    this.drawBuffers();
  }
  drawHead() {
    const { state } = this,
      words = [];
    if (state) {
      words.push(`process ${state.pid}`, shortTime(state.seconds * 1e9));
      if (state.top) words.push(`${shortCount(this.rates.at(-1) || 0)} calls/s`);
    }
    this.head.replaceChildren(
      element("span", { class: "mono" }, words.join(" · ")),
      ...(this.problem ? [element("span", { class: "badge bad" }, this.problem)] : []),
      ...(state && state.ended
        ? [element("span", { class: "badge warn" }, "the process has ended")]
        : []),
      ...(state && !state.answers && !state.ended
        ? [element("span", { class: "badge warn" }, "the process does not answer")]
        : []),
    );
  }
  drawFunctions() {
    const { top } = this.state;
    if (!top)
      return this.functions.replaceChildren(
        element("h2", {}, "Functions"),
        element("p", { class: "dim" }, "No function is profiled: patchbay view -p PID -l 'db_*'."),
      );
    const rows = top.functions.filter((each) => each.function.toLowerCase().includes(this.word));
    const order = {
      function: (a, b) => (a.function < b.function ? -1 : 1),
      rate: (a, b) => b.recent_calls - a.recent_calls,
      calls: (a, b) => b.calls - a.calls,
      average_ns: (a, b) => b.time_ns / b.calls - a.time_ns / a.calls,
      time_ns: (a, b) => b.time_ns - a.time_ns,
    };
    rows.sort(order[this.by]);
    const most = rows.reduce((sum, each) => Math.max(sum, each.time_ns), 1);
    this.functions.replaceChildren(
      element("h2", {}, `Functions: ${countText(top.nr_functions)}, ${countText(top.calls)} calls`),
      element(
        "table",
        { class: "plain live-table" },
        element(
          "tr",
          {},
          this.headOf("function", "Function", false),
          this.headOf("rate", "Calls/s", true),
          element("th", {}, "last minute"),
          this.headOf("calls", "Calls", true),
          this.headOf("time_ns", "Time", true),
          this.headOf("average_ns", "Average", true),
        ),
        rows.slice(0, 200).map((each) => this.functionRow(each, most, top.recent_seconds)),
      ),
      ...(rows.length > 200
        ? [element("p", { class: "dim" }, `${countText(rows.length - 200)} more`)]
        : []),
    );
  }
  headOf(key, title, isNumber) {
    const sort = () => {
      this.by = key;
      this.draw();
    };
    return element(
      "th",
      {
        class: isNumber ? "num" : "",
        "aria-sort": this.by === key ? (key === "function" ? "ascending" : "descending") : "none",
      },
      element(
        "button",
        { type: "button", class: "plain", onclick: sort },
        title + (this.by === key ? " ▾" : ""),
      ),
    );
  }
  functionRow(each, most, seconds) {
    return element(
      "tr",
      {},
      element("td", { class: "mono", title: keyOf(each) }, each.function),
      element("td", { class: "num" }, seconds > 0 ? shortCount(each.recent_calls / seconds) : ""),
      element("td", {}, sparkline(this.history.get(keyOf(each)) || [])),
      element("td", { class: "num" }, countText(each.calls)),
      element(
        "td",
        { class: "num" },
        element("i", { class: "live-bar", style: { width: `${(60 * each.time_ns) / most}px` } }),
        timeText(each.time_ns),
      ),
      element("td", { class: "num" }, each.calls > 0 ? timeText(each.time_ns / each.calls) : ""),
    );
  }
  drawHistograms() {
    const { histograms } = this.state;
    this.histograms.replaceChildren(
      element("h2", {}, `Histograms: ${histograms.length}`),
      ...(histograms.length === 0
        ? [
            element(
              "p",
              { class: "dim" },
              "The process has none: patchbay view -p PID --hist 'malloc(u64 size) keys=size.log2'.",
            ),
          ]
        : histograms.map((each) => this.histogram(each))),
    );
  }
  histogram({ event, instance, hist }) {
    const value = (entry) => entry.values.hitcount ?? Object.values(entry.values)[0] ?? 0;
    const entries = [...hist.entries];
    // Ranges in their order; others stand as the table does, the largest at its end.
    const start = (entry) => Object.values(entry.keys)[0]?.from;
    if (entries.every((entry) => start(entry) !== undefined))
      entries.sort((a, b) => start(a) - start(b));
    const shown = entries.slice(-kLiveBars);
    const most = shown.reduce((sum, entry) => Math.max(sum, Number(value(entry))), 1);
    const text = (one) => {
      if (one === null || typeof one !== "object") return String(one);
      return one.from === undefined ? JSON.stringify(one) : `${one.from} – ${one.to}`;
    };
    return element(
      "div",
      { class: "live-hist", "data-event": event },
      element("h3", { class: "mono" }, event),
      element(
        "p",
        { class: "dim mono" },
        `${instance ? `${instance}: ` : ""}${hist.definition} · ${plural(hist.hits, "hit")}` +
          (hist.dropped > 0 ? ` · ${countText(hist.dropped)} found no room` : ""),
      ),
      hist.nr_entries > shown.length
        ? element("p", { class: "dim" }, `the last ${shown.length} of ${countText(hist.nr_entries)}`)
        : null,
      element(
        "table",
        { class: "plain live-table" },
        shown.map((entry) =>
          element(
            "tr",
            {},
            element("td", { class: "mono" }, Object.values(entry.keys).map(text).join(", ")),
            element(
              "td",
              {},
              element("i", {
                class: "live-bar",
                style: { width: `${(240 * Number(value(entry))) / most}px` },
              }),
            ),
            ...Object.entries(entry.values).map(([name, one]) =>
              element("td", { class: "num", title: name }, `${name} ${text(one)}`),
            ),
          ),
        ),
      ),
    );
  }
  drawBuffers() {
    this.buffers.replaceChildren(
      element("h2", {}, "Buffers"),
      table(
        ["Instance", "Events in it", "Overwritten", "Dropped"],
        this.state.buffers.map((each) => [
          each.instance || "top",
          countText(each.entries),
          countText(each.overwritten),
          countText(each.dropped),
        ]),
      ),
      element("p", { class: "dim" }, "R takes the newest events into the other views."),
    );
  }
}

// Two functions may have one name.
function keyOf(each) {
  return `${each.function} [${each.place}]`;
}

// Calls a second of the last minute, as tall as its largest one.
function sparkline(values) {
  const width = 90,
    height = 16,
    most = Math.max(1e-9, ...values);
  const points = values.map(
    (value, i) =>
      `${(width - (values.length - 1 - i) * (width / kLiveKept)).toFixed(1)},` +
      `${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`,
  );
  return svg(
    "svg",
    { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("polyline", { points: points.join(" ") }),
  );
}
