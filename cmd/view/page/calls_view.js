// SPDX-License-Identifier: MIT
// What the calls tree and the flame graph share (which thread, which time), and the tree.

// Choices of thread and time; asks the worker for a tree when they change.
class TreeSource {
  constructor(app) {
    this.app = app;
    this.thread = -1;
    this.cache = new Map();
    this.listeners = [];
  }
  changed() {
    for (const listener of this.listeners) listener();
  }
  setThread(thread) {
    this.thread = thread;
    this.changed();
  }
  async get(inverted) {
    const range = this.app.range || { from: 0, until: Infinity };
    const key = `${this.thread} ${range.from} ${range.until} ${inverted}`;
    if (!this.cache.has(key)) {
      if (this.cache.size > 8) this.cache.clear();
      this.cache.set(
        key,
        this.app.ask("tree", {
          thread: this.thread,
          from: range.from,
          until: range.until,
          inverted,
        }),
      );
    }
    return this.cache.get(key);
  }
  // The thread's menu and the chip of the time.
  tools() {
    const { recording } = this.app;
    const menu = element("select", {
      "aria-label": "Thread",
      onchange: () => this.setThread(Number(menu.value)),
    });
    menu.append(
      element(
        "option",
        { value: -1 },
        `all merged (${plural(recording.threadNames.length, "thread")})`,
      ),
    );
    const rows = recording.threadNames
      .map((_, t) => t)
      .sort((a, b) => this.app.rowsOfThread(b) - this.app.rowsOfThread(a))
      .slice(0, 2000);
    for (const t of rows) menu.append(element("option", { value: t }, recording.threadText(t)));
    this.listeners.push(() => {
      menu.value = this.thread;
    });
    return [element("label", {}, "Thread", menu), this.app.rangeChip()];
  }
}

class CallsView {
  constructor(app) {
    this.app = app;
    this.root = byId("view-calls");
    this.mode = "down";
    this.open = new Set();
    app.trees.listeners.push(() => this.load());
    const switcher = segments(
      [
        ["down", "Callees"],
        ["up", "Callers"],
        ["flat", "Functions"],
      ],
      "down",
      (mode) => {
        this.mode = mode;
        this.load();
      },
    );
    this.tools = element(
      "div",
      { class: "tools" },
      switcher,
      app.trees.tools(),
      element("span", { class: "grow" }),
      element("span", { class: "dim" }, "→ opens, ← closes, * opens all below"),
    );
    this.grid = new Grid(
      [
        {
          title: "Function",
          width: "minmax(260px, 1fr)",
          sort: "name",
          cell: (i) => this.nameCell(i),
        },
        {
          title: "Total",
          width: "150px",
          num: true,
          sort: "total",
          hint: "With the calls that it made",
          cell: (i) => barCell(this.value(this.tree.total[this.line(i)]), this.part("total", i)),
        },
        {
          title: "Self",
          width: "150px",
          num: true,
          sort: "self",
          hint: "Without them",
          cell: (i) => barCell(this.value(this.tree.self[this.line(i)]), this.part("self", i)),
        },
        {
          title: "Calls",
          width: "110px",
          num: true,
          sort: "count",
          cell: (i) => countText(this.tree.count[this.line(i)]),
        },
        {
          title: "Average",
          width: "110px",
          num: true,
          sort: "average",
          cell: (i) => this.value(this.tree.total[this.line(i)] / this.tree.count[this.line(i)]),
        },
      ],
      {
        label: "Calls",
        sort: () => this.fill(true),
        act: (key, i) => this.act(key, i),
        rowClass: (i) => (this.app.nameMatches(this.tree.name[this.line(i)]) ? "" : "dimmed"),
        pick: (i, event) => event && this.toggle(i),
        open: (i) => this.app.showSpread(this.tree.name[this.line(i)]),
      },
    );
    this.grid.sortBy = "total";
    this.grid.descending = true;
    this.grid.makeHeads();
    this.stage = element("div", { style: { display: "grid", minHeight: 0 } }, this.grid.root);
    this.root.append(this.tools, this.stage);
  }
  show() {
    if (!this.tree) this.load();
  }
  line(i) {
    return this.lines[i];
  }
  value(amount) {
    return this.tree.unit === "ns" ? timeText(amount) : countText(Math.round(amount));
  }
  part(what, i) {
    return this.tree[what][this.line(i)] / Math.max(1, this.whole);
  }
  async load() {
    const tree = await this.app.ask2(this.app.trees.get(this.mode === "up"));
    this.tree = this.mode === "flat" ? flatten(tree) : tree;
    this.whole = 0;
    for (let i = this.tree.first[0]; i < this.tree.first[1]; i++)
      this.whole += this.mode === "flat" ? 0 : this.tree.total[this.tree.children[i]];
    if (this.mode === "flat") this.whole = tree.total[0];
    this.open.clear();
    this.openWidest();
    this.fill();
    const none = this.tree.name.length <= 1;
    this.stage.replaceChildren(none ? noCalls() : this.grid.root);
  }
  // Opens the widest way down while it has one child that is nearly all.
  openWidest() {
    if (this.mode === "flat") return;
    let at = this.widestChild(0);
    for (let i = 0; i < 6 && at > 0; i++) {
      this.open.add(at);
      const next = this.widestChild(at);
      if (next > 0 && this.tree.total[next] < 0.4 * this.tree.total[at]) break;
      at = next;
    }
  }
  widestChild(node) {
    const { first, children } = this.tree;
    return first[node] < first[node + 1] ? children[first[node]] : 0;
  }
  childrenOf(node) {
    const { tree } = this;
    const list = Array.from(tree.children.subarray(tree.first[node], tree.first[node + 1]));
    const by = this.grid.sortBy,
      sign = this.grid.descending ? -1 : 1;
    const text = (n) => this.app.recording.text(tree.name[n]);
    if (by === "name") return list.sort((a, b) => sign * (text(a) < text(b) ? -1 : 1));
    const value = by === "average" ? (n) => tree.total[n] / tree.count[n] : (n) => tree[by][n];
    return list.sort((a, b) => sign * (value(a) - value(b)));
  }
  fill(keep) {
    this.lines = [];
    this.depths = [];
    const stack = [[this.childrenOf(0), 0]];
    while (stack.length > 0) {
      const top = stack[stack.length - 1];
      if (top[1] >= top[0].length) {
        stack.pop();
        continue;
      }
      const node = top[0][top[1]++];
      this.lines.push(node);
      this.depths.push(stack.length - 1);
      if (this.open.has(node)) stack.push([this.childrenOf(node), 0]);
    }
    this.grid.setCount(this.lines.length, keep);
  }
  nameCell(i) {
    const node = this.line(i),
      name = this.app.recording.text(this.tree.name[node]);
    const has = this.tree.first[node] < this.tree.first[node + 1];
    return [
      element("span", { style: { paddingLeft: `${Math.min(this.depths[i], 60) * 14}px` } }),
      element("span", { class: "twist" }, has ? (this.open.has(node) ? "▼" : "▶") : ""),
      element("span", {
        class: "swatch",
        style: {
          display: "inline-block",
          marginRight: "7px",
          background: theme.css[colorIndex(name)],
        },
      }),
      element("span", { class: "mono", title: name }, name),
    ];
  }
  toggle(i) {
    const node = this.line(i);
    if (!this.open.delete(node)) this.open.add(node);
    this.fill(true);
  }
  act(key, i) {
    const node = this.line(i);
    if (key === "ArrowRight") this.open.add(node);
    else if (key === "ArrowLeft") {
      if (!this.open.delete(node)) {
        const above = this.lines.indexOf(this.tree.parent[node]);
        if (above >= 0) this.grid.select(above, true);
        return true;
      }
    } else if (key === "*") this.openAll(node);
    else if (key === "Enter") return (this.app.showSpread(this.tree.name[node]), true);
    else return false;
    this.fill(true);
    return true;
  }
  openAll(node) {
    const left = [node];
    for (let i = 0; i < left.length && i < 5000; i++) {
      this.open.add(left[i]);
      left.push(
        ...this.tree.children.subarray(this.tree.first[left[i]], this.tree.first[left[i] + 1]),
      );
    }
  }
  repaint() {
    this.grid.draw();
  }
}

// The same functions' nodes as one line each. Time of a function within itself counts once.
function flatten(tree) {
  const sums = new Map();
  for (let node = 1; node < tree.name.length; node++) {
    const name = tree.name[node];
    let sum = sums.get(name);
    if (!sum) sums.set(name, (sum = { total: 0, self: 0, count: 0 }));
    let within = false;
    for (let up = tree.parent[node]; up > 0 && !within; up = tree.parent[up])
      within = tree.name[up] === name;
    if (!within) sum.total += tree.total[node];
    sum.self += tree.self[node];
    sum.count += tree.count[node];
  }
  const names = [...sums.keys()],
    size = names.length + 1;
  const column = (what) => Float64Array.from([0, ...names.map((name) => sums.get(name)[what])]);
  return {
    name: Int32Array.from([-1, ...names]),
    parent: new Int32Array(size),
    total: column("total"),
    self: column("self"),
    count: column("count"),
    first: Uint32Array.from({ length: size + 1 }, (_, i) => (i === 0 ? 0 : size - 1)),
    children: Uint32Array.from({ length: size - 1 }, (_, i) => i + 1),
    unit: tree.unit,
  };
}

function noCalls() {
  return emptyState(
    "There are no calls here",
    "A tree needs calls with their returns, or stacks. Record them with",
    element("code", {}, "patchbay record -t function_graph -- PROGRAM"),
  );
}
