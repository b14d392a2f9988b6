// SPDX-License-Identifier: MIT
//
// What is computed once when the page opens, in the worker. A row is a call or an event, in order of
// time. For drawing, rows stand in tracks, one for each level of calls of a thread:
//
//   thread 1, level 0   [ main                                  ]     callRows of track 0
//   thread 1, level 1     [ parse      ] [ run               ]        … of track 1
//   thread 1, level 2        [next]        [step] [step]              … of track 2
//   thread 1, events         |   |          ||||                      eventRows of thread 1
//
// busy[] is the sum of durations before each call of callRows. So the time that any pixel's calls
// take is one subtraction, at every zoom.

const kNoDepth = 65535; // of a call that two events make: it is nested by its times

// Positions of each value in `keys`, stable: {first, rows}; rows of k are first[k] … first[k + 1].
function bucket(keys, count, among) {
  const first = new Uint32Array(count + 1);
  const size = among ? among.length : keys.length;
  for (let i = 0; i < size; i++) first[keys[among ? among[i] : i] + 1]++;
  for (let k = 0; k < count; k++) first[k + 1] += first[k];
  const at = first.slice(0, count);
  const rows = new Uint32Array(size);
  for (let i = 0; i < size; i++) {
    const row = among ? among[i] : i;
    rows[at[keys[row]]++] = row;
  }
  return { first, rows };
}

function numbersOf(column, Type) {
  const out = new Type(column.length);
  const base = column.baseNumber,
    raw = column.raw;
  for (let i = 0; i < out.length; i++) out[i] = base + raw[i];
  return out;
}

class Model {
  constructor(header, buffer) {
    this.header = header;
    this.buffer = buffer;
    const columns = header.columns;
    const n = (this.n = header.rows);
    this.time = readVarints(buffer, columns.time, true);
    this.kind = numbersOf(readFixed(buffer, columns.kind), Uint32Array);
    this.thread = numbersOf(readFixed(buffer, columns.thread), Uint32Array);
    this.cpu = numbersOf(readFixed(buffer, columns.cpu), Uint32Array);
    this.isCall = mapped(Uint8Array, header.kinds, (kind) => (kind.call ? 1 : 0));
    this.spreadCalls(columns);
    this.numberInKind(n);
    this.nest();
    this.makeTracks();
  }

  // Durations, depths and ends are stored for calls only.
  spreadCalls(columns) {
    const durations = readVarints(this.buffer, columns.duration, false);
    const depths = readFixed(this.buffer, columns.depth);
    const hows = readFixed(this.buffer, columns.how);
    this.duration = new Float64Array(this.n);
    this.depth = new Uint16Array(this.n);
    this.how = new Uint8Array(this.n);
    let call = 0;
    for (let row = 0; row < this.n; row++) {
      if (!this.isCall[this.kind[row]]) continue;
      this.duration[row] = durations[call];
      this.depth[row] = Math.min(depths.at(call), 65535);
      this.how[row] = hows.at(call++);
    }
    this.calls = call;
  }

  // Where a row's fields stand in the columns of its kind.
  numberInKind(n) {
    const next = new Uint32Array(this.header.kinds.length);
    this.inKind = new Uint32Array(n);
    for (let row = 0; row < n; row++) this.inKind[row] = next[this.kind[row]]++;
    this.rowsOfKind = next;
  }

  // Parents, levels and self times, thread by thread.
  nest() {
    const { time, duration, depth, kind, n } = this;
    this.byThread = bucket(this.thread, this.header.threads.length);
    this.parent = new Int32Array(n).fill(-1);
    this.level = new Uint16Array(n);
    this.self = duration.slice();
    this.inner = new Uint8Array(n); // a call within a call of the same function
    this.levels = new Uint32Array(this.header.threads.length);
    const open = [],
      active = new Uint32Array(this.header.kinds.length);
    for (let t = 0; t < this.levels.length; t++) {
      for (let i = this.byThread.first[t]; i < this.byThread.first[t + 1]; i++) {
        const row = this.byThread.rows[i];
        const call = this.isCall[kind[row]];
        while (open.length > 0) {
          const top = open[open.length - 1];
          const isOver =
            time[top] + duration[top] < time[row] ||
            (call &&
              depth[row] !== kNoDepth &&
              depth[top] !== kNoDepth &&
              depth[top] >= depth[row]);
          if (!isOver) break;
          active[kind[top]]--;
          open.pop();
        }
        if (open.length > 0) this.parent[row] = open[open.length - 1];
        if (!call) continue;
        this.level[row] = Math.min(open.length, 65535);
        this.inner[row] = active[kind[row]]++ > 0 ? 1 : 0;
        if (this.parent[row] >= 0) this.self[this.parent[row]] -= duration[row];
        open.push(row);
        if (open.length > this.levels[t]) this.levels[t] = open.length;
      }
      for (const row of open) active[kind[row]]--;
      open.length = 0;
    }
    for (let row = 0; row < n; row++) if (this.self[row] < 0) this.self[row] = 0;
  }

  makeTracks() {
    const { n, kind, thread, time, duration } = this;
    const threads = this.header.threads.length;
    this.trackOfThread = new Uint32Array(threads + 1);
    for (let t = 0; t < threads; t++)
      this.trackOfThread[t + 1] = this.trackOfThread[t] + this.levels[t];
    const calls = new Uint32Array(this.calls),
      events = new Uint32Array(n - this.calls);
    const track = new Uint32Array(n);
    let c = 0,
      e = 0;
    for (let row = 0; row < n; row++) {
      if (this.isCall[kind[row]]) {
        calls[c++] = row;
        track[row] = this.trackOfThread[thread[row]] + this.level[row];
      } else {
        events[e++] = row;
      }
    }
    const inTracks = bucket(track, this.trackOfThread[threads], calls);
    const byThread = bucket(thread, threads, events);
    const byCpu = bucket(this.cpu, this.header.cpus.length);
    const timesOf = (rows) => mapped(Float64Array, rows, (row) => time[row]);
    this.tracks = {
      first: inTracks.first,
      rows: inTracks.rows,
      start: timesOf(inTracks.rows),
      end: mapped(Float64Array, inTracks.rows, (row) => time[row] + duration[row]),
      busy: new Float64Array(this.calls + 1),
    };
    for (let i = 0; i < this.calls; i++)
      this.tracks.busy[i + 1] = this.tracks.busy[i] + duration[inTracks.rows[i]];
    this.events = { first: byThread.first, rows: byThread.rows, start: timesOf(byThread.rows) };
    this.cpus = { first: byCpu.first, rows: byCpu.rows, start: timesOf(byCpu.rows) };
  }

  // What the page gets. What the worker needs no more is handed over, the rest is copied.
  forPage() {
    const both = ["time", "kind", "duration", "parent", "self", "isCall", "rowsOfKind"];
    const given = [
      "thread",
      "cpu",
      "how",
      "inKind",
      "level",
      "levels",
      "trackOfThread",
      "tracks",
      "events",
      "cpus",
    ];
    const result = { header: this.header, buffer: this.buffer, n: this.n, calls: this.calls };
    for (const name of [...both, ...given]) result[name] = this[name];
    const transfer = this.header.stacks ? [] : [this.buffer];
    for (const name of given) {
      const lists = ArrayBuffer.isView(this[name]) ? [this[name]] : Object.values(this[name]);
      for (const list of lists) transfer.push(list.buffer);
      delete this[name];
    }
    return { result, transfer };
  }

  // Sums by kind, and all durations of each kind in order, for quantiles.
  statistics() {
    const kinds = this.header.kinds.length;
    const total = new Float64Array(kinds),
      self = new Float64Array(kinds);
    const first = new Uint32Array(kinds + 1);
    for (let k = 0; k < kinds; k++)
      first[k + 1] = first[k] + (this.isCall[k] ? this.rowsOfKind[k] : 0);
    const sorted = new Float64Array(this.calls);
    const at = first.slice(0, kinds);
    for (let row = 0; row < this.n; row++) {
      const k = this.kind[row];
      if (!this.isCall[k]) continue;
      sorted[at[k]++] = this.duration[row];
      self[k] += this.self[row];
      if (!this.inner[row]) total[k] += this.duration[row];
    }
    for (let k = 0; k < kinds; k++) sorted.subarray(first[k], first[k + 1]).sort();
    return { total, self, first, sorted, count: this.rowsOfKind };
  }

  // The tree of calls, of one thread or (-1) of all together, within a time. Where there are no
  // calls, of recorded stacks.
  tree(thread, from, until) {
    const tree = new TreeBuilder();
    const threads = this.byThread;
    const begin = thread < 0 ? 0 : threads.first[thread];
    const end = thread < 0 ? this.n : threads.first[thread + 1];
    if (this.calls > 0) this.addCalls(tree, begin, end, from, until);
    else this.addStacks(tree, begin, end, from, until);
    return { ...tree.finish(), unit: this.calls > 0 ? "ns" : "samples" };
  }

  addCalls(tree, begin, end, from, until) {
    const { time, duration, kind, parent } = this;
    const node = this.nodeOfRow || (this.nodeOfRow = new Int32Array(this.n));
    for (let i = begin; i < end; i++) {
      const row = this.byThread.rows[i];
      if (!this.isCall[kind[row]]) continue;
      const last = time[row] + duration[row];
      if (last < from || time[row] > until) {
        node[row] = -1;
        continue;
      }
      const above = parent[row] >= 0 && node[parent[row]] >= 0 ? node[parent[row]] : 0;
      node[row] = tree.child(above, this.header.kinds[kind[row]].name);
      tree.add(node[row], Math.min(last, until) - Math.max(time[row], from));
    }
  }

  addStacks(tree, begin, end, from, until) {
    const { header, buffer } = this;
    if (!header.stacks) return;
    const stack = readFixed(buffer, header.columns.stack);
    const frame = readFixed(buffer, header.stacks.frame);
    const above = readFixed(buffer, header.stacks.parent);
    const known = new Map([[0, 0]]);
    for (let i = begin; i < end; i++) {
      const row = this.byThread.rows[i];
      const id = stack.at(row);
      if (id === 0 || this.time[row] < from || this.time[row] > until) continue;
      const way = [];
      let at = id;
      for (; !known.has(at); at = above.at(at)) way.push(at);
      for (let node = known.get(at); way.length > 0;) {
        const next = way.pop();
        known.set(next, (node = tree.child(node, frame.at(next))));
      }
      for (let up = known.get(id); up > 0; up = tree.parent[up]) tree.add(up, 1);
    }
  }
}

// Nodes are numbered from 1; 0 is the root, which is nobody's name.
class TreeBuilder {
  constructor() {
    this.name = [-1];
    this.parent = [-1];
    this.total = [0];
    this.count = [0];
    this.index = new Map();
  }
  child(parent, name) {
    const key = parent * 67108864 + name;
    let node = this.index.get(key);
    if (node === undefined) {
      node = this.name.length;
      this.index.set(key, node);
      this.name.push(name);
      this.parent.push(parent);
      this.total.push(0);
      this.count.push(0);
    }
    return node;
  }
  add(node, value) {
    this.total[node] += value;
    this.count[node]++;
  }
  // Children in order of their total, and self times.
  finish() {
    const size = this.name.length;
    const self = Float64Array.from(this.total);
    for (let node = size - 1; node > 0; node--) {
      self[this.parent[node]] -= this.total[node];
      if (this.parent[node] === 0) this.total[0] += this.total[node];
    }
    const children = bucket(
      Uint32Array.from(this.parent, (p) => Math.max(p, 0)),
      size,
      Uint32Array.from({ length: size - 1 }, (_, i) => i + 1),
    );
    for (let node = 0; node < size; node++)
      children.rows
        .subarray(children.first[node], children.first[node + 1])
        .sort((a, b) => this.total[b] - this.total[a]);
    for (let node = 0; node < size; node++) self[node] = Math.max(self[node], 0);
    self[0] = 0;
    return {
      name: Int32Array.from(this.name),
      parent: Int32Array.from(this.parent),
      total: Float64Array.from(this.total),
      count: Uint32Array.from(this.count),
      self,
      first: children.first,
      children: children.rows,
    };
  }
}

// The tree upside down: functions by self time, and below each who called it.
function upsideDown(tree) {
  const builder = new TreeBuilder();
  const self = new Float64Array(tree.name.length);
  for (let node = 1; node < tree.name.length; node++) {
    const value = tree.self[node];
    let at = 0;
    for (let up = node; up > 0; up = tree.parent[up]) {
      at = builder.child(at, tree.name[up]);
      builder.total[at] += value;
      builder.count[at] += tree.count[node];
    }
    self[node] = value;
  }
  const result = builder.finish();
  return { ...result, unit: tree.unit };
}
