// SPDX-License-Identifier: MIT
//
// A table of any number of rows, of which only those in view exist. Up to 8 million pixels the
// scroll bar is the browser's own; beyond that it stands for the whole list in proportion, because
// browsers limit the height of an element.

const kRowHeight = 24,
  kMostPixels = 8e6;

class Grid {
  // columns: [{title, width, num, sort, cell(index) -> text or Node}]
  constructor(columns, options = {}) {
    this.columns = columns;
    this.options = options;
    this.count = 0;
    this.top = 0; // the first row in view, with a fraction
    this.selected = -1;
    this.heads = element("div", { class: "heads", role: "row" });
    this.window = element("div", { class: "window", role: "rowgroup" });
    this.spacer = element("div", {});
    this.body = element(
      "div",
      { class: "body", tabindex: 0, role: "grid", "aria-label": options.label || "Table" },
      this.window,
      this.spacer,
    );
    this.root = element("div", { class: "grid" }, this.heads, this.body);
    this.root.style.setProperty("--columns", columns.map((c) => c.width).join(" "));
    this.makeHeads();
    this.body.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.body.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.body.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(this.body);
  }
  makeHeads() {
    this.heads.replaceChildren(
      ...this.columns.map((column) =>
        element(
          "button",
          {
            type: "button",
            class: column.num ? "num" : "",
            disabled: !column.sort,
            role: "columnheader",
            title:
              column.hint || (column.sort ? `Sort by ${column.title.toLowerCase()}` : column.title),
            "aria-sort":
              this.sortBy === column.sort && column.sort
                ? this.descending
                  ? "descending"
                  : "ascending"
                : undefined,
            onclick: () => this.sortClicked(column),
          },
          column.title +
            (this.sortBy === column.sort && column.sort ? (this.descending ? " ▾" : " ▴") : ""),
        ),
      ),
    );
  }
  sortClicked(column) {
    this.descending = this.sortBy === column.sort ? !this.descending : Boolean(column.num);
    this.sortBy = column.sort;
    this.makeHeads();
    this.options.sort(this.sortBy, this.descending);
  }
  setCount(count, keep) {
    this.count = count;
    if (!keep) this.top = 0;
    this.resize();
    if (!keep) this.body.scrollTop = 0;
  }
  get visible() {
    return this.body.clientHeight / kRowHeight;
  }
  get scaled() {
    return this.count * kRowHeight > kMostPixels;
  }
  resize() {
    const height = Math.min(this.count * kRowHeight, kMostPixels);
    this.spacer.style.height = `${Math.max(0, height - this.body.clientHeight)}px`;
    this.top = Math.max(0, Math.min(this.top, this.count - this.visible));
    this.draw();
  }
  scrolled() {
    if (this.own) return void (this.own = false);
    const range = this.body.scrollHeight - this.body.clientHeight;
    this.top = !this.scaled
      ? this.body.scrollTop / kRowHeight
      : range > 0
        ? (this.body.scrollTop / range) * (this.count - this.visible)
        : 0;
    this.draw();
  }
  wheel(event) {
    if (!this.scaled || event.ctrlKey) return;
    event.preventDefault();
    this.go(this.top + (event.deltaY * (event.deltaMode === 1 ? 20 : 1)) / kRowHeight);
  }
  go(top) {
    this.top = Math.max(0, Math.min(top, this.count - this.visible));
    const range = this.body.scrollHeight - this.body.clientHeight;
    const before = this.body.scrollTop;
    this.body.scrollTop = this.scaled
      ? (this.top / Math.max(1, this.count - this.visible)) * range
      : this.top * kRowHeight;
    this.own = this.body.scrollTop !== before;
    this.draw();
  }
  select(index, reveal) {
    this.selected = index;
    if (reveal && index >= 0 && (index < this.top || index + 1 > this.top + this.visible))
      return this.go(index - this.visible / 2);
    this.draw();
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.visible) - 1);
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -1e12,
      End: 1e12,
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) {
      event.preventDefault();
      const to = Math.max(0, Math.min(this.count - 1, this.selected + steps[event.key]));
      if (this.count === 0) return;
      this.select(to, true);
      if (this.options.pick) this.options.pick(to);
    } else if (this.options.act && this.selected >= 0) {
      if (this.options.act(event.key, this.selected)) event.preventDefault();
    }
  }
  draw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.paint();
    });
  }
  paint() {
    const first = Math.floor(this.top),
      shift = -(this.top - first) * kRowHeight;
    const last = Math.min(this.count, Math.ceil(this.top + this.visible) + 1);
    const rows = [];
    for (let i = first; i < last; i++) {
      const cells = this.columns.map((column) => {
        const made = column.cell(i);
        return element("div", { class: column.num ? "cell num" : "cell", role: "gridcell" }, made);
      });
      const style = this.options.rowClass ? this.options.rowClass(i) : "";
      rows.push(
        element(
          "div",
          {
            class: `row ${style} ${i === this.selected ? "selected" : ""}`,
            role: "row",
            "data-index": i,
            style: { transform: `translateY(${shift}px)` },
            onclick: (event) => {
              this.select(i);
              if (this.options.pick) this.options.pick(i, event);
            },
            ondblclick: () => this.options.open && this.options.open(i),
          },
          cells,
        ),
      );
    }
    this.window.replaceChildren(...rows);
  }
}

// A number with a bar behind it that says its part of the whole.
function barCell(text, part) {
  const width = `${Math.max(0, Math.min(1, part)) * 94}%`;
  return [
    element("span", { class: "fill", style: { width } }),
    element("span", { class: "over" }, text),
  ];
}
