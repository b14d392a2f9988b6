// SPDX-License-Identifier: MIT
// Charts as SVG, so that they are sharp on paper: bars of a histogram, a curve of quantiles, cells
// of a latency over time.

const kChart = { width: 520, height: 210, left: 46, right: 10, top: 12, bottom: 26 };

function chartFrame(caption, note) {
  const chart = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${kChart.width} ${kChart.height}`,
    role: "img",
    "aria-label": caption,
  });
  const figure = element(
    "figure",
    {},
    element("figcaption", {}, caption, note ? element("small", {}, note) : null),
    chart,
  );
  return { chart, figure };
}
const plot = {
  x0: kChart.left,
  x1: kChart.width - kChart.right,
  y0: kChart.top,
  y1: kChart.height - kChart.bottom,
};

function yAxis(chart, most, text) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1) / 3));
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((m) => m * power).find((s) => most / s <= 4.5),
  );
  for (let at = 0; at <= most; at += step) {
    const y = plot.y1 - (at / most) * (plot.y1 - plot.y0);
    chart.append(
      svg("line", {
        class: at === 0 ? "axis" : "grid-line",
        x1: plot.x0,
        x2: plot.x1,
        y1: y,
        y2: y,
      }),
      svg("text", { x: plot.x0 - 6, y: y + 4, "text-anchor": "end" }, text(at)),
    );
  }
}

// Buckets of equal width on a logarithm: 6 a factor of two at most, as many as there is room for.
function logBuckets(sorted) {
  const low = Math.max(sorted[0], 1),
    high = Math.max(sorted[sorted.length - 1], low * 1.0001);
  const octaves = Math.log2(high / low);
  const parts = Math.max(8, Math.min(60, Math.ceil(octaves * 6)));
  const factor = Math.max((high / low) ** (1 / parts), 1.0001);
  const counts = new Float64Array(parts),
    edges = [];
  for (let i = 0; i <= parts; i++) edges.push(low * factor ** i);
  let from = 0;
  for (let i = 0; i < parts; i++) {
    const until =
      i === parts - 1 ? sorted.length : lowerBound(sorted, edges[i + 1], from, sorted.length);
    counts[i] = until - from;
    from = until;
  }
  return { counts, edges };
}
function linearBuckets(sorted, parts = 40) {
  const low = sorted[0],
    high = sorted[sorted.length - 1];
  const isWhole = Number.isInteger(low) && Number.isInteger(high);
  if (isWhole && high - low < parts) parts = high - low + 1;
  const width = isWhole ? Math.ceil((high - low + 1) / parts) : (high - low) / parts || 1;
  parts = Math.max(1, Math.min(parts, Math.ceil((high - low + (isWhole ? 1 : 0)) / width) || 1));
  const counts = new Float64Array(parts),
    edges = [];
  for (let i = 0; i <= parts; i++) edges.push(low + i * width);
  for (const value of sorted) counts[Math.min(parts - 1, Math.floor((value - low) / width))]++;
  return { counts, edges };
}

// bars({counts, edges}, options): x is in equal steps of buckets.
function barChart(caption, note, { counts, edges }, options) {
  const { chart, figure } = chartFrame(caption, note);
  let most = 1;
  for (const count of counts) most = Math.max(most, count);
  yAxis(chart, most, shortCount);
  const width = (plot.x1 - plot.x0) / counts.length;
  const bars = svg("g", { class: "bars" });
  const whole = counts.reduce((sum, count) => sum + count, 0);
  counts.forEach((count, i) => {
    if (count === 0) return;
    const height = Math.max(1.5, (count / most) * (plot.y1 - plot.y0));
    bars.append(
      svg("rect", {
        x: plot.x0 + i * width + 0.5,
        width: Math.max(width - 1, 0.7),
        y: plot.y1 - height,
        height,
        rx: Math.min(1.5, width / 4),
        onpointermove: (event) =>
          tip.show(event, options.range(edges[i], edges[i + 1]), [
            [options.unit, countText(count)],
            ["part", percentText(count / whole)],
          ]),
        onpointerleave: () => tip.hide(),
      }),
    );
  });
  chart.append(bars);
  barLabels(chart, counts.length, edges, width, options);
  if (options.marks) quantileMarks(chart, counts.length, edges, options);
  return figure;
}
function barLabels(chart, parts, edges, width, options) {
  const every = Math.max(1, Math.ceil(parts / 6));
  for (let i = 0; i <= parts; i += every) {
    const x = plot.x0 + i * width;
    if (x > plot.x1 - 18 && i !== 0) break;
    chart.append(
      svg("line", { class: "axis", x1: x, x2: x, y1: plot.y1, y2: plot.y1 + 4 }),
      svg(
        "text",
        { x, y: plot.y1 + 17, "text-anchor": i === 0 ? "start" : "middle" },
        options.edge(edges[i]),
      ),
    );
  }
}
function quantileMarks(chart, parts, edges, { marks }) {
  let before = -100,
    line = 0;
  for (const [name, value] of marks) {
    const place = Math.log(Math.max(value, 1) / edges[0]) / Math.log(edges[parts] / edges[0]);
    const x = plot.x0 + Math.max(0, Math.min(1, place)) * (plot.x1 - plot.x0);
    line = x - before < 34 ? line + 1 : 0;
    before = x;
    chart.append(
      svg("line", { class: "mark-line", x1: x, x2: x, y1: plot.y0, y2: plot.y1 }),
      svg(
        "text",
        {
          class: "mark-text",
          x: x + (x > plot.x1 - 40 ? -4 : 4),
          y: plot.y0 + 9 + line * 13,
          "text-anchor": x > plot.x1 - 40 ? "end" : "start",
        },
        name,
      ),
    );
  }
}

function quantile(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? NaN;
}

// x: how rare, in tens (50 % 90 % 99 % 99.9 %); y: the time, logarithmic.
function quantileChart(sorted) {
  const { chart, figure } = chartFrame("Quantiles", "how long the slowest calls take");
  const tens = Math.max(1, Math.ceil(Math.log10(Math.max(sorted.length, 10))));
  const low = Math.max(1, quantile(sorted, 0.01)),
    high = Math.max(sorted[sorted.length - 1], low * 1.5);
  const y = (ns) =>
    plot.y1 - (Math.log(Math.max(ns, low) / low) / Math.log(high / low)) * (plot.y1 - plot.y0);
  const x = (part) =>
    plot.x0 + (Math.min(tens, -Math.log10(Math.max(1 - part, 1e-9))) / tens) * (plot.x1 - plot.x0);
  let ticks = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
    for (const m of [1, 2, 5]) if (power * m >= low && power * m <= high) ticks.push(power * m);
  const every = Math.ceil(ticks.length / 6);
  ticks
    .filter((_, i) => i % every === 0)
    .forEach((at) =>
      chart.append(
        svg("line", { class: "grid-line", x1: plot.x0, x2: plot.x1, y1: y(at), y2: y(at) }),
        svg("text", { x: plot.x0 - 6, y: y(at) + 4, "text-anchor": "end" }, shortTime(at)),
      ),
    );
  chart.append(svg("line", { class: "axis", x1: plot.x0, x2: plot.x1, y1: plot.y1, y2: plot.y1 }));
  const points = [];
  for (let i = 0; i <= 120; i++) {
    const part = 1 - 10 ** ((-tens * i) / 120);
    points.push(
      `${x(part).toFixed(1)},${y(quantile(sorted, Math.max(part, 1 / sorted.length))).toFixed(1)}`,
    );
  }
  chart.append(svg("polyline", { class: "line", points: points.join(" ") }));
  for (let ten = 0; ten <= tens; ten++) {
    const part = 1 - 10 ** -ten,
      name =
        ten === 0
          ? "0 %"
          : `${100 * part === 90 ? 90 : (100 * part).toFixed(Math.max(0, ten - 2))} %`;
    chart.append(
      svg(
        "text",
        {
          x: x(part),
          y: plot.y1 + 17,
          "text-anchor": ten === 0 ? "start" : ten === tens ? "end" : "middle",
        },
        name,
      ),
    );
    if (ten === 0) continue;
    const value = quantile(sorted, part);
    chart.append(
      svg("circle", {
        class: "dot",
        cx: x(part),
        cy: y(value),
        r: 4,
        onpointermove: (event) =>
          tip.show(event, `${name} of the calls`, [["take at most", timeText(value)]]),
        onpointerleave: () => tip.hide(),
      }),
    );
  }
  return figure;
}

// Cells: time across, duration up (logarithmic), darker where there are more.
function heatChart(recording, rows, until) {
  const { chart, figure } = chartFrame(
    "Over time",
    "each cell: how many calls took this long then",
  );
  const across = 64,
    up = 24;
  let low = Infinity,
    high = 1;
  for (const row of rows) {
    low = Math.min(low, Math.max(1, recording.duration[row]));
    high = Math.max(high, recording.duration[row]);
  }
  high = Math.max(high, low * 2);
  const cells = new Uint32Array(across * up);
  for (const row of rows) {
    const x = Math.min(across - 1, Math.floor((recording.time[row] / until) * across));
    const y = Math.min(
      up - 1,
      Math.floor(
        (Math.log(Math.max(recording.duration[row], low) / low) / Math.log(high / low)) * up,
      ),
    );
    cells[y * across + x]++;
  }
  let most = 1;
  for (const count of cells) most = Math.max(most, count);
  const w = (plot.x1 - plot.x0) / across,
    h = (plot.y1 - plot.y0) / up;
  const group = svg("g", { class: "cells bars" });
  cells.forEach((count, i) => {
    if (count === 0) return;
    const x = i % across,
      y = Math.floor(i / across);
    const value = (step) => low * (high / low) ** (step / up);
    group.append(
      svg("rect", {
        x: plot.x0 + x * w,
        y: plot.y1 - (y + 1) * h,
        width: w,
        height: h,
        "fill-opacity": (0.18 + (0.82 * Math.log(count + 1)) / Math.log(most + 1)).toFixed(3),
        onpointermove: (event) =>
          tip.show(event, `${shortTime(value(y))} – ${shortTime(value(y + 1))}`, [
            ["calls", countText(count)],
            ["from", momentText((x * until) / across, until / across)],
          ]),
        onpointerleave: () => tip.hide(),
      }),
    );
  });
  chart.append(
    svg("line", { class: "axis", x1: plot.x0, x2: plot.x1, y1: plot.y1, y2: plot.y1 }),
    group,
  );
  for (const [y, value] of [
    [plot.y1, low],
    [(plot.y0 + plot.y1) / 2, Math.sqrt(low * high)],
    [plot.y0 + 6, high],
  ])
    chart.append(svg("text", { x: plot.x0 - 6, y: y + 4, "text-anchor": "end" }, shortTime(value)));
  timeLabels(chart, until);
  return figure;
}
function timeLabels(chart, until) {
  for (let i = 0; i <= 4; i++)
    chart.append(
      svg(
        "text",
        {
          x: plot.x0 + (i / 4) * (plot.x1 - plot.x0),
          y: plot.y1 + 17,
          "text-anchor": i === 0 ? "start" : i === 4 ? "end" : "middle",
        },
        shortTime((until * i) / 4),
      ),
    );
}
// How many rows each moment has.
function rateChart(recording, rows, until, unit) {
  const parts = 64,
    counts = new Float64Array(parts),
    edges = [];
  for (let i = 0; i <= parts; i++) edges.push((until * i) / parts);
  for (const row of rows)
    counts[Math.min(parts - 1, Math.floor((recording.time[row] / until) * parts))]++;
  return barChart(
    "Over time",
    `${shortTime(until / parts)} a bar`,
    { counts, edges },
    {
      unit,
      edge: (at) => shortTime(at),
      range: (a, b) => `${momentText(a, until / parts)} – ${momentText(b, until / parts)}`,
    },
  );
}
