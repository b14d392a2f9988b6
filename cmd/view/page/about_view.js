// SPDX-License-Identifier: MIT
// The recording: what it is, what it has lost, what this page has of it, and counts of all kinds.

class AboutView {
  constructor(app) {
    this.app = app;
    this.root = byId("view-about");
    const { header } = app.recording;
    this.root.append(
      element(
        "div",
        { class: "about" },
        element("section", {}, element("h2", {}, "State"), this.notices(header)),
        element(
          "section",
          {},
          element("h2", {}, "Recording"),
          pairs(header.meta.map(([name, value]) => [name, value])),
        ),
        element("section", {}, element("h2", {}, "CPUs and what they lost"), this.cpus(header)),
        element("section", {}, element("h2", {}, "Kinds of records"), this.kinds(header)),
        element("section", {}, element("h2", {}, "Threads"), this.threads(header)),
      ),
    );
  }
  show() {}
  repaint() {}
  notices(header) {
    const notice = (kind, text) => element("div", { class: `notice ${kind}` }, text);
    const list = header.notices.map(([kind, text]) => notice(kind, text));
    return list.length > 0
      ? list
      : [
          notice(
            "good",
            "Nothing was lost, nothing is damaged, and the page has all of the recording.",
          ),
        ];
  }
  cpus(header) {
    return table(
      ["CPU", "Records", "Lost"],
      header.cpus.map((cpu) => [String(cpu.cpu), countText(cpu.records), lostText(cpu)]),
    );
  }
  kinds(header) {
    const { recording } = this.app;
    return table(
      ["Event", "Records"],
      header.records.map(([name, count]) => [
        element("span", { class: "mono" }, recording.text(name)),
        countText(count),
      ]),
    );
  }
  threads(header) {
    const { recording } = this.app;
    const shown = header.threads.slice(0, 500);
    const body = table(
      ["Thread", "Id", "Process", "Rows"],
      shown.map((thread, t) => [
        recording.threadNames[t],
        String(thread.tid),
        `${recording.text(thread.process)} (${thread.pid})`,
        countText(this.app.rowsOfThread(t)),
      ]),
      2,
    );
    return shown.length === header.threads.length
      ? body
      : [body, element("p", { class: "dim" }, `${countText(header.threads.length - 500)} more`)];
  }
}
function lostText(cpu) {
  if (cpu.lost === 0) return "0";
  return `${cpu.atLeast ? "at least " : ""}${countText(cpu.lost)}`;
}
// Columns behind the first are numbers, but for those up to `texts`.
function table(heads, rows, texts = 0) {
  const align = (i) => (i > texts ? "num" : "");
  return element(
    "table",
    { class: "plain" },
    element(
      "tr",
      {},
      heads.map((head, i) => element("th", { class: align(i) }, head)),
    ),
    rows.map((row) =>
      element(
        "tr",
        {},
        row.map((cell, i) => element("td", { class: align(i) }, cell)),
      ),
    ),
  );
}
