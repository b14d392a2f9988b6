// SPDX-License-Identifier: MIT
// What is said of the row or the time that was chosen.

function pairs(list) {
  return element(
    "dl",
    { class: "pairs" },
    list.flatMap(([name, value]) =>
      value === null || value === undefined
        ? []
        : [element("dt", {}, name), element("dd", {}, value)],
    ),
  );
}

class Details {
  constructor(app) {
    this.app = app;
    this.root = byId("details");
    this.nothing();
    this.splitter();
  }
  nothing() {
    const { recording } = this.app;
    this.root.replaceChildren(
      recording.n === 0
        ? emptyState(
            "Nothing was recorded",
            "The recording has no event. What it says about itself is under Recording.",
          )
        : emptyState(
            "Nothing is chosen",
            "Click a call or an event for its arguments and its stack. " +
              "Drag over a time to measure it. W A S D zoom and pan.",
          ),
    );
  }
  row(row) {
    const { app } = this,
      { recording } = app;
    const call = recording.callRow(row);
    const head = element(
      "div",
      { class: "detail-head" },
      element("span", {
        class: "swatch",
        style: { background: theme.css[recording.kindColors[recording.kind[row]]] },
      }),
      element("h2", {}, recording.nameOf(row)),
      element("span", { class: "dim" }, call ? timeText(recording.duration[row]) : "event"),
      element(
        "div",
        { class: "actions" },
        element(
          "button",
          { class: "plain", onclick: () => app.goTo(row, true), title: "F" },
          "Zoom to it",
        ),
        element(
          "button",
          { class: "plain", onclick: () => app.showKind(recording.kind[row]) },
          "Distribution",
        ),
        element(
          "button",
          {
            class: "plain",
            onclick: () => app.filterEvents(`name:${quoted(recording.nameOf(row))}`),
          },
          "All of this name",
        ),
      ),
    );
    this.root.replaceChildren(
      head,
      element(
        "div",
        { class: "detail-columns" },
        this.facts(row, call),
        this.arguments(row),
        this.stack(row, call),
      ),
    );
    this.root.scrollTop = 0;
  }
  facts(row, call) {
    const { recording } = this.app;
    const { header } = recording;
    const t = recording.thread[row],
      thread = header.threads[t];
    const facts = [["start", momentText(recording.time[row], 1)]];
    if (call) {
      facts.push(
        ["duration", timeText(recording.duration[row])],
        ["self", timeText(recording.self[row])],
        ["end", recording.how[row] === 0 ? null : kEnds[recording.how[row]]],
      );
    }
    facts.push(
      ["thread", recording.threadText(t)],
      [
        "process",
        thread.pid === thread.tid ? null : `${recording.text(thread.process)} (${thread.pid})`,
      ],
      ["CPU", String(header.cpus[recording.cpu[row]].cpu)],
      ["kind", recording.text(recording.kindOf(row).system) || null],
      // The top one goes without saying where it is the only one.
      [
        "instance",
        recording.instance || recording.instanceText(row) !== "top"
          ? recording.instanceText(row)
          : null,
      ],
      [header.clock || "clock", absoluteText(header, recording.time[row])],
    );
    return element("div", {}, element("h3", {}, call ? "Call" : "Event"), pairs(facts));
  }
  arguments(row) {
    const { recording } = this.app;
    const fields = recording.kindOf(row).fields;
    const list = fields
      .map((field, i) => {
        const value = recording.valueOf(row, i);
        if (value === null) return [recording.fieldName(field), null];
        const text = field.type === "x" ? `0x${value.toString(16)}` : String(value);
        return [recording.fieldName(field), element("span", { class: "mono" }, text)];
      })
      .filter(([, value]) => value !== null);
    const box = element("div", {}, element("h3", {}, "Arguments"));
    box.append(
      list.length > 0 ? pairs(list) : element("p", { class: "dim" }, "None were recorded."),
    );
    return box;
  }
  stack(row, call) {
    const { app } = this,
      { recording } = app;
    const frames = recording.stackOf(row),
      callers = recording.callersOf(row);
    const box = element("div", {}, element("h3", {}, frames.length > 0 ? "Stack" : "Called by"));
    const list = element("ol", { class: "stack" });
    const line = (number, content) =>
      list.append(element("li", {}, element("span", {}, number), content));
    if (frames.length > 0)
      frames.forEach((name, i) => line(String(i), element("span", { class: "mono" }, name)));
    if (frames.length > 0 && callers.length > 0)
      list.append(element("h3", { style: { marginTop: "8px" } }, call ? "Called by" : "Within"));
    callers
      .slice(0, 200)
      .forEach((caller, i) =>
        line(
          String(i + 1),
          element(
            "button",
            { class: "link mono", onclick: () => app.select(caller, "stack") },
            `${recording.nameOf(caller)}  ${timeText(recording.duration[caller])}`,
          ),
        ),
      );
    if (callers.length > 200) line("", `${callers.length - 200} more`);
    if (frames.length + callers.length === 0)
      list.append(
        element("p", { class: "dim" }, "No stack was recorded, and no call is around it."),
      );
    box.append(list);
    return box;
  }

  // The time that was dragged over: what ran in it.
  async range(range) {
    const { app } = this,
      { recording } = app;
    const span = range.until - range.from;
    const head = element(
      "div",
      { class: "detail-head" },
      element("h2", {}, timeText(span)),
      element(
        "span",
        { class: "dim" },
        `${momentText(range.from, span)} – ${momentText(range.until, span)}`,
      ),
      element(
        "div",
        { class: "actions" },
        element(
          "button",
          { class: "plain", onclick: () => app.timeline.show(range.from, range.until) },
          "Zoom to it",
        ),
        element("button", { class: "plain", onclick: () => app.open("flame") }, "Its flame graph"),
        element("button", { class: "plain", onclick: () => app.open("events") }, "Its rows"),
        element("button", { class: "plain", onclick: () => app.setRange(null) }, "Forget it"),
      ),
    );
    const body = element("div", {});
    this.root.replaceChildren(head, body);
    const counts = new Map();
    let rows = 0;
    for (let row = 0; row < recording.n && recording.time[row] <= range.until; row++) {
      if (recording.endOf(row) < range.from) continue;
      rows++;
      const k = recording.kind[row];
      let sum = counts.get(k);
      if (!sum) counts.set(k, (sum = { count: 0, self: 0, longest: 0 }));
      sum.count++;
      if (!recording.callRow(row)) continue;
      const part =
        (Math.min(recording.endOf(row), range.until) - Math.max(recording.time[row], range.from)) /
        Math.max(recording.duration[row], 1);
      sum.self += recording.self[row] * Math.min(1, part);
      sum.longest = Math.max(sum.longest, recording.duration[row]);
    }
    const top = [...counts]
      .sort((a, b) => b[1].self - a[1].self || b[1].count - a[1].count)
      .slice(0, 30);
    const table = element(
      "table",
      { class: "plain" },
      element(
        "tr",
        {},
        ["Function or event", "Rows", "Self", "Longest"].map((name, i) =>
          element("th", { class: i > 0 ? "num" : "" }, name),
        ),
      ),
    );
    for (const [k, sum] of top)
      table.append(
        element(
          "tr",
          {},
          element("td", { class: "mono" }, recording.kindNames[k]),
          element("td", { class: "num" }, countText(sum.count)),
          element("td", { class: "num" }, recording.isCall[k] ? timeText(sum.self) : ""),
          element("td", { class: "num" }, recording.isCall[k] ? timeText(sum.longest) : ""),
        ),
      );
    body.append(rows === 0 ? emptyState("Nothing happened in this time", "") : table);
  }

  // The bar above the details makes them higher.
  splitter() {
    const split = byId("split"),
      view = byId("view-timeline");
    const set = (height) => {
      const most = view.clientHeight - 150;
      view.style.setProperty("--details", `${Math.round(Math.max(60, Math.min(most, height)))}px`);
    };
    split.addEventListener("pointerdown", (event) => {
      split.setPointerCapture(event.pointerId);
      const begin = event.clientY,
        height = this.root.offsetHeight;
      const move = (each) => set(height + begin - each.clientY);
      split.addEventListener("pointermove", move);
      split.addEventListener("pointerup", () => split.removeEventListener("pointermove", move), {
        once: true,
      });
    });
    split.addEventListener("keydown", (event) => {
      const step = { ArrowUp: 24, ArrowDown: -24 }[event.key];
      if (step) set(this.root.offsetHeight + step);
    });
  }
}

// A moment in the recording's own clock, exact to the nanosecond.
function absoluteText(header, ns) {
  const at = BigInt(header.start) + BigInt(Math.round(ns));
  return `${at / 1000000000n}.${String(at % 1000000000n).padStart(9, "0")}`;
}
