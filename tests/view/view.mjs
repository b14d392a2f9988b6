// SPDX-License-Identifier: MIT
//
// Walks through a page of `patchbay view` in chromium, as a person would: looks, zooms, searches,
// clicks, filters. What must be so comes from the script as JSON: counts of report and of the
// recorded program itself.
//   node view.mjs CASE PAGE EXPECTED.json SHOTS
import { readFileSync } from "node:fs";
import { Browser } from "./browser.mjs";

const [, , what, file, expectedFile, shots] = process.argv;
const expected = expectedFile ? JSON.parse(readFileSync(expectedFile, "utf8")) : {};
let checks = 0,
  failures = 0;
function same(sentence, wanted, found) {
  checks++;
  if (JSON.stringify(wanted) === JSON.stringify(found)) return;
  failures++;
  console.log(
    `FAIL: ${what}: ${sentence}\n  expected: ${JSON.stringify(wanted)}\n` +
      `  actual:   ${JSON.stringify(found)}`.slice(0, 900),
  );
}
const holds = (sentence, found) => same(sentence, true, Boolean(found));

// Nothing on the console, and nothing asked of a network.
function quiet(page) {
  same("nothing on the console", [], page.errors);
  same(
    "nothing is loaded but the page and its worker",
    [],
    page.requests.filter((url) => !url.startsWith("file:") && !url.startsWith("blob:")),
  );
  same("one file is loaded", 1, page.requests.filter((url) => url.startsWith("file:")).length);
}
const countsOf = (page) =>
  page.eval(`app.recording.header.records.map(([name, count]) =>
  [app.recording.text(name), count]).sort()`);

// Where a row stands on the screen.
const placeOf = (page, row) =>
  page.eval(`(() => {
  const t = app.timeline, box = t.canvas.getBoundingClientRect(), lane = t.lanes.laneOfRow(${row});
  const from = Math.max(t.view.from, app.recording.time[${row}]);
  const until = Math.min(t.view.until, app.recording.endOf(${row}));
  return [box.left + t.xOf((from + until) / 2),
          box.top + kAxisHeight + t.lanes.top[lane] - t.scroller.scrollTop + kCallHeight / 2];
})()`);
const firstCall = (page, name) =>
  page.eval(
    `app.recording.kind.findIndex((k, row) => app.recording.isCall[k] && app.recording.nameOf(row) === "${name}")`,
  );

async function timeline(page) {
  const whole = await page.eval("app.timeline.view.until - app.timeline.view.from");
  same("all is in view", await page.eval("app.timeline.length"), whole);
  await page.eval("byId('tracks').focus()");
  await page.mouse("mouseMoved", 700, 400);
  await page.key("w", { hold: 300 });
  const nearer = await page.eval("app.timeline.view.until - app.timeline.view.from");
  holds("W zooms in", nearer < whole);
  const from = await page.eval("app.timeline.view.from");
  await page.key("d", { hold: 200 });
  holds("D goes on", (await page.eval("app.timeline.view.from")) > from);
  await page.mouse("mouseWheel", 700, 400, { deltaX: 0, deltaY: 300, modifiers: 2 });
  await page.until(
    `app.timeline.view.until - app.timeline.view.from > ${nearer}`,
    "Ctrl+wheel zooms out",
  );
  await page.key("0");
  same("0 shows all", whole, await page.eval("app.timeline.view.until - app.timeline.view.from"));
}

async function clicked(page) {
  const row = await firstCall(page, "page_work");
  await page.eval(`app.timeline.reveal(${row}, true)`);
  await page.settled();
  const [x, y] = await placeOf(page, row);
  await page.mouse("mouseMoved", x, y);
  await page.settled();
  holds(
    "the tooltip says its name",
    (await page.eval("byId('tip').hidden ? '' : byId('tip').innerText")).includes("page_work"),
  );
  await page.click(x, y);
  same("a click selects", row, await page.eval("app.selected"));
  const text = await page.eval("byId('details').innerText");
  for (const word of expected.details)
    holds(`the details say ${word}: ${text}`, text.includes(word));
  holds("the details have its caller", /CALLED BY[^]*page_round/i.test(text));
  await page.shot(`${shots}/click.png`);
  await page.key("ArrowDown");
  same(
    "arrow down goes to what it called",
    "page_step",
    await page.eval("app.recording.nameOf(app.selected)"),
  );
  await page.key("ArrowUp");
  same("arrow up goes back", row, await page.eval("app.selected"));
  const [left] = await page.eval("[app.timeline.plotWidth]");
  await page.drag(300, y, 300 + left / 2, y);
  holds("a drag measures", await page.eval("app.range && app.range.until > app.range.from"));
  holds(
    "and says what is in it",
    (await page.eval("byId('details').innerText")).includes("page_step"),
  );
  await page.key("Escape");
  same("Escape forgets it", null, await page.eval("app.range"));
}

async function search(page) {
  await page.key("/");
  await page.type("needle");
  await page.until("app.matches && app.searchText === 'needle'");
  same("rows with the word", expected.needles, await page.eval("app.matches.rows.length"));
  await page.key("Enter");
  holds(
    "Enter goes to one",
    (await page.eval("byId('found').textContent")).endsWith(
      `of ${expected.needles.toLocaleString("en-US")}`,
    ),
  );
  holds("which has it", (await page.eval("byId('details').innerText")).includes("the needle"));
  await page.shot(`${shots}/search.png`);
  await page.key("Escape");
  same("Escape clears the search", null, await page.eval("app.matches"));
}

async function views(page) {
  await page.eval("app.open('calls')");
  await page.until("app.views.calls.tree");
  await page.settled();
  await page.shot(`${shots}/calls.png`);
  await page.eval("app.views.calls.mode = 'flat'; app.views.calls.load()");
  await page.until("app.views.calls.tree.count.length > 3 && app.views.calls.tree.parent[1] === 0");
  const flat =
    await page.eval(`Object.fromEntries(Array.from(app.views.calls.tree.name).slice(1).map((n, i) =>
    [app.recording.text(n), app.views.calls.tree.count[i + 1]]))`);
  for (const [name, count] of Object.entries(expected.calls))
    same(`calls of ${name}`, count, flat[name]);
  await page.eval("app.open('flame')");
  await page.until("app.views.flame.tree");
  await page.settled();
  await page.shot(`${shots}/flame.png`);
  const sum = await page.eval("app.views.flame.tree.total[0]");
  const box = await page.eval(
    `app.views.flame.boxes.find(([, , w, n]) => n > 0 && w > 40).slice(0, 2)`,
  );
  const origin = await page.eval(
    "(({left, top}) => [left, top])(app.views.flame.canvas.getBoundingClientRect())",
  );
  await page.click(origin[0] + box[0] + 8, origin[1] + box[1] + 8);
  holds("a click zooms into a box", await page.eval("app.views.flame.zoomed > 0"));
  await page.eval("app.trees.setThread(0)");
  await page.until(`app.views.flame.tree.total[0] < ${sum}`, "one thread has less");
  await page.eval("app.trees.setThread(-1)");
  await page.eval("app.open('spread')");
  await page.until("app.views.spread.charts.querySelectorAll('figure').length >= 3");
  await page.eval(
    "app.views.spread.choose(app.recording.kindNames.findIndex((n, k) => n === 'page_step' && app.recording.isCall[k]))",
  );
  await page.settled();
  await page.shot(`${shots}/distributions.png`);
  holds(
    "quantiles are in order",
    await page.eval(`(() => { const s = app.views.spread.statistics,
    k = app.views.spread.kind, d = s.sorted.subarray(s.first[k], s.first[k + 1]);
    return d.length === ${expected.calls.page_step} && quantile(d, 0.5) <= quantile(d, 0.99) &&
           quantile(d, 1) === d[d.length - 1]; })()`),
  );
  await page.eval("app.open('about')");
  await page.settled();
  await page.shot(`${shots}/recording.png`);
}

async function table(page) {
  await page.eval("app.open('events')");
  await page.until("app.views.events.rows");
  same("all rows", expected.rows, await page.eval("app.views.events.rows.length"));
  await page.eval("app.views.events.input.focus()");
  await page.type("is:event i=3");
  await page.until(`app.views.events.rows.length < ${expected.rows}`);
  same("the filter", expected.threes, await page.eval("app.views.events.rows.length"));
  await page.settled();
  await page.shot(`${shots}/table.png`);
  await page.eval("app.views.events.setFilter('i=')");
  await page.eval("app.views.events.setFilter('nothing>3')");
  holds(
    "a wrong filter is said",
    (await page.eval("app.views.events.count.textContent")).includes("'nothing'"),
  );
  await page.eval("app.views.events.setFilter('is:call')");
  await page.eval("[...app.views.events.grid.heads.children][3].click()");
  holds(
    "sorted by duration",
    await page.eval(`app.views.events.rows.every((row, i, rows) =>
    i === 0 || app.recording.duration[rows[i - 1]] >= app.recording.duration[row])`),
  );
}

// Which instance a row is from: {name: rows}. One alone has no column.
async function instances(page) {
  await page.eval("app.open('events')");
  await page.until("app.views.events.rows");
  await page.settled();
  const names = Object.keys(expected.instances);
  const heads = await page.eval(
    "[...app.views.events.grid.heads.children].map((head) => head.textContent.replace(/ .$/, ''))",
  );
  same(`a column of instances: ${heads}`, names.length > 1, heads.includes("Instance"));
  for (const name of names) {
    await page.eval(`app.views.events.setFilter("instance:${name}")`);
    same(`rows of ${name}`, expected.instances[name], await page.eval("app.views.events.rows.length"));
    await page.settled();
    if (names.length > 1) {
      const cells = await page.eval(`[...app.views.events.grid.window.children].map((row) =>
        row.children[${heads.indexOf("Instance")}].textContent)`);
      same(`each row says ${name}`, [name], [...new Set(cells)]);
    }
    await page.eval("app.select(app.views.events.rows[0], 'table')");
    const text = await page.eval("byId('details').textContent");
    same(`the details say ${name}`, name !== "top" || names.length > 1, text.includes(`instance${name}`));
  }
  await page.eval("app.views.events.setFilter('')");
  if (names.length < 2) return;
  await page.eval(`app.views.events.grid.heads.children[${heads.indexOf("Instance")}].click()`);
  const sorted = await page.eval(
    "Array.from(app.views.events.rows, (row) => app.recording.instanceText(row))",
  );
  same("sorted by instance", sorted.slice().sort(), sorted);
}

async function dark(page) {
  const light = await page.eval("getComputedStyle(document.body).backgroundColor");
  await page.eval("app.open('timeline')");
  await page.dark(true);
  await page.until("document.documentElement.classList.contains('dark')", "the system's dark");
  await page.settled();
  holds(
    "other colours",
    (await page.eval("getComputedStyle(document.body).backgroundColor")) !== light,
  );
  await page.shot(`${shots}/dark.png`);
  await page.eval("byId('theme').click(); byId('theme').click()");
  holds(
    "the switch overrules the system",
    !(await page.eval("document.documentElement.classList.contains('dark')")),
  );
  await page.dark(false);
  await page.key("?");
  holds("? opens the help", await page.eval("byId('help').open"));
  await page.shot(`${shots}/help.png`);
  await page.key("Escape");
  await page.pdf(`${shots}/print.pdf`);
}

// No text of the recording became a part of the page.
async function harmless(page) {
  holds("the title is ours", (await page.eval("document.title")).endsWith(".dat – patchbay"));
  same(
    "no element came out of the data",
    0,
    await page.eval(
      "document.querySelectorAll('main script, main b b, main img, dialog img, header script').length",
    ),
  );
  const threads = await page.eval("app.recording.threadNames.slice().sort()");
  holds(`names of threads are there as texts: ${threads}`, threads.includes("<b>bold</b>"));
  holds(
    "bytes that are no UTF-8 are shown as numbers",
    threads.some((name) => name.endsWith("\\xff")),
  );
  for (const view of ["timeline", "calls", "flame", "spread", "events", "about"]) {
    await page.eval(`app.open("${view}")`);
    await page.settled();
  }
  await page.eval(`app.select(${await firstCall(page, "page_work")}, "key")`);
}

async function big(page) {
  const opened = await page.eval("app.openedAfter");
  await page.eval("app.open('timeline'); app.timeline.frames.length = 0; byId('tracks').focus()");
  await page.mouse("mouseMoved", 700, 400);
  await page.key("w", { hold: 900 });
  await page.key("s", { hold: 900 });
  const frames = await page.eval("app.timeline.frames.slice().sort((a, b) => a - b)");
  holds("frames were drawn", frames.length > 3);
  const at = (part) => frames[Math.floor(part * (frames.length - 1))].toFixed(1);
  console.log(
    `  ${expected.rows.toLocaleString("en-US")} rows: open after ${(opened / 1000).toFixed(2)} s, ` +
      `a frame takes ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(1)} ms (longest)`,
  );
  same("all rows", expected.rows, await page.eval("app.recording.n"));
  await page.shot(`${shots}/big.png`);
}

const cases = {
  async walk(page) {
    same("counts of report", expected.records, await countsOf(page));
    same("records in all", expected.total, await page.eval("app.recording.header.total"));
    await page.settled();
    await page.shot(`${shots}/timeline.png`);
    for (const part of [timeline, clicked, search, views, table, dark, harmless]) await part(page);
  },
  async lossy(page) {
    same(
      "lost, as report says it",
      expected.lost,
      await page.eval("app.recording.header.cpus.reduce((sum, cpu) => sum + cpu.lost, 0)"),
    );
    holds(
      "the badge says it",
      (await page.eval("byId('badges').innerText")).includes(expected.lost.toLocaleString("en-US")),
    );
    same("counts of report", expected.records, await countsOf(page));
    await page.shot(`${shots}/lossy.png`);
  },
  async empty(page) {
    same("no row", 0, await page.eval("app.recording.n"));
    for (const view of ["timeline", "calls", "flame", "spread", "events", "about"]) {
      await page.eval(`app.open("${view}")`);
      await page.settled();
      await page.eval("new Promise((resolve) => setTimeout(resolve, 100))");
    }
    holds(
      "it says so",
      (await page.eval("byId('details').textContent")).includes("Nothing was recorded"),
    );
    await page.eval("app.open('calls')");
    await page.settled();
    await page.shot(`${shots}/empty.png`);
  },
  async damaged(page) {
    holds(
      "the damage is said",
      (await page.eval("app.recording.header.notices.map((n) => n[1]).join()")).match(
        /cut short|damaged/,
      ),
    );
    same("counts of report", expected.records, await countsOf(page));
  },
  // What kinds of rows there are, and what the page says of the first of each.
  async kinds(page) {
    same("counts of report", expected.records, await countsOf(page));
    for (const [name, wanted] of Object.entries(expected.kinds ?? {})) {
      const isMeant = `app.recording.nameOf(row) === ${JSON.stringify(name)} &&
        app.recording.callRow(row) === ${wanted.call ?? false} &&
        app.recording.text(app.recording.kindOf(row).system) === ${JSON.stringify(wanted.system)}`;
      const rows = await page.eval(`Array.from(app.recording.kind.keys()).filter((row) => ${isMeant})`);
      same(`rows of ${name}`, wanted.count, rows.length);
      if (rows.length === 0) continue;
      await page.eval(`app.open("timeline"); app.timeline.reveal(${rows[0]}, true)`);
      await page.settled();
      await page.click(...(await placeOf(page, rows[0])));
      same(`a click selects ${name}`, rows[0], await page.eval("app.selected"));
      const text = await page.eval("byId('details').innerText");
      for (const word of wanted.details ?? [])
        holds(`the details of ${name} say ${word}: ${text}`, text.includes(word));
      for (const word of wanted.without ?? [])
        holds(`the details of ${name} do not say ${word}: ${text}`, !text.includes(word));
      if (wanted.stack)
        same(`the stack of ${name}`, wanted.stack,
          (await page.eval(`app.recording.stackOf(${rows[0]})`)).slice(0, wanted.stack.length)
            .map((frame) => frame.replace(/\+.*/, "")));
      // Entry and return may be in one nanosecond.
      holds("calls have a time", !wanted.call || (await page.eval(
        `[${rows}].every((row) => app.recording.duration[row] >= 0) &&
         [${rows}].some((row) => app.recording.duration[row] > 0)`)));
    }
    if (expected.instances) await instances(page);
    for (const view of ["timeline", "calls", "flame", "spread", "events", "about"]) {
      await page.eval(`app.open("${view}")`);
      await page.settled();
      await page.eval("new Promise((resolve) => setTimeout(resolve, 100))");
      if (view === "calls" || view === "flame") {
        await page.until(`app.views.${view}.tree`);
        await page.settled();
        const shown = await page.eval(`Array.from(app.views.${view}.tree.name).slice(1)
          .map((name) => app.recording.text(name).replace(/\\+.*/, ""))`);
        for (const name of expected.tree ?? [])
          holds(`${view} has ${name}: ${shown}`, shown.includes(name));
      }
      if (view !== "calls") await page.shot(`${shots}/${expected.name}_${view}.png`);
    }
  },
  async broken(page) {
    holds("it says why", (await page.eval("byId('curtain').innerText")).includes("damaged"));
    await page.shot(`${shots}/broken.png`);
  },
  // A page that a process's server gives: what it says changes while nobody touches it.
  async live(page) {
    const looks = "Number(document.documentElement.dataset.looks ?? 0)";
    await page.until(`${looks} >= 2`);
    same("it begins with the live view", "live", await page.eval("app.view"));
    const table = () => page.eval("byId('view-live').innerText");
    for (const name of expected.functions) holds(`functions have ${name}`, (await table()).includes(name));
    const hits = () => page.eval("app.views.live.state.histograms[0].hist.hits");
    const calls = () => page.eval("app.views.live.state.top.calls");
    const [hitsBefore, callsBefore] = [await hits(), await calls()];
    await page.until(`${looks} >= 4`);
    holds("hits come", (await hits()) > hitsBefore);
    holds("calls come", (await calls()) > callsBefore);
    same("a bar for each range", expected.ranges,
      await page.eval(`document.querySelectorAll(".live-hist .live-bar").length`));
    same("each function has a line of calls", expected.functions.length,
      await page.eval(`document.querySelectorAll(".spark polyline").length`));
    await page.shot(`${shots}/live.png`);
    await page.eval("app.views.live.setPaused(true)");
    await page.eval("new Promise((resolve) => setTimeout(resolve, 300))");
    const still = await page.eval(looks);
    await page.eval("new Promise((resolve) => setTimeout(resolve, 1500))");
    same("paused, it does not ask", still, await page.eval(looks));
    await page.eval("app.open('timeline')");
    holds("the newest calls are in the timeline", (await page.eval("app.recording.calls")) > 0);
    const last = "app.recording.header.total";
    const before = await page.eval(last);
    await page.eval("document.documentElement.dataset.ready = 'old'");
    await page.key("r");
    await page.until("document.documentElement.dataset.ready === 'yes'");
    holds(`R takes newer ones: ${before}`, (await page.eval(last)) > before);
    same("and stays where it was", "timeline", await page.eval("app.view"));
    await page.eval("app.open('live')");
    process.kill(expected.pid, "SIGKILL");
    await page.until("app.views.live.state && app.views.live.state.ended");
    holds("it says that the process has ended", (await table()).includes("has ended"));
    same("it asks its server and nobody else", [],
      page.requests.filter((url) => !url.startsWith(file) && !url.startsWith("blob:")));
    same("nothing on the console", [], page.errors);
  },
  big,
};

const browser = await Browser.start();
try {
  const page = await browser.open(file);
  same("it opens", what === "broken" ? "failed" : "yes", await page.ready());
  await cases[what](page);
  if (what !== "live") quiet(page);
} catch (error) {
  failures++;
  console.log(`FAIL: ${what}: ${error.stack}`);
} finally {
  await browser.stop();
}
console.log(`view.mjs ${what}: ${checks} checks, ${failures} failures`);
process.exit(failures > 0 ? 1 : 0);
