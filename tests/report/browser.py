"""The pages of `kernelwright report --html` and `kernelwright data stats --html` in a real Chromium, at a phone's and a desktop's width, light and dark: it renders, nothing sticks out
sideways, text has contrast, hostile text stays text, nothing is loaded.

usage: browser.py KERNELWRIGHT [--keep FOLDER]   (--keep: the pictures stay there)
exit: 0 fine; 1 not; 77 without a Chromium (1 with KW_REQUIRE_BROWSER set)
"""

import argparse
import base64
import json
import pathlib
import subprocess
import sys
import tempfile

import chromium
import make_runs
from chromium import MEASURE, SIZES, Browser, Checks

TITLES = {"data": "Kernelwright data set"}

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
        subprocess.run([program, "report", *(str(folder / run) for run in runs), "--html", str(out[name])], check=True, capture_output=True, timeout=900)
    return out


def data_page(program, folder):
    make_runs.data_set(folder / "data.jsonl", 5, 400)
    out = folder / "data.html"
    subprocess.run([program, "data", "stats", str(folder / "data.jsonl"), "--html", str(out)], check=True, capture_output=True, timeout=900)
    return {"data": out}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    program = chromium.find_or_exit("browser")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    checks = Checks()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:  # the browser's children write a little longer
        folder = pathlib.Path(temporary)
        made = pages(options.program, folder) | data_page(options.program, folder)
        browser = Browser(program, folder / "profile")
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
