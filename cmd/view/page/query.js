// SPDX-License-Identifier: MIT
//
// What is typed into a search or a filter. Words are joined by "and":
//
//   parse            the name, a text argument or the thread contains it
//   /^sqlite3_/      a regular expression on the name
//   dur>1ms  time<2s self>10us        durations and moments
//   cpu:1  thread:worker  name:step  instance:one  is:call  is:event
//   count>=4096  fd=3  sql~select     arguments
//   -word            not

const kCompare = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
};

// A function of a row; null for an empty query. Throws a sentence when it means nothing.
function compileQuery(recording, text) {
  const tests = [];
  for (const match of text.matchAll(/-?(?:[^\s"/]*"[^"]*"|\/(?:[^/\\]|\\.)+\/|\S+)/g)) {
    const word = match[0],
      not = word.length > 1 && word[0] === "-";
    const test = compileWord(recording, not ? word.slice(1) : word);
    tests.push(not ? (row) => !test(row) : test);
  }
  if (tests.length === 0) return null;
  return tests.length === 1 ? tests[0] : (row) => tests.every((test) => test(row));
}

function compileWord(recording, word) {
  const regular = /^\/(.+)\/$/.exec(word);
  if (regular) {
    let expression;
    try {
      expression = new RegExp(regular[1], "i");
    } catch (error) {
      throw new Error(`The regular expression ${word} is not finished.`);
    }
    return byKind(recording, (name) => expression.test(name));
  }
  const named = /^(name|thread|cpu|instance|is):"?([^"]+)"?$/.exec(word);
  if (named) return compileNamed(recording, named[1], named[2]);
  const compared = /^([\w.]+)(>=|<=|!=|=|>|<|~)"?([^"]*)"?$/.exec(word);
  if (compared) return compileCompared(recording, compared[1], compared[2], compared[3]);
  return contains(recording, word.replace(/"/g, ""));
}

// A test of names, made once for each kind.
function byKind(recording, test) {
  const fits = Uint8Array.from(recording.kindNames, (name) => (test(name) ? 1 : 0));
  return (row) => fits[recording.kind[row]] === 1;
}

function compileNamed(recording, what, value) {
  const low = value.toLowerCase();
  if (what === "name") return byKind(recording, (name) => name.toLowerCase().includes(low));
  if (what === "is") {
    if (low !== "call" && low !== "event") throw new Error("is: takes call or event.");
    return (row) => recording.callRow(row) === (low === "call");
  }
  if (what === "instance") {
    const fits = Uint8Array.from(recording.instanceNames, (name) =>
      name.toLowerCase().includes(low) ? 1 : 0,
    );
    return (row) => fits[recording.instanceOf(row)] === 1;
  }
  if (what === "cpu") {
    const number = Number(value);
    const fits = Uint8Array.from(recording.header.cpus, (cpu) => (cpu.cpu === number ? 1 : 0));
    return (row) => fits[recording.cpu[row]] === 1;
  }
  const fits = Uint8Array.from(recording.header.threads, (thread, t) =>
    recording.threadText(t).toLowerCase().includes(low) || String(thread.tid) === value ? 1 : 0,
  );
  return (row) => fits[recording.thread[row]] === 1;
}

// Texts that were compared once are known.
function textTest(recording, low) {
  const known = new Uint8Array(recording.ends.length); // 1: no, 2: yes
  return (index) => {
    if (known[index] === 0)
      known[index] = recording.text(index).toLowerCase().includes(low) ? 2 : 1;
    return known[index] === 2;
  };
}

function contains(recording, word) {
  const low = word.toLowerCase(),
    has = textTest(recording, low);
  const kinds = Uint8Array.from(recording.header.kinds, (kind) => (has(kind.name) ? 1 : 0));
  const threads = Uint8Array.from(recording.header.threads, (thread, t) =>
    recording.threadText(t).toLowerCase().includes(low) ? 1 : 0,
  );
  const textFields = recording.header.kinds.map((kind, k) =>
    kind.fields.flatMap((field, i) =>
      field.type === "s" || field.type === "a" ? [recording.columnOf(k, i)] : [],
    ),
  );
  return (row) => {
    const k = recording.kind[row];
    if (kinds[k] === 1 || threads[recording.thread[row]] === 1) return true;
    for (const { value, absent } of textFields[k]) {
      const at = recording.inKind[row];
      if (!(absent && absent.at(at) === 1) && has(value.at(at))) return true;
    }
    return false;
  };
}

function compileCompared(recording, name, sign, value) {
  const times = {
    dur: recording.duration,
    duration: recording.duration,
    self: recording.self,
    time: recording.time,
  };
  if (times[name]) {
    const ns = parseTime(value),
      compare = kCompare[sign];
    if (Number.isNaN(ns) || !compare)
      throw new Error(`${name}${sign} takes a time: 20us, 1.5ms, 3s.`);
    const column = times[name];
    return name === "time"
      ? (row) => compare(column[row], ns)
      : (row) => recording.callRow(row) && compare(column[row], ns);
  }
  const fields = recording.header.kinds.map((kind) =>
    kind.fields.findIndex((field) => recording.fieldName(field) === name),
  );
  if (fields.every((index) => index < 0))
    throw new Error(`No call or event of this recording has an argument '${name}'.`);
  const low = value.toLowerCase(),
    number = Number(value);
  const isNumber = value !== "" && !Number.isNaN(number);
  return (row) => {
    const index = fields[recording.kind[row]];
    if (index < 0) return false;
    const found = recording.valueOf(row, index);
    if (found === null) return false;
    if (sign === "~") return String(found).toLowerCase().includes(low);
    if (typeof found === "string" || !isNumber) return kCompare[sign](String(found), value);
    return kCompare[sign](Number(found), number);
  };
}

// The rows that fit, in order of time: {rows, bits}.
function findRows(recording, test) {
  const bits = new Uint8Array(recording.n);
  let count = 0;
  for (let row = 0; row < recording.n; row++) if (test(row)) ((bits[row] = 1), count++);
  const rows = new Uint32Array(count);
  for (let row = 0, at = 0; row < recording.n; row++) if (bits[row]) rows[at++] = row;
  return { rows, bits };
}
