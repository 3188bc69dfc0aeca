"""A real Chromium for tests: over its debugging pipe, with a measurement of what a page looks like. No package is needed."""

import base64
import json
import os
import shutil
import subprocess
import sys

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
# All boxes that reach beyond the window without a scrolling box around them, and all texts with too little contrast to what is behind them.
MEASURE = """(() => {
  const colour = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = colour(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const scrolls = e => { for (e = e.parentElement; e; e = e.parentElement) if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)) return true; return false; };
  const out = {width: document.documentElement.scrollWidth, window: innerWidth, height: document.documentElement.scrollHeight, wide: [], faint: [],
               title: document.title, script: document.scripts.length, images: document.images.length, headings: document.querySelectorAll('h1,h2').length,
               unnamed: document.querySelectorAll('svg[role=img]:not([aria-labelledby])').length, headless: 0, small: []};
  for (const e of document.querySelectorAll('body *')) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !scrolls(e)) out.wide.push(e.tagName + '.' + (e.className.baseVal ?? e.className) + ' ' + box.right);
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !box.width) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const a = light(colour(svg ? style.fill : style.color).slice(0, 3)), b = light(behind(svg ? e.closest('svg').parentElement : e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) out.faint.push(e.tagName + '.' + (e.className.baseVal ?? e.className) + ' ' + ratio.toFixed(2));
    const scale = svg ? e.closest('svg').getBoundingClientRect().width / e.closest('svg').viewBox.baseVal.width : 1;
    if (parseFloat(style.fontSize) * scale < 10) out.small.push(e.tagName + ' ' + parseFloat(style.fontSize) * scale);
  }
  for (const table of document.querySelectorAll('table')) if (!table.querySelector('thead th[scope=col]')) ++out.headless;
  return JSON.stringify(out);
})()"""


class Browser:
    """Chromium over its debugging pipe: JSON messages that end with a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()

        def become():
            # The browser reads from 3 and writes to 4; first out of the way of these numbers.
            high = [os.dup2(fd, n) for fd, n in ((to_browser, 50), (from_browser, 51))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen([program, *arguments], close_fds=False, preexec_fn=become, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.events = b"", 0, []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            block = os.read(self.read, 1 << 16)
            if not block:
                raise RuntimeError("the browser has gone")
            self.buffer += block
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if getattr(self, "session", None):
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def wait_for(self, event):
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self.message())

    def open(self, url):
        self.events = []
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def picture(self, width, height):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        return base64.b64decode(data["data"])

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(timeout=900)


class Checks:
    def __init__(self):
        self.failed = 0

    def expect(self, good, where, what):
        if not good:
            self.failed += 1
            print(f"{where}: {what}", file=sys.stderr)


def find_or_exit(name):
    """The browser's path. Without one the test is skipped (exit 77), or fails with KW_REQUIRE_BROWSER set."""
    out = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not out:
        print(f"{name}: no Chromium is installed (Debian's package: chromium); the page was not looked at", file=sys.stderr)
        sys.exit(1 if os.environ.get("KW_REQUIRE_BROWSER") else 77)
    return out
