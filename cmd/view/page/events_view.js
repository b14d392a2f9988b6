// SPDX-License-Identifier: MIT
// The table of all rows: calls and events, with filter and sort.

class EventsView {
  constructor(app) {
    this.app = app;
    this.root = byId("view-events");
    const { recording } = app;
    this.input = element("input", {
      class: "text mono",
      type: "search",
      spellcheck: false,
      placeholder: "Filter: name:step dur>1ms thread:worker count>=4096 -pread",
      "aria-label": "Filter",
      style: { flex: "1", minWidth: "220px", height: "32px" },
      oninput: () => this.later(),
    });
    this.count = element("span", { class: "dim", role: "status" });
    this.root.append(
      element(
        "div",
        { class: "tools" },
        this.input,
        this.count,
        app.rangeChip(),
        element("button", { class: "plain", onclick: () => this.copy() }, "Copy as text"),
      ),
    );
    this.grid = new Grid(
      [
        {
          title: "Time",
          width: "132px",
          num: true,
          sort: "time",
          cell: (i) =>
            element("span", { class: "mono" }, (recording.time[this.rows[i]] / 1e9).toFixed(9)),
        },
        {
          title: "CPU",
          width: "58px",
          num: true,
          sort: "cpu",
          cell: (i) => String(recording.header.cpus[recording.cpu[this.rows[i]]].cpu),
        },
        {
          title: "Thread",
          width: "150px",
          sort: "thread",
          cell: (i) => recording.threadText(recording.thread[this.rows[i]]),
        },
        ...this.instanceColumn(),
        {
          title: "Duration",
          width: "116px",
          num: true,
          sort: "duration",
          cell: (i) =>
            recording.callRow(this.rows[i]) ? timeText(recording.duration[this.rows[i]]) : "",
        },
        {
          title: "Name",
          width: "minmax(150px, 300px)",
          sort: "name",
          cell: (i) => this.nameCell(i),
        },
        { title: "Arguments", width: "minmax(200px, 1fr)", cell: (i) => this.argumentsCell(i) },
      ],
      {
        label: "Calls and events",
        sort: () => this.sortRows(),
        pick: (i) => this.pick(i),
        open: (i) => app.goTo(this.rows[i]),
        act: (key, i) => (key === "Enter" ? (app.goTo(this.rows[i]), true) : false),
      },
    );
    this.grid.sortBy = "time";
    this.grid.makeHeads();
    this.stage = element("div", { style: { display: "grid", minHeight: 0 } }, this.grid.root);
    this.root.append(this.stage);
  }
  // Only where there are several.
  instanceColumn() {
    const { recording } = this.app;
    if (!recording.instance) return [];
    return [
      {
        title: "Instance",
        width: "110px",
        sort: "instance",
        cell: (i) => recording.instanceText(this.rows[i]),
      },
    ];
  }
  show() {
    if (!this.rows) this.apply();
    const at = this.app.selected >= 0 ? this.rows.indexOf(this.app.selected) : -1;
    this.grid.select(at, true);
  }
  nameCell(i) {
    const { recording } = this.app,
      row = this.rows[i];
    return [
      element("span", {
        class: "swatch",
        style: {
          display: "inline-block",
          marginRight: "7px",
          borderRadius: recording.callRow(row) ? "3px" : "50%",
          background: theme.css[recording.kindColors[recording.kind[row]]],
        },
      }),
      element("span", { class: "mono", title: recording.nameOf(row) }, recording.nameOf(row)),
    ];
  }
  argumentsCell(i) {
    const text = this.app.recording.argumentsText(this.rows[i]).slice(0, 600);
    return element("span", { class: "mono", title: text }, text);
  }
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.apply(), 120);
  }
  setFilter(text) {
    this.input.value = text;
    this.apply();
  }
  apply() {
    const { recording } = this.app;
    let test;
    try {
      test = compileQuery(recording, this.input.value);
    } catch (error) {
      this.input.classList.add("wrong");
      this.count.textContent = error.message;
      return;
    }
    this.input.classList.remove("wrong");
    const range = this.app.range;
    const within = range
      ? (row) => recording.time[row] <= range.until && recording.endOf(row) >= range.from
      : null;
    const both =
      test && within ? (row) => within(row) && test(row) : test || within || (() => true);
    this.rows = findRows(recording, both).rows;
    this.count.textContent =
      this.rows.length === recording.n
        ? plural(recording.n, "row")
        : `${countText(this.rows.length)} of ${plural(recording.n, "row")}`;
    this.sortRows();
    this.stage.replaceChildren(
      this.rows.length > 0
        ? this.grid.root
        : recording.n === 0
          ? emptyState("Nothing was recorded", "The recording has no event.")
          : emptyState(
              "Nothing fits",
              "No call and no event fits this filter.",
              element(
                "button",
                { class: "plain", onclick: () => this.setFilter("") },
                "Show all rows",
              ),
            ),
    );
  }
  sortRows() {
    const { recording } = this.app,
      by = this.grid.sortBy;
    this.rows.sort(); // rows are numbered in order of time
    if (by !== "time") this.rows = radixSorted(this.rows, sortKeys(recording, by, this.rows));
    if (this.grid.descending) this.rows.reverse();
    this.grid.selected = -1;
    this.grid.setCount(this.rows.length);
  }
  pick(i) {
    this.app.select(this.rows[i], "table");
  }
  async copy() {
    const { recording } = this.app;
    const lines = Array.from(this.rows.subarray(0, 100000), (row) =>
      [
        (recording.time[row] / 1e9).toFixed(9),
        recording.header.cpus[recording.cpu[row]].cpu,
        recording.threadText(recording.thread[row]),
        ...(recording.instance ? [recording.instanceText(row)] : []),
        recording.callRow(row) ? recording.duration[row] : "",
        recording.nameOf(row),
        recording.argumentsText(row),
      ].join("\t"),
    );
    try {
      await navigator.clipboard.writeText(`${lines.join("\n")}\n`);
      this.count.textContent = `${plural(lines.length, "row")} copied`;
    } catch (error) {
      this.count.textContent = "The browser does not let this page copy.";
    }
  }
  repaint() {
    this.grid.draw();
  }
}

// A whole number of 53 bits for each row, to sort by.
function sortKeys(recording, by, rows) {
  if (by === "duration") return mapped(Float64Array, rows, (row) => recording.duration[row]);
  const rank = (texts) => {
    const order = texts.map((_, i) => i).sort((a, b) => (texts[a] < texts[b] ? -1 : 1));
    const ranks = new Uint32Array(texts.length);
    order.forEach((index, place) => {
      ranks[index] = place;
    });
    return ranks;
  };
  if (by === "cpu")
    return mapped(Float64Array, rows, (row) => recording.header.cpus[recording.cpu[row]].cpu);
  if (by === "instance") {
    const names = rank(recording.instanceNames);
    return mapped(Float64Array, rows, (row) => names[recording.instanceOf(row)]);
  }
  const ranks =
    by === "name"
      ? rank(recording.kindNames)
      : rank(recording.threadNames.map((_, t) => recording.threadText(t)));
  const of = by === "name" ? recording.kind : recording.thread;
  return mapped(Float64Array, rows, (row) => ranks[of[row]]);
}
// Stable, 16 bits at a time: a million rows take some 40 ms, where a comparison sort takes a second.
function radixSorted(rows, keys) {
  const low = mapped(Uint32Array, keys, (key) => key % 4294967296);
  const high = mapped(Uint32Array, keys, (key) => key / 4294967296);
  let order = mapped(Uint32Array, rows, (_, i) => i),
    next = new Uint32Array(rows.length);
  for (const [part, shift] of [
    [low, 0],
    [low, 16],
    [high, 0],
    [high, 16],
  ]) {
    const first = new Uint32Array(65537);
    for (let i = 0; i < part.length; i++) first[((part[i] >>> shift) & 65535) + 1]++;
    if (first[1] === part.length) continue; // all have 0 here
    for (let d = 0; d < 65536; d++) first[d + 1] += first[d];
    for (let i = 0; i < order.length; i++)
      next[first[(part[order[i]] >>> shift) & 65535]++] = order[i];
    [order, next] = [next, order];
  }
  return mapped(Uint32Array, order, (i) => rows[i]);
}
