// SPDX-License-Identifier: MIT
// What holds the views together: the worker, the search, the selection, keys and colours.

const kIsLive = document.documentElement.dataset.live === "yes";
const kViews = [
  ...(kIsLive ? [["live", "Live"]] : []),
  ["timeline", "Timeline"],
  ["calls", "Calls"],
  ["flame", "Flame graph"],
  ["spread", "Distributions"],
  ["events", "Events"],
  ["about", "Recording"],
];

class App {
  constructor() {
    this.range = null;
    this.matches = null;
    this.selected = -1;
    this.number = 0;
    this.waiting = new Map();
    this.chips = [];
  }

  // --- the worker
  startWorker() {
    const source = byId("worker").textContent;
    this.worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.number);
      this.waiting.delete(data.number);
      if (data.error) reject(new Error(data.error));
      else resolve(data.result);
    };
    this.worker.onerror = (event) => curtain("The recording cannot be opened", event.message);
  }
  ask(what, words) {
    const number = ++this.number;
    this.worker.postMessage({ ...words, what, number });
    return new Promise((resolve, reject) => this.waiting.set(number, { resolve, reject }));
  }
  // An answer whose failure is shown.
  async ask2(promise) {
    try {
      return await promise;
    } catch (error) {
      curtain("This cannot be shown", error.message);
      throw error;
    }
  }
  statistics() {
    return this.sums || (this.sums = this.ask("statistics"));
  }

  async start() {
    setTheme(storedTheme());
    this.startWorker();
    const script = byId("recording"),
      text = script.textContent;
    script.remove();
    const model = await this.ask("open", { text });
    this.recording = new Recording(model);
    this.readLosses();
    this.head();
    this.trees = new TreeSource(this);
    this.timeline = new Timeline(this);
    this.details = new Details(this);
    this.views = {
      timeline: { show: () => this.timeline.resize(), repaint: () => this.timeline.repaint() },
    };
    this.make = {
      calls: () => new CallsView(this),
      flame: () => new FlameView(this),
      spread: () => new SpreadView(this),
      events: () => new EventsView(this),
      about: () => new AboutView(this),
      live: () => new LiveView(this),
    };
    this.tabs();
    this.searchBox();
    this.keys();
    helpText();
    if (kIsLive) this.goOn();
    this.open(location.hash.slice(1) || kViews[0][0]);
    byId("curtain").remove();
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        this.openedAfter = performance.now();
        document.documentElement.dataset.ready = "yes";
      }),
    );
  }
  // A live page: the view that asks is there from the start, whatever is shown.
  goOn() {
    this.views.live = this.make.live();
    byId("again").hidden = false;
    byId("again").addEventListener("click", () => location.reload());
  }
  readLosses() {
    const { header, buffer } = this.recording;
    const { losses } = header;
    const time = readVarints(buffer, losses.time, true),
      count = [],
      cpus = [];
    const counts = readFixed(buffer, losses.count),
      on = readFixed(buffer, losses.cpu);
    for (let i = 0; i < time.length; i++) (count.push(counts.at(i)), cpus.push(on.at(i)));
    this.losses = { time, count };
    this.cpuLosses = header.cpus.map((_, c) => {
      const mine = cpus.flatMap((cpu, i) => (cpu === c ? [i] : []));
      return { time: mine.map((i) => time[i]), count: mine.map((i) => count[i]) };
    });
  }
  lossesOf(cpu) {
    return this.cpuLosses[cpu];
  }
  rowsOfThread(t) {
    if (!this.threadRows) {
      this.threadRows = new Uint32Array(this.recording.header.threads.length);
      const { thread } = this.recording;
      for (let row = 0; row < thread.length; row++) this.threadRows[thread[row]]++;
    }
    return this.threadRows[t];
  }

  // --- head and tabs
  head() {
    const { header } = this.recording;
    document.title = `${header.title} – patchbay`;
    byId("title").textContent = header.title;
    byId("facts").textContent = [
      plural(header.total, "record"),
      shortTime(header.duration),
      plural(header.threads.length, "thread"),
      plural(header.cpus.length, "CPU"),
    ].join(" · ");
    const badge = (kind, text) =>
      byId("badges").append(
        element(
          "button",
          {
            class: `badge ${kind}`,
            onclick: () => this.open("about"),
            title: "More under Recording",
          },
          text,
        ),
      );
    const lost = header.cpus.reduce((sum, cpu) => sum + cpu.lost, 0);
    if (lost > 0)
      badge(
        "bad",
        `lost ${header.cpus.some((c) => c.atLeast) ? "at least " : ""}${countText(lost)}`,
      );
    else badge("", "nothing lost");
    if (header.cut) badge("warn", "a part of the recording");
    else if (header.notices.some(([kind, text]) => kind === "bad" && !text.startsWith("Lost")))
      badge("bad", "damaged");
  }
  tabs() {
    kViews.forEach(([name, title], i) =>
      byId("tabs").append(
        element(
          "button",
          {
            id: `tab-${name}`,
            role: "tab",
            type: "button",
            "aria-controls": `view-${name}`,
            onclick: () => this.open(name),
          },
          title,
          element("kbd", {}, String(i + 1)),
        ),
      ),
    );
  }
  open(name) {
    if (!kViews.some(([each]) => each === name)) name = kViews[0][0];
    tip.hide();
    this.view = name;
    for (const [each] of kViews) {
      byId(`view-${each}`).hidden = each !== name;
      byId(`tab-${each}`).setAttribute("aria-selected", each === name);
      byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    }
    if (!this.views[name]) this.views[name] = this.make[name]();
    this.views[name].show();
    if (location.hash.slice(1) !== name) history.replaceState(null, "", `#${name}`);
    if (name === "timeline") byId("tracks").focus({ preventScroll: true });
  }
  repaint() {
    theme.read();
    for (const view of Object.values(this.views || {})) view.repaint();
    if (this.selected >= 0 && this.details) this.details.row(this.selected);
  }

  // --- selection
  select(row, from) {
    this.selected = row;
    this.timeline.select(row);
    if (row < 0) return this.range ? this.details.range(this.range) : this.details.nothing();
    this.details.row(row);
    if (from !== "timeline" && from !== "table") this.timeline.reveal(row, false);
  }
  goTo(row, fit) {
    this.open("timeline");
    this.select(row, "table");
    this.timeline.reveal(row, fit ?? true);
  }
  setRange(range) {
    this.range = range;
    this.timeline.range = range;
    this.timeline.draw();
    for (const chip of this.chips) chip();
    this.trees.changed();
    if (this.views.events) this.views.events.apply();
    if (range) this.details.range(range);
    else if (this.selected >= 0) this.details.row(this.selected);
    else this.details.nothing();
  }
  // Says which time is meant, where there is a choice; without one it is not there.
  rangeChip() {
    const place = element("span", {});
    const fill = () =>
      place.replaceChildren(
        ...(this.range
          ? [
              element(
                "span",
                { class: "chip" },
                `${timeText(this.range.until - this.range.from)} from ${momentText(
                  this.range.from,
                  this.range.until - this.range.from,
                )}`,
                element(
                  "button",
                  {
                    "aria-label": "The whole time",
                    title: "The whole time",
                    onclick: () => this.setRange(null),
                  },
                  "×",
                ),
              ),
            ]
          : []),
      );
    this.chips.push(fill);
    fill();
    return place;
  }
  showKind(k) {
    this.open("spread");
    if (this.views.spread.statistics) return this.views.spread.choose(k);
    this.views.spread.kind = k;
    this.views.spread.show().then(() => this.views.spread.choose(k));
  }
  async showSpread(name) {
    this.open("spread");
    await this.views.spread.show();
    this.views.spread.chooseName(name);
  }
  filterEvents(text) {
    this.open("events");
    this.views.events.setFilter(text);
  }
  tipOfRow(event, row) {
    const { recording } = this,
      lines = [];
    if (recording.callRow(row))
      lines.push(
        ["duration", timeText(recording.duration[row])],
        ["self", timeText(recording.self[row])],
      );
    lines.push(
      ["thread", recording.threadText(recording.thread[row])],
      [
        "start",
        momentText(recording.time[row], this.timeline.view.until - this.timeline.view.from),
      ],
    );
    const fields = recording.kindOf(row).fields;
    for (let i = 0; i < Math.min(fields.length, 8); i++) {
      const value = recording.valueText(row, i);
      if (value !== null) lines.push([recording.fieldName(fields[i]), value.slice(0, 120)]);
    }
    tip.show(
      event,
      recording.nameOf(row),
      lines,
      recording.how[row] !== 0 ? kEnds[recording.how[row]] : null,
    );
  }

  // --- search
  searchBox() {
    const input = byId("find");
    input.addEventListener("input", () => {
      clearTimeout(this.searching);
      this.searching = setTimeout(() => this.search(input.value), 150);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape") {
        input.value = "";
        this.search("");
        input.blur();
      } else return;
      event.preventDefault();
    });
    byId("find-next").addEventListener("click", () => this.nextMatch(1));
    byId("find-before").addEventListener("click", () => this.nextMatch(-1));
  }
  search(text) {
    this.searchText = text;
    const { recording } = this;
    let test = null;
    try {
      test = compileQuery(recording, text);
    } catch (error) {
      byId("found").textContent = "?";
      byId("found").title = error.message;
      return;
    }
    this.matches = test ? findRows(recording, test) : null;
    this.at = -1;
    if (this.matches) {
      const { bits } = this.matches;
      this.matches.tracks = matchSums(recording.tracks.rows, bits);
      this.matches.events = matchSums(recording.events.rows, bits);
      this.matches.cpus = matchSums(recording.cpus.rows, bits);
      const names = new Set();
      for (const row of this.matches.rows) names.add(recording.kindOf(row).name);
      this.matches.names = names;
      this.addFrames(names, text.toLowerCase());
    }
    byId("found").title = "";
    byId("found").textContent = this.matches ? countText(this.matches.rows.length) : "";
    for (const view of Object.values(this.views)) view.repaint();
  }
  // Names in stacks are no rows.
  addFrames(names, low) {
    const { recording } = this;
    if (recording.calls > 0 || !recording.frame) return;
    for (let i = 0; i < recording.frame.length; i++)
      if (recording.text(recording.frame.at(i)).toLowerCase().includes(low))
        names.add(recording.frame.at(i));
  }
  nameMatches(name) {
    return !this.matches || this.matches.names.has(name);
  }
  nextMatch(step) {
    if (byId("find").value !== (this.searchText || "")) this.search(byId("find").value);
    if (!this.matches || this.matches.rows.length === 0) return;
    const { rows } = this.matches;
    if (this.at < 0) {
      const from =
        this.selected >= 0 ? this.recording.time[this.selected] : this.timeline.view.from;
      const times = mapped(Float64Array, rows, (row) => this.recording.time[row]);
      this.at = lowerBound(times, from, 0, rows.length) - (step > 0 ? 1 : 0);
    }
    this.at = (this.at + step + rows.length) % rows.length;
    byId("found").textContent = `${countText(this.at + 1)} of ${countText(rows.length)}`;
    if (this.view !== "timeline") this.open("timeline");
    this.select(rows[this.at], "search");
    byId("find").focus({ preventScroll: true });
  }

  // --- keys of the whole page
  keys() {
    window.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (
        ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f") ||
        (event.key === "/" && !typing)
      ) {
        event.preventDefault();
        byId("find").focus();
        byId("find").select();
        return;
      }
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") return byId("help").showModal();
      if (event.key === "Escape" && !byId("help").open) this.escape();
      if (kIsLive && event.key.toLowerCase() === "r") return location.reload();
      if (event.key >= "1" && event.key <= String(kViews.length)) this.open(kViews[Number(event.key) - 1][0]);
    });
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const at = kViews.findIndex(([name]) => name === this.view);
      const next = kViews[(at + step + kViews.length) % kViews.length][0];
      this.open(next);
      byId(`tab-${next}`).focus();
    });
    byId("help-open").addEventListener("click", () => byId("help").showModal());
    byId("theme").addEventListener("click", nextTheme);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
      setTheme(storedTheme()),
    );
    window.addEventListener("beforeprint", () => {
      this.printing = true;
      setTheme(storedTheme());
    });
    window.addEventListener("afterprint", () => {
      this.printing = false;
      setTheme(storedTheme());
    });
  }
  escape() {
    if (this.matches) {
      byId("find").value = "";
      this.search("");
    } else if (this.range) this.setRange(null);
    else this.select(-1, "key");
  }
}

// --- light, dark, or as the system has it
function storedTheme() {
  try {
    return localStorage.getItem("patchbay-theme") || "auto";
  } catch (error) {
    return "auto"; // a page in a sandbox has no storage
  }
}
function setTheme(choice) {
  const dark =
    choice === "dark" || (choice === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.toggle("dark", dark && !app.printing);
  const names = { auto: "as the system has them", light: "light", dark: "dark" };
  byId("theme").title = `Colours: ${names[choice]}`;
  byId("theme").textContent = { auto: "◐", light: "☀", dark: "☾" }[choice];
  theme.read();
  if (app.views) app.repaint();
}
function nextTheme() {
  const order = ["auto", "dark", "light"];
  const next = order[(order.indexOf(storedTheme()) + 1) % 3];
  try {
    localStorage.setItem("patchbay-theme", next);
  } catch (error) {
    document.documentElement.classList.toggle("dark");
    return app.repaint();
  }
  setTheme(next);
}

function helpText() {
  const keys = (title, list) =>
    element(
      "section",
      {},
      element("h3", { class: "small-head" }, title),
      element(
        "dl",
        {},
        list.flatMap(([key, text]) => [
          element(
            "dt",
            {},
            key.split(" ").map((each) => element("kbd", {}, each)),
          ),
          element("dd", {}, text),
        ]),
      ),
    );
  byId("help").append(
    element(
      "button",
      { class: "icon close", "aria-label": "Close", onclick: () => byId("help").close() },
      "✕",
    ),
    element("h2", { id: "help-title" }, "Keys and what can be typed"),
    element(
      "div",
      { class: "sides" },
      keys("Timeline", [
        ["W S", "zoom in and out, at the pointer"],
        ["A D", "go left and right; Shift is faster"],
        ["← →", "the call before and after"],
        ["↑ ↓", "its caller, and the first call it made"],
        ["F", "zoom to what is chosen"],
        ["M", "measure what is chosen"],
        ["0", "show all"],
        ["Ctrl+wheel", "zoom"],
        ["Shift+drag", "pan"],
        ["drag", "measure a time"],
      ]),
      keys("Everywhere", [
        [`1 … ${kViews.length}`, "the views"],
        ...(kIsLive ? [["R", "take the newest events"]] : []),
        ["/", "search"],
        ["Enter", "next match; Shift+Enter the one before"],
        ["Esc", "forget the search, the time, the choice"],
        ["?", "this help"],
      ]),
      keys("Search and filter", [
        ["parse", "a name, a text argument or a thread has it"],
        ["/^sqlite3_/", "a regular expression on names"],
        ["dur>1ms", "also dur<, self>, time>2s"],
        ["thread:worker", "also cpu:1, name:step, instance:one, is:call, is:event"],
        ["count>=4096", "an argument: = != > < >= <= and ~ for “contains”"],
        ["-word", "not this"],
      ]),
      keys("Flame graph and calls", [
        ["click", "zoom into a box, open a line"],
        ["↑ ↓ ← →", "parent, child, neighbours"],
        ["*", "open all below a line"],
        ["Enter", "the distribution of a line"],
      ]),
    ),
  );
}

function curtain(title, text) {
  let box = byId("curtain");
  if (!box) {
    box = element(
      "div",
      { id: "curtain" },
      element(
        "div",
        { class: "card" },
        element("h2", { id: "curtain-title" }),
        element("p", { id: "curtain-text" }),
      ),
    );
    document.body.append(box);
  }
  byId("curtain-title").textContent = title;
  byId("curtain-text").textContent = text;
  byId("curtain-bar")?.remove();
}

const app = new App();
app.start().catch((error) => {
  curtain("The recording cannot be opened", error.message);
  document.documentElement.dataset.ready = "failed";
});
