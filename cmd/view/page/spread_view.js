// SPDX-License-Identifier: MIT
// Distributions: a list of functions and events, and the charts of the one that is chosen.

class SpreadView {
  constructor(app) {
    this.app = app;
    this.root = byId("view-spread");
    const { recording } = app;
    this.order = recording.header.kinds.map((_, k) => k);
    this.word = "";
    this.find = element("input", {
      class: "text",
      type: "search",
      placeholder: "Functions and events",
      "aria-label": "Functions and events",
      style: { width: "100%" },
      oninput: () => {
        this.word = this.find.value.toLowerCase();
        this.fill();
      },
    });
    this.grid = new Grid(
      [
        { title: "Name", width: "minmax(120px, 1fr)", sort: "name", cell: (i) => this.nameCell(i) },
        {
          title: "Count",
          width: "84px",
          num: true,
          sort: "count",
          cell: (i) => shortCount(recording.rowsOfKind[this.lines[i]]),
        },
        {
          title: "Total",
          width: "96px",
          num: true,
          sort: "total",
          cell: (i) =>
            recording.isCall[this.lines[i]] && this.statistics
              ? shortTime(this.statistics.total[this.lines[i]])
              : "",
        },
      ],
      {
        label: "Functions and events",
        sort: () => this.fill(),
        pick: (i) => this.choose(this.lines[i]),
      },
    );
    this.grid.sortBy = recording.calls > 0 ? "total" : "count";
    this.grid.descending = true;
    this.grid.makeHeads();
    this.grid.root.prepend(element("div", { class: "tools" }, this.find));
    this.charts = element("div", { class: "charts", tabindex: 0 });
    this.root.append(this.grid.root, this.charts);
  }
  async show() {
    if (!this.statistics) this.statistics = await this.app.ask2(this.app.statistics());
    this.fill();
    if (this.kind === undefined && this.lines.length > 0) this.choose(this.lines[0]);
    if (this.app.recording.n === 0)
      this.charts.replaceChildren(emptyState("Nothing was recorded", "There is nothing to count."));
  }
  nameCell(i) {
    const k = this.lines[i],
      { recording } = this.app;
    return [
      element("span", {
        class: "swatch",
        style: {
          display: "inline-block",
          marginRight: "7px",
          background: theme.css[recording.kindColors[k]],
        },
      }),
      element("span", { class: "mono", title: recording.kindNames[k] }, recording.kindNames[k]),
    ];
  }
  fill() {
    const { recording } = this.app,
      { total } = this.statistics;
    const names = recording.kindNames;
    this.lines = this.order.filter(
      (k) => recording.rowsOfKind[k] > 0 && names[k].toLowerCase().includes(this.word),
    );
    const sign = this.grid.descending ? -1 : 1,
      by = this.grid.sortBy;
    const value = by === "total" ? total : recording.rowsOfKind;
    this.lines.sort((a, b) =>
      by === "name"
        ? sign * (names[a] < names[b] ? -1 : 1)
        : sign * (value[a] - value[b]) || recording.rowsOfKind[b] - recording.rowsOfKind[a],
    );
    this.grid.setCount(this.lines.length);
    this.grid.select(this.lines.indexOf(this.kind), true);
  }
  choose(k) {
    this.kind = k;
    const { recording } = this.app;
    const rows = this.rowsOf(k),
      call = recording.isCall[k] === 1;
    const { first, sorted, total, self } = this.statistics;
    const mine = sorted.subarray(first[k], first[k + 1]);
    const charts = element("div", { class: "chart-grid" });
    const tiles = element("div", { class: "tiles" });
    const tile = (name, value) =>
      tiles.append(
        element("div", { class: "tile" }, element("b", {}, value), element("span", {}, name)),
      );
    tile(call ? "calls" : "events", countText(rows.length));
    if (call) {
      tile("total", shortTime(total[k]));
      tile("self", shortTime(self[k]));
      tile("mean", shortTime(mine.reduce((a, b) => a + b, 0) / mine.length));
      for (const [name, part] of [
        ["p50", 0.5],
        ["p90", 0.9],
        ["p99", 0.99],
        ["p99.9", 0.999],
      ])
        tile(name, shortTime(quantile(mine, part)));
      tile("longest", shortTime(mine[mine.length - 1]));
      this.addDurations(charts, mine);
      charts.append(quantileChart(mine), heatChart(recording, rows, this.app.timeline.length));
    } else {
      tile("a second", shortCount(rows.length / (this.app.timeline.length / 1e9)));
      charts.append(rateChart(recording, rows, this.app.timeline.length, "events"));
      this.addGaps(charts, rows);
    }
    recording.header.kinds[k].fields
      .slice(0, 24)
      .forEach((field, i) => this.addField(charts, rows, field, i));
    this.charts.replaceChildren(
      element("h2", {}, recording.kindNames[k]),
      element(
        "p",
        {},
        recording.text(recording.header.kinds[k].system) || "function",
        " · ",
        element(
          "button",
          {
            class: "link",
            onclick: () => this.app.filterEvents(`name:${quoted(recording.kindNames[k])}`),
          },
          "show its rows in the table",
        ),
      ),
      tiles,
      charts,
    );
    this.charts.scrollTop = 0;
    this.grid.select(this.lines.indexOf(k));
  }
  chooseName(name) {
    const { recording } = this.app;
    const k = recording.header.kinds.findIndex(
      (kind, i) => kind.name === name && recording.isCall[i],
    );
    if (k >= 0) this.choose(k);
  }
  rowsOf(k) {
    const { recording } = this.app;
    const rows = new Uint32Array(recording.rowsOfKind[k]);
    for (let row = 0, at = 0; row < recording.n && at < rows.length; row++)
      if (recording.kind[row] === k) rows[at++] = row;
    return rows;
  }
  addDurations(charts, sorted) {
    const marks = [
      ["p50", 0.5],
      ["p90", 0.9],
      ["p99", 0.99],
    ].map(([n, p]) => [n, quantile(sorted, p)]);
    charts.append(
      barChart("Durations", "logarithmic", logBuckets(sorted), {
        unit: "calls",
        edge: shortTime,
        range: (a, b) => `${shortTime(a)} – ${shortTime(b)}`,
        marks,
      }),
    );
  }
  // The time between one event and the next.
  addGaps(charts, rows) {
    if (rows.length < 3) return;
    const { time } = this.app.recording;
    const gaps = new Float64Array(rows.length - 1);
    for (let i = 0; i < gaps.length; i++) gaps[i] = Math.max(1, time[rows[i + 1]] - time[rows[i]]);
    gaps.sort();
    const marks = [
      ["p50", 0.5],
      ["p90", 0.9],
      ["p99", 0.99],
    ].map(([n, p]) => [n, quantile(gaps, p)]);
    charts.append(
      barChart("From one to the next", "logarithmic", logBuckets(gaps), {
        unit: "events",
        edge: shortTime,
        range: (a, b) => `${shortTime(a)} – ${shortTime(b)}`,
        marks,
      }),
    );
  }
  addField(charts, rows, field, index) {
    const { recording } = this.app;
    const name = recording.fieldName(field);
    const counts = new Map(),
      numbers = new Float64Array(rows.length);
    let n = 0;
    for (const row of rows) {
      const value = recording.valueOf(row, index);
      if (value === null) continue;
      if (counts.size < 5000) counts.set(value, (counts.get(value) || 0) + 1);
      else if (counts.has(value)) counts.set(value, counts.get(value) + 1);
      numbers[n++] = Number(value);
    }
    if (n === 0) return;
    const isNumber = field.type === "i" || field.type === "u" || field.type === "f";
    const many = counts.size > 12;
    if (isNumber && many) {
      const sorted = numbers.slice(0, n).sort();
      const isWide = sorted[0] >= 0 && sorted[n - 1] > 1000 * Math.max(1, sorted[n >> 1]);
      charts.append(
        barChart(
          name,
          isWide ? "logarithmic" : `${shortCount(sorted[0])} to ${shortCount(sorted[n - 1])}`,
          isWide ? logBuckets(sorted) : linearBuckets(sorted),
          {
            unit: "times",
            edge: (at) => shortCount(Math.round(at * 100) / 100),
            range: (a, b) => `${shortCount(a)} … ${shortCount(b)}`,
          },
        ),
      );
      return;
    }
    charts.append(topValues(recording, name, field, counts, n));
  }
  repaint() {
    this.grid.draw();
    if (this.kind !== undefined && !this.root.hidden) this.choose(this.kind);
  }
}

// The values that occur most, with bars.
function topValues(recording, name, field, counts, n) {
  const top = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10);
  const text = (value) => (field.type === "x" ? `0x${value.toString(16)}` : String(value));
  const table = element("table", { class: "plain" });
  for (const [value, count] of top)
    table.append(
      element(
        "tr",
        {},
        element("td", { class: "mono", style: { width: "60%" } }, text(value).slice(0, 160)),
        element(
          "td",
          { class: "num cell", style: { position: "relative", width: "40%" } },
          barCell(`${countText(count)} · ${percentText(count / n)}`, count / n),
        ),
      ),
    );
  const more =
    counts.size > top.length
      ? `the first 10 of ${counts.size >= 5000 ? "more than 5,000" : countText(counts.size)} values`
      : plural(counts.size, "value");
  return element("figure", {}, element("figcaption", {}, name, element("small", {}, more)), table);
}
function quoted(text) {
  return /[\s"]/.test(text) ? `"${text.replace(/"/g, "")}"` : text;
}
