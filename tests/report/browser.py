"""The pages of `kernelwright report --html` and `kernelwright data stats --html` in a real Chromium, at a phone's and a desktop's width, light and dark: it renders, nothing sticks out
sideways, text has contrast, hostile text stays text, nothing is loaded.

usage: browser.py KERNELWRIGHT [--keep FOLDER]   (--keep: the pictures stay there)
exit: 0 fine; 1 not; 77 without a Chromium (1 with KW_REQUIRE_BROWSER set)
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import make_runs

BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
TITLES = {"data": "Kernelwright data set"}
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

# Colours of a PNG, which the browser decodes: of every third pixel in about 400 rows how many have a colour of the page, how many colours
# there are, and how many pixels of the whole picture have the colour of the first run.
COUNT_COLOURS = """async (png, page, series) => {
  const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(png), c => c.charCodeAt(0))], {type: 'image/png'}));
  const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
  context.drawImage(bitmap, 0, 0);
  const data = context.getImageData(0, 0, bitmap.width, bitmap.height).data;
  const number = ([r, g, b]) => r << 16 | g << 8 | b;
  const pages = new Set(page.map(number)), colours = new Set(), first = number(series);
  const out = {page: 0, sampled: 0, colours: 0, series: 0}, step = Math.max(1, Math.floor(bitmap.height / 400));
  for (let y = 0; y < bitmap.height; ++y) for (let x = 0; x < bitmap.width; ++x) {
    const at = 4 * (y * bitmap.width + x), colour = number([data[at], data[at + 1], data[at + 2]]);
    if (colour === first) ++out.series;
    if (y % step || x % 3) continue;
    ++out.sampled;
    colours.add(colour);
    if (pages.has(colour)) ++out.page;
  }
  out.colours = colours.size;
  return out;
}"""


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
        self.process.wait(timeout=60)


class Checks:
    def __init__(self):
        self.failed = 0

    def expect(self, good, where, what):
        if not good:
            self.failed += 1
            print(f"{where}: {what}", file=sys.stderr)


def check_picture(checks, browser, where, png, dark):
    page = [[0x10, 0x14, 0x1B], [0x18, 0x1E, 0x28]] if dark else [[0xF6, 0xF7, 0xF9], [0xFF, 0xFF, 0xFF]]
    series = [0x6C, 0xB6, 0xFF] if dark else [0x0B, 0x5F, 0xB0]
    counts = browser.value(f"({COUNT_COLOURS})('{base64.b64encode(png).decode()}', {page}, {series})")
    share = counts["page"] / counts["sampled"]
    checks.expect(0.5 < share < 0.995, where, f"{share:.1%} of the page is background")
    checks.expect(counts["colours"] > 60, where, f"only {counts['colours']} colours: where are text and curves?")
    checks.expect(counts["series"] > 20, where, "the first run's colour is not on the page")


def check_page(checks, browser, name, url, size, dark, keep):
    width, height = SIZES[size]
    where = f"{name}, {size}, {'dark' if dark else 'light'}"
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == "phone")
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
    browser.open(url)
    for is_open in (False, True):
        if is_open:
            browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
        found = json.loads(browser.value(MEASURE))
        state = where + (", all open" if is_open else "")
        checks.expect(found["width"] <= found["window"] == width and not found["wide"], state, f"sticks out: {found['width']} of {found['window']}, {found['wide'][:5]}")
        checks.expect(not found["faint"], state, f"too little contrast: {sorted(set(found['faint']))[:8]}")
        checks.expect(not found["small"], state, f"too small to read: {sorted(set(found['small']))[:8]}")
        checks.expect(found["script"] == found["images"] == found["unnamed"] == found["headless"] == 0, state, f"elements: {found}")
        checks.expect(found["title"].endswith(TITLES.get(name, "Kernelwright report")) and found["headings"] >= 7, state, f"title and headings: {found}")
        png = browser.picture(width, min(found["height"], 6000 if is_open else 5000))
        if keep:
            (keep / f"{name}-{size}-{'dark' if dark else 'light'}{'-open' if is_open else ''}.png").write_bytes(png)
        if not is_open:
            check_picture(checks, browser, state, png, dark)
    loaded = {e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"} - {url}
    checks.expect(not loaded, where, f"it loads {loaded}")
    said = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")]
    checks.expect(not said, where, f"the console says {said[:3]}")


def check_measuring(checks, browser, folder):
    """The measurement must see what it is for."""
    bad = folder / "bad.html"
    bad.write_text("<!doctype html><meta name=viewport content='width=device-width'><body style='margin:0'><div style='width:2000px'>wide</div><p style='color:#bbb'>faint</p><table><tr><td>x</table><svg role=img></svg>")
    browser.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=False)
    browser.open(bad.as_uri())
    found = json.loads(browser.value(MEASURE))
    checks.expect(found["width"] > found["window"] and found["wide"] and found["faint"] and found["headless"] == found["unnamed"] == 1, "a bad page", f"was not noticed: {found}")


def pages(program, folder):
    names = ["softmax_row", "layer_norm", "gelu_tanh", "matmul_bias_relu", "cumsum", "conv2d_3x3_stride2", "attention_causal", "argmax", "a_problem_with_a_rather_long_name_that_has_to_wrap_somewhere_on_a_phone", "rms_norm"]
    make_runs.solve_folder(folder / "refine-7b", 1, names, 0.45, 0.05)
    make_runs.solve_folder(folder / "refine-7b-cards", 2, names, 0.55, 0.25)
    make_runs.verdict_file(folder / "best-of-8.jsonl", 3, names, 0.3, 0.0)
    make_runs.solve_folder(folder / "hostile", 4, [make_runs.HOSTILE, "plain"], 0.5, 0.1, hostile=True)
    out = {}
    for name, runs in {"runs": ["refine-7b", "refine-7b-cards", "best-of-8.jsonl"], "one": ["refine-7b"], "hostile": ["hostile", "refine-7b"]}.items():
        out[name] = folder / f"{name}.html"
        subprocess.run([program, "report", *(str(folder / run) for run in runs), "--html", str(out[name])], check=True, capture_output=True, timeout=120)
    return out


def data_page(program, folder):
    make_runs.data_set(folder / "data.jsonl", 5, 400)
    out = folder / "data.html"
    subprocess.run([program, "data", "stats", str(folder / "data.jsonl"), "--html", str(out)], check=True, capture_output=True, timeout=120)
    return {"data": out}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not chromium:
        print("browser: no Chromium is installed (Debian's package: chromium); the page was not looked at", file=sys.stderr)
        sys.exit(1 if os.environ.get("KW_REQUIRE_BROWSER") else 77)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:  # the browser's children write a little longer
        folder = pathlib.Path(temporary)
        made = pages(options.program, folder) | data_page(options.program, folder)
        browser = Browser(chromium, folder / "profile")
        try:
            check_measuring(checks, browser, folder)
            for name, page in made.items():
                for size in SIZES:
                    for dark in (False, True):
                        check_page(checks, browser, name, page.as_uri(), size, dark, options.keep)
        finally:
            browser.close()
    print(f"browser: {checks.failed} failures")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
