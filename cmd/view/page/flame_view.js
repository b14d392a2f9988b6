// SPDX-License-Identifier: MIT
// The flame graph: a box for each path of calls, as wide as its time, callers above.

const kFlameHeight = 21;

class FlameView {
  constructor(app) {
    this.app = app;
    this.root = byId("view-flame");
    this.zoomed = 0;
    this.widths = new Map();
    app.trees.listeners.push(() => this.load());
    this.canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": "Flame graph" });
    this.stage = element("div", { class: "stage" }, this.canvas);
    this.way = element("div", { class: "way" });
    this.foot = element("div", { class: "foot" });
    this.box = element("div", { class: "flame" }, this.way, this.stage, this.foot);
    const switcher = segments(
      [
        ["down", "Callees below"],
        ["up", "Callers below"],
      ],
      "down",
      (mode) => {
        this.mode = mode;
        this.load();
      },
    );
    this.holder = element("div", { style: { display: "grid", minHeight: 0 } }, this.box);
    this.root.append(
      element(
        "div",
        { class: "tools" },
        switcher,
        app.trees.tools(),
        element("span", { class: "grow" }),
        element("span", { class: "dim" }, "click zooms, Esc shows all"),
      ),
      this.holder,
    );
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => {
      tip.hide();
      this.setHover(-1);
    });
    this.canvas.addEventListener("click", (event) => {
      const node = this.hit(event);
      if (node >= 0) this.zoom(node);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.stage);
  }
  show() {
    if (!this.tree) this.load();
    else this.draw();
  }
  async load() {
    this.tree = await this.app.ask2(this.app.trees.get(this.mode === "up"));
    this.zoomed = 0;
    this.hover = -1;
    this.lay();
    this.holder.replaceChildren(this.tree.name.length <= 1 ? noCalls() : this.box);
    this.draw();
  }
  // Each node's place: x in the tree's unit, and its depth.
  lay() {
    const { tree } = this;
    const size = tree.name.length;
    this.x = new Float64Array(size);
    this.depth = new Uint16Array(size);
    tree.total[0] = 0;
    for (let i = tree.first[0]; i < tree.first[1]; i++)
      tree.total[0] += tree.total[tree.children[i]];
    const order = [0];
    this.deepest = 0;
    for (let k = 0; k < order.length; k++) {
      const node = order[k];
      let x = this.x[node];
      for (let i = tree.first[node]; i < tree.first[node + 1]; i++) {
        const child = tree.children[i];
        this.x[child] = x;
        this.depth[child] = Math.min(65535, this.depth[node] + 1);
        this.deepest = Math.max(this.deepest, this.depth[child]);
        x += tree.total[child];
        order.push(child);
      }
    }
  }
  draw() {
    if (this.wanted || !this.tree) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.paint();
    });
  }
  paint() {
    const width = this.stage.clientWidth,
      ratio = devicePixelRatio || 1;
    if (width === 0) return;
    const height = Math.min((this.deepest + 1) * kFlameHeight + 8, 16000);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.display = "block";
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.font = `12px ${theme.sans}`;
    g.textBaseline = "middle";
    this.boxes = [];
    this.matched = 0;
    this.scale = (width - 16) / Math.max(this.tree.total[this.zoomed], 1e-9);
    this.paintAbove(g, width);
    this.paintBelow(g, this.zoomed);
    this.describe();
  }
  paintAbove(g, width) {
    for (let up = this.tree.parent[this.zoomed]; up >= 0; up = this.tree.parent[up])
      this.paintBox(g, up, 8, width - 16, true);
  }
  paintBelow(g, top) {
    const { tree } = this;
    const stack = [[top, false]];
    while (stack.length > 0) {
      const [node, counted] = stack.pop();
      const x = 8 + (this.x[node] - this.x[this.zoomed]) * this.scale;
      const w = tree.total[node] * this.scale;
      if (w < 0.35) continue;
      this.paintBox(g, node, x, w, false);
      const matches = node > 0 && this.app.matches && this.app.nameMatches(tree.name[node]);
      if (matches && !counted) this.matched += tree.total[node];
      for (let i = tree.first[node + 1] - 1; i >= tree.first[node]; i--)
        stack.push([tree.children[i], counted || matches]);
    }
  }
  paintBox(g, node, x, w, above) {
    const y = this.depth[node] * kFlameHeight + 4;
    const name = this.nameOf(node);
    const lit = node === 0 || this.app.nameMatches(this.tree.name[node]);
    g.globalAlpha = above ? 0.55 : 1;
    g.fillStyle =
      node === 0
        ? theme.line
        : lit
          ? theme.css[colorIndex(name)]
          : theme.dark
            ? "#2b343f"
            : "#e3e7ec";
    const inner = Math.max(w - (w > 3 ? 1 : 0), 0.4);
    g.fillRect(x, y, inner, kFlameHeight - 1);
    if (node === this.hover) {
      g.strokeStyle = theme.text;
      g.lineWidth = 1.5;
      g.strokeRect(x + 0.75, y + 0.75, Math.max(inner - 1.5, 0.5), kFlameHeight - 2.5);
    }
    if (w > 30) {
      g.fillStyle = node === 0 ? theme.text : lit ? "#101820" : theme.faint;
      this.paintName(g, name, x + 5, y + kFlameHeight / 2, w - 10);
    }
    g.globalAlpha = 1;
    this.boxes.push([x, y, w, node]);
  }
  paintName(g, name, x, y, room) {
    let width = this.widths.get(name);
    if (width === undefined)
      this.widths.set(name, (width = g.measureText(name.slice(0, 300)).width));
    if (width <= room) return g.fillText(name, x, y);
    const letters = Math.floor((name.length * (room - 10)) / width);
    if (letters >= 2) g.fillText(`${name.slice(0, letters)}…`, x, y);
  }
  nameOf(node) {
    if (node > 0) return this.app.recording.text(this.tree.name[node]);
    const t = this.app.trees.thread;
    return t < 0 ? "all threads" : this.app.recording.threadText(t);
  }
  value(amount) {
    return this.tree.unit === "ns" ? timeText(amount) : plural(Math.round(amount), "sample");
  }
  describe() {
    const part = this.matched / Math.max(this.tree.total[this.zoomed], 1e-9);
    const what = this.app.matches
      ? `Matched ${percentText(part)} (${this.value(this.matched)})`
      : `${this.nameOf(this.zoomed)}: ${this.value(this.tree.total[this.zoomed])}`;
    this.foot.textContent = what;
    const parts = [];
    for (let at = this.zoomed; at >= 0; at = this.tree.parent[at])
      parts.unshift(
        element("button", { class: "link", onclick: () => this.zoom(at) }, this.nameOf(at)),
      );
    this.way.replaceChildren(
      ...parts.flatMap((button, i) => (i === 0 ? [button] : [" › ", button])),
    );
  }
  zoom(node) {
    this.zoomed = node;
    this.draw();
  }
  hit(event) {
    for (const [x, y, w, node] of this.boxes || [])
      if (
        event.offsetY >= y &&
        event.offsetY < y + kFlameHeight &&
        event.offsetX >= x &&
        event.offsetX < x + w
      )
        return node;
    return -1;
  }
  setHover(node) {
    if (node === this.hover) return;
    this.hover = node;
    this.draw();
  }
  point(event) {
    const node = this.hit(event);
    this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
    this.setHover(node);
    if (node < 0) return tip.hide();
    const { tree } = this;
    const whole = Math.max(tree.total[0], 1e-9);
    tip.show(event, this.nameOf(node), [
      ["total", `${this.value(tree.total[node])} (${percentText(tree.total[node] / whole)})`],
      ["self", `${this.value(tree.self[node])} (${percentText(tree.self[node] / whole)})`],
      ...(node > 0
        ? [[tree.unit === "ns" ? "calls" : "samples", countText(tree.count[node])]]
        : []),
      ...(node > 0 && tree.unit === "ns"
        ? [["average", timeText(tree.total[node] / tree.count[node])]]
        : []),
    ]);
  }
  key(event) {
    const { tree } = this;
    const siblings = (step) => {
      const above = tree.parent[this.zoomed];
      if (above < 0) return;
      const list = tree.children.subarray(tree.first[above], tree.first[above + 1]);
      const next = list[list.indexOf(this.zoomed) + step];
      if (next !== undefined) this.zoom(next);
    };
    const actions = {
      Escape: () => this.zoom(0),
      ArrowUp: () => this.zoom(Math.max(0, tree.parent[this.zoomed])),
      ArrowDown: () =>
        tree.first[this.zoomed] < tree.first[this.zoomed + 1] &&
        this.zoom(tree.children[tree.first[this.zoomed]]),
      ArrowLeft: () => siblings(-1),
      ArrowRight: () => siblings(1),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
  repaint() {
    this.draw();
  }
}
