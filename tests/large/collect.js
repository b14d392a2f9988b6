// SPDX-License-Identifier: MIT
let a = []; for (let i = 0; i < 1e6; i++) { a.push({i}); if (a.length > 1e5) a = []; }
function deep(n) { return n ? 1 + deep(n - 1) : 0; }
let caught = 0; try { (function f() { f(); })(); } catch (e) { caught = 1; }
console.log("ok", deep(1000), caught, require("zlib").deflateSync(Buffer.alloc(100000)).length);
