// SPDX-License-Identifier: MIT
// Numbers as people read them, and elements of the page. Texts of a recording become text nodes and
// nothing else.

const kMicro = "\u00b5s";

// "1.234 µs": three significant decimals at most, the unit that fits.
function timeText(ns, digits = 3) {
  if (!Number.isFinite(ns)) return "–";
  const size = Math.abs(ns);
  if (size < 1000) return `${Number.isInteger(ns) ? ns : ns.toFixed(1)} ns`;
  const units = [
    [1e3, kMicro],
    [1e6, "ms"],
    [1e9, "s"],
  ];
  let unit = units[0];
  for (const each of units) if (size >= each[0] * 0.9999995) unit = each;
  return `${(ns / unit[0]).toFixed(digits)} ${unit[1]}`;
}
// For axes and tiles, where there is little room.
function shortTime(ns) {
  return timeText(ns, 2)
    .replace(/(\.\d*?)0+ /, "$1 ")
    .replace(". ", " ");
}
// A moment since the recording's start, as exact as the span that is seen needs: "12.5 ms".
function momentText(ns, span) {
  const [size, unit] =
    Math.abs(ns) >= 1e9
      ? [1e9, "s"]
      : Math.abs(ns) >= 1e6
        ? [1e6, "ms"]
        : Math.abs(ns) >= 1e3
          ? [1e3, kMicro]
          : [1, "ns"];
  const most = Math.round(Math.log10(size));
  const digits = Math.max(0, Math.min(most, Math.ceil(-Math.log10(Math.max(span, 1) / size)) + 1));
  return ns === 0
    ? "0"
    : `${(ns / size)
        .toFixed(digits)
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "")} ${unit}`;
}
function countText(number) {
  return Number(number).toLocaleString("en-US");
}
function bytesText(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 4; unit++) bytes /= 1024;
  return `${unit === 0 ? bytes : bytes.toFixed(1)} ${units[unit]}`;
}
function shortCount(number) {
  if (Math.abs(number) < 10000)
    return Number.isInteger(number) ? countText(number) : String(Number(number.toPrecision(3)));
  const units = ["", "k", "M", "G", "T", "P", "E"];
  let unit = 0;
  for (; Math.abs(number) >= 1000 && unit < 6; unit++) number /= 1000;
  return `${Number(number.toPrecision(3))}${units[unit]}`;
}
function percentText(part) {
  return `${(100 * part).toFixed(part < 0.0995 ? 2 : 1)} %`;
}
function plural(number, one, many = `${one}s`) {
  return `${countText(number)} ${number === 1 ? one : many}`;
}
// "1.5ms" to nanoseconds; NaN when it is no time.
function parseTime(text) {
  const match = /^([\d.]+)\s*(ns|us|µs|ms|s|m)?$/i.exec(text.trim());
  if (!match || Number.isNaN(Number(match[1]))) return NaN;
  const factor = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9 };
  return Number(match[1]) * factor[(match[2] || "ns").toLowerCase()];
}

const byId = (id) => document.getElementById(id);

// element("div", {class: "x", onclick: f}, "text", otherElement)
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}
function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}
function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(made.style, value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat())
    if (child !== null && child !== undefined) made.append(child);
  return made;
}
function segments(choices, chosen, choose) {
  const group = element("div", { class: "segments", role: "group" });
  for (const [value, label] of choices) {
    group.append(
      element(
        "button",
        {
          type: "button",
          "data-value": value,
          "aria-pressed": String(value === chosen),
          onclick: () => {
            for (const each of group.children)
              each.setAttribute("aria-pressed", each.dataset.value === value);
            choose(value);
          },
        },
        label,
      ),
    );
  }
  return group;
}
function emptyState(title, ...lines) {
  return element(
    "div",
    { class: "empty" },
    element("h2", {}, title),
    lines.map((line) => element("p", {}, line)),
  );
}

// The tooltip: a title and lines of two words, near the pointer and within the window.
const tip = {
  show(event, title, lines, remark) {
    const box = byId("tip");
    box.replaceChildren(element("b", {}, title));
    for (const [name, value] of lines)
      box.append(
        element("div", { class: "line" }, element("span", {}, name), element("span", {}, value)),
      );
    if (remark) box.append(element("div", { class: "dim" }, remark));
    box.hidden = false;
    const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
    const below = event.clientY + 18;
    const top =
      below + box.offsetHeight > innerHeight - 8 ? event.clientY - box.offsetHeight - 10 : below;
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${Math.max(8, top)}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};
