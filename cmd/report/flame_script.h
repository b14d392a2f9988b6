// SPDX-License-Identifier: MIT
//
// The script that makes a flame graph answer in a browser. Frames are <g class="f"> with title,
// rect and text. A rect's data-x and data-w are its place in nanoseconds or samples. The script
// computes pixels from them for the part that is zoomed to.
#pragma once

namespace patchbay::cmd {

inline constexpr char kFlameStyle[] = R"(<style>
text { font-family: Verdana, sans-serif; font-size: 12px; fill: black; }
.back { fill: #fbf7ee; }
.title { font-size: 17px; text-anchor: middle; }
.subtitle { fill: #666; text-anchor: middle; }
.button { fill: #555; cursor: pointer; }
.button:hover { fill: black; }
.f { cursor: pointer; }
.f text { pointer-events: none; }
.f:hover rect { stroke: black; stroke-width: 0.5; }
.below rect { opacity: 0.5; }
.match rect { fill: rgb(220,0,220); }
.hidden { display: none; }
</style>
)";

// Zooming.
inline constexpr char kFlameZoom[] = R"js(<script><![CDATA[
"use strict";
(function () {
  const svg = document.documentElement;
  const total = Number(svg.dataset.total) || 1;
  const margin = Number(svg.dataset.margin);
  const width = svg.viewBox.baseVal.width - 2 * margin;
  const byId = (id) => document.getElementById(id);
  const frames = Array.from(document.querySelectorAll("g.f")).map((group) => {
    const rect = group.querySelector("rect");
    const title = group.querySelector("title").textContent;
    return {
      group, rect, title, text: group.querySelector("text"),
      name: title.slice(0, title.lastIndexOf(" (")),
      x: Number(rect.dataset.x), w: Number(rect.dataset.w), y: Number(rect.getAttribute("y")),
    };
  });
  let zoomed = frames[0];

  function fit(frame, pixels) {
    const room = Math.floor((pixels - 6) / 7);
    if (frame.name.length <= room) return frame.name;
    return room < 4 ? "" : frame.name.slice(0, room - 2) + "..";
  }
  function place(frame, x, pixels) {
    frame.rect.setAttribute("x", x.toFixed(1));
    frame.rect.setAttribute("width", pixels.toFixed(1));
    frame.text.setAttribute("x", (x + 3).toFixed(1));
    frame.text.textContent = fit(frame, pixels);
  }
  function draw() {
    const scale = width / (zoomed.w || 1);
    for (const frame of frames) {
      const around = frame.y > zoomed.y && frame.x <= zoomed.x &&
        frame.x + frame.w >= zoomed.x + zoomed.w;
      const inside = frame.y <= zoomed.y && frame.x >= zoomed.x &&
        frame.x + frame.w <= zoomed.x + zoomed.w;
      frame.group.classList.toggle("hidden", !around && !inside);
      frame.group.classList.toggle("below", around);
      if (around) place(frame, margin, width);
      else if (inside) place(frame, margin + (frame.x - zoomed.x) * scale, frame.w * scale);
    }
    byId("reset").classList.toggle("hidden", zoomed === frames[0]);
  }
  function zoom(frame) {
    zoomed = frame;
    draw();
  }
)js";

// Searching, and what starts either.
inline constexpr char kFlameSearch[] = R"js(  function clearSearch() {
    for (const frame of frames) frame.group.classList.remove("match");
    byId("matched").textContent = " ";
    byId("search").textContent = "Search";
  }
  // Time of what matches; a match above a match does not count again.
  function search(pattern) {
    clearSearch();
    let expression;
    try { expression = new RegExp(pattern); } catch (error) { return; }
    const found = frames.filter((frame) => expression.test(frame.name));
    for (const frame of found) frame.group.classList.add("match");
    let sum = 0, end = 0;
    found.sort((a, b) => a.x - b.x || b.w - a.w);
    for (const frame of found) {
      if (frame.x + frame.w <= end) continue;
      sum += frame.x + frame.w - Math.max(frame.x, end);
      end = frame.x + frame.w;
    }
    byId("matched").textContent = "Matched: " + (100 * sum / total).toFixed(2) + "%";
    byId("search").textContent = "Clear";
  }
  function ask() {
    if (byId("search").textContent === "Clear") return clearSearch();
    const pattern = prompt("Search functions (a regular expression)", "");
    if (pattern) search(pattern);
  }
  for (const frame of frames) {
    frame.group.addEventListener("click", () => zoom(frame));
    frame.group.addEventListener("mouseover", () => { byId("details").textContent = frame.title; });
    frame.group.addEventListener("mouseout", () => { byId("details").textContent = " "; });
  }
  byId("reset").addEventListener("click", () => zoom(frames[0]));
  byId("search").addEventListener("click", ask);
  window.addEventListener("keydown", (event) => {
    if ((event.ctrlKey && event.key === "f") || event.key === "F3") {
      event.preventDefault();
      ask();
    } else if (event.key === "Escape") {
      clearSearch();
      zoom(frames[0]);
    }
  });
})();
]]></script>
)js";

}  // namespace patchbay::cmd
