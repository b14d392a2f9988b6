// SPDX-License-Identifier: MIT
//
// speedscope's own importer, in chromium, as the judge of a profile: it opens the file and saves
// what it has understood; that must be what the file says.
//   node speedscope.mjs INDEX.html PROFILE.json SCRIPT.js     SCRIPT.js is written, for the page
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Browser } from "../view/browser.mjs";

const [, , index, file, script] = process.argv;
const written = readFileSync(file);
writeFileSync(script, `speedscope.loadFileFromBase64("p.json", "${written.toString("base64")}")`);

// The sums of weights by stack. speedscope saves samples as begins and ends, a weight apart.
function sumsOf(profile, name) {
  const sums = new Map();
  const add = (stack, weight) =>
    weight > 0 && sums.set(stack.join(";"), (sums.get(stack.join(";")) ?? 0) + weight);
  if (profile.type === "sampled") {
    profile.samples.forEach((stack, i) => add(stack.map(name), profile.weights[i]));
  } else {
    const stack = [];
    let last = profile.startValue;
    for (const { type, frame, at } of profile.events) {
      add(stack, at - last);
      last = at;
      if (type === "O") stack.push(name(frame));
      else stack.pop();
    }
  }
  return [...sums].map(([path, weight]) => `${path} ${weight}`).sort();
}

// Without calls of no time, which speedscope does not keep.
function kept(events) {
  const result = [];
  for (const event of events) {
    const last = result[result.length - 1];
    const isNothing =
      event.type === "C" && last?.type === "O" && last.frame === event.frame && last.at === event.at;
    if (isNothing) result.pop();
    else result.push(event);
  }
  return result;
}

// The profiles in their order. Calls with the names of their functions, and times since the
// profile's begin.
function meaning({ shared, profiles }, types) {
  const name = (frame) => shared.frames[frame].name;
  return profiles.map((profile, i) => ({
    name: profile.name,
    unit: profile.unit,
    events:
      types[i] === "sampled"
        ? sumsOf(profile, name)
        : kept(profile.events).map(
            ({ type, frame, at }) => `${type} ${name(frame)} ${at - profile.startValue}`,
          ),
  }));
}

function differences(expected, found) {
  const lines = [];
  if (expected.length !== found.length)
    lines.push(`${found.length} profiles, and the file has ${expected.length}`);
  expected.forEach((profile, i) => {
    const other = found[i] ?? { events: [] };
    for (const key of ["name", "unit"])
      if (profile[key] !== other[key]) lines.push(`${key}: ${other[key]}, not ${profile[key]}`);
    if (profile.events.length !== other.events.length)
      lines.push(`${profile.name}: ${other.events.length} of ${profile.events.length}`);
    const at = profile.events.findIndex((event, k) => event !== other.events[k]);
    if (at >= 0) lines.push(`${profile.name}, ${at}: ${other.events[at]}, not ${profile.events[at]}`);
  });
  return lines;
}

const browser = await Browser.start();
let saved;
try {
  const page = await browser.open(
    `${pathToFileURL(index).href}#localProfilePath=${encodeURI(script)}`,
  );
  await page.until("/Sandwich/.test(document.body.innerText)", "the profile");
  // What it saves is a blob, which a link would download.
  await page.eval(`void (URL.createObjectURL = (blob) => {
    blob.text().then((text) => { window.saved = text; });
    return "#";
  })`);
  await page.until(
    `window.saved || (window.dispatchEvent(new KeyboardEvent("keydown",
      { key: "s", code: "KeyS", ctrlKey: true, bubbles: true })), window.saved)`,
    "what speedscope saves",
  );
  saved = await page.eval("window.saved");
} finally {
  await browser.stop();
}
const profile = JSON.parse(written);
const types = profile.profiles.map(({ type }) => type);
const expected = meaning(profile, types);
const lines = differences(expected, meaning(JSON.parse(saved), types));
for (const line of lines) console.log(line);
if (lines.length === 0)
  console.log(`${expected.reduce((sum, { events }) => sum + events.length, 0)} events are the same`);
process.exit(lines.length === 0 ? 0 : 1);
