// SPDX-License-Identifier: MIT
//
// A page in Debian's chromium, driven through the DevTools protocol over a pipe: no port, no
// package. A script gets a Page and says what must be so.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const kPatience = 120000; // a loaded machine is slow, not broken

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), "patchbay-chromium."));
    browser.child = spawn(
      "chromium",
      [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        "--no-first-run",
        "--mute-audio",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--force-color-profile=srgb",
        "--hide-scrollbars=false",
        "--force-device-scale-factor=1",
        `--user-data-dir=${browser.folder}`,
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    browser.number = 0;
    browser.waiting = new Map();
    browser.listeners = [];
    let rest = Buffer.alloc(0);
    browser.child.stdio[4].on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1))
        browser.take(JSON.parse(rest.subarray(0, end).toString()));
    });
    browser.child.on("exit", () => {
      for (const { reject } of browser.waiting.values()) reject(new Error("chromium has ended"));
    });
    return browser;
  }
  take(message) {
    if (message.id === undefined) {
      for (const listener of this.listeners) listener(message);
      return;
    }
    const { resolve, reject } = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) reject(new Error(JSON.stringify(message.error)));
    else resolve(message.result);
  }
  send(method, params = {}, sessionId) {
    const id = ++this.number;
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }
  // Opens a file. What the page says on its console and what it asks of a network is collected.
  async open(address, { dark = false, width = 1360, height = 860 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId);
    page.target = targetId;
    this.listeners.push((message) => message.sessionId === sessionId && page.hear(message));
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: false,
    });
    await page.dark(dark);
    page.began = Date.now();
    await page.send("Page.navigate", {
      url: /^(https?|file):/.test(address) ? address : pathToFileURL(address).href,
    });
    return page;
  }
  async stop() {
    this.child.removeAllListeners("exit");
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 10000);
    await ended;
    clearTimeout(timer);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class Page {
  constructor(browser, session) {
    Object.assign(this, { browser, session, errors: [], requests: [] });
  }
  send(method, params) {
    return this.browser.send(method, params, this.session);
  }
  hear({ method, params }) {
    if (method === "Runtime.exceptionThrown")
      this.errors.push(
        params.exceptionDetails.exception?.description || params.exceptionDetails.text,
      );
    if (
      method === "Runtime.consoleAPICalled" &&
      ["error", "warning", "assert"].includes(params.type)
    )
      this.errors.push(params.args.map((each) => each.value ?? each.description).join(" "));
    if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level))
      this.errors.push(params.entry.text);
    if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }
  async eval(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails)
      throw new Error(
        `${expression}: ${exceptionDetails.exception?.description || exceptionDetails.text}`,
      );
    return result.value;
  }
  async until(expression, what = expression) {
    const end = Date.now() + kPatience;
    for (;;) {
      const value = await this.eval(
        `(() => { try { return ${expression}; } catch { return false; } })()`,
      );
      if (value) return value;
      if (Date.now() > end) throw new Error(`This never came: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }
  ready() {
    return this.until("document.documentElement.dataset.ready");
  }
  dark(on) {
    return this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: on ? "dark" : "light" }],
    });
  }
  // All frames that were asked for are drawn.
  settled() {
    return this.eval(`new Promise((resolve) => requestAnimationFrame(() =>
      requestAnimationFrame(() => setTimeout(resolve, 60))))`);
  }
  async mouse(type, x, y, more = {}) {
    await this.send("Input.dispatchMouseEvent", { type, x, y, ...more });
  }
  async click(x, y) {
    await this.mouse("mouseMoved", x, y);
    await this.mouse("mousePressed", x, y, { button: "left", buttons: 1, clickCount: 1 });
    await this.mouse("mouseReleased", x, y, { button: "left", clickCount: 1 });
    await this.settled();
  }
  async drag(x0, y0, x1, y1) {
    await this.mouse("mouseMoved", x0, y0);
    await this.mouse("mousePressed", x0, y0, { button: "left", buttons: 1, clickCount: 1 });
    for (const part of [0.3, 0.7, 1])
      await this.mouse("mouseMoved", x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, { buttons: 1 });
    await this.mouse("mouseReleased", x1, y1, { button: "left", clickCount: 1 });
    await this.settled();
  }
  async key(key, { hold = 0, code } = {}) {
    const text = key.length === 1 ? key : undefined;
    const event = {
      key,
      code: code || (text ? `Key${key.toUpperCase()}` : key),
      text,
      windowsVirtualKeyCode: {
        Enter: 13,
        Escape: 27,
        ArrowLeft: 37,
        ArrowUp: 38,
        ArrowRight: 39,
        ArrowDown: 40,
      }[key],
    };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    if (hold) await new Promise((resolve) => setTimeout(resolve, hold));
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
    await this.settled();
  }
  async type(text) {
    await this.send("Input.insertText", { text });
  }
  async shot(path) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
  async pdf(path) {
    const { data } = await this.send("Page.printToPDF", { printBackground: true, landscape: true });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}
