"""The page at / of `kernelwright serve` in a real Chromium, with a real server and a worker that answers from a script: verdicts appear by themselves, lists stay
bounded, hostile text stays text, search works by keyboard, a token is asked for, axe finds no serious problem in the dark and the light, on a phone and a desktop.

usage: dashboard.py KERNELWRIGHT [--keep FOLDER] [--minutes N]
  --keep: the pictures stay there
  --minutes: nothing but the page beside 100 verdicts a second for so long: when each is shown, and the memory of page and server
exit: 0 fine; 1 not; 77 without a Chromium (1 with KW_REQUIRE_BROWSER set)
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "report"))

import chromium  # noqa: E402
import make_runs  # noqa: E402

GROUP = make_runs.HOSTILE + "/group"
REQUEST = json.loads((ROOT / "tests" / "fuzz" / "corpus" / "service_task" / "judgement").read_text())
GYM_VERSION = int(re.search(r"kGymVersion = (\d+)", (ROOT / "src/gym/version.h").read_text())[1])
OUTCOMES = ["passed", "wrong_value", "compile_error", "runtime_error"]
MAX_WAIT = 120  # seconds, on a machine that does much else
TOKENS = "token-of-the-tenant-a tenant=a scopes=submit,read\ntoken-of-the-operator\n"


def call(url, path, body=None, token=None, accept="application/json"):
    request = urllib.request.Request(url + path, data=None if body is None else json.dumps(body).encode(), headers={"Accept": accept, "Content-Type": "application/json"})
    if token:
        request.add_header("Authorization", "Bearer " + token)
    with urllib.request.urlopen(request, timeout=900) as answer:
        return answer.headers, answer.read()


def submit(url, first, count, token=None):
    """Ids of tasks, each with a candidate of its own."""
    tasks = [{"request": REQUEST | {"candidate": {"file": "kernel.cpp", "content": f"// {i}\n// {make_runs.HOSTILE}\n{make_runs.CODE % (i, i, i)}"}}} for i in range(first, first + count)]
    return [task["id"] for task in json.loads(call(url, "/v1/tasks", {"tasks": tasks, "group": GROUP}, token)[1])["tasks"]]


def answer(lease, number):
    outcome = OUTCOMES[number % len(OUTCOMES)]
    speedup = {"median": 1.5, "low": 1.4, "high": 1.6} if outcome == "passed" else None
    verdict = make_runs.verdict("relu", make_runs.HOSTILE, outcome, speedup, [{"kind": "compiler", "message": "a diagnostic " + make_runs.HOSTILE}])
    return {"task": lease["task"], "epoch": lease["epoch"], "report": "complete", "verdict": verdict | {"evidence": "/evidence/of/" + make_runs.HOSTILE, "made_with": {"gym_version": GYM_VERSION}}}


def work(url, count, token=None):
    version = json.loads(call(url, "/", token=token)[1])["gym_version"]
    done = 0
    while done < count:
        leases = json.loads(call(url, "/v1/leases", {"worker": "w" + make_runs.HOSTILE, "gym_version": version, "wait_seconds": 20, "most": 20}, token)[1])["leases"]
        reports = [answer(lease, done + i) for i, lease in enumerate(leases)]
        results = json.loads(call(url, "/v1/reports", {"reports": reports}, token)[1])["reports"]
        assert all("error" not in one for one in results), results
        done += len(leases)


@contextlib.contextmanager
def serving(program, folder, *arguments):
    process = subprocess.Popen([program, "serve", "--data", str(folder), "--port", "0", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=900)


def until(browser, expression, what):
    end = time.monotonic() + MAX_WAIT
    while time.monotonic() < end:
        if browser.value(expression):
            return
        time.sleep(0.05)
    raise RuntimeError(f"never: {what}; the page says {browser.value('document.body.innerText')[:2000]}")


def text_of(name):
    return f"document.getElementById('{name}').textContent"


def press(browser, key, shift=False):
    codes = {"Tab": 9, "Enter": 13}
    event = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 if shift else 0}
    browser.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": "\r"} if key == "Enter" else {}))
    browser.call("Input.dispatchKeyEvent", type="keyUp", **event)


def tab_to(browser, name, backwards=False):
    for _ in range(20):
        if browser.value(f"document.activeElement.id === '{name}'"):
            return
        press(browser, "Tab", shift=backwards)
    raise RuntimeError(f"the tabulator does not come to #{name}")


def search(browser, text, is_behind=False):
    """is_behind: the focus is."""
    tab_to(browser, "search", backwards=is_behind)
    browser.value("document.activeElement.select()")
    browser.call("Input.insertText", text=text)
    press(browser, "Enter")


def axe_source():
    """axe-core's text, from the wheel that has it; None without it."""
    found = importlib.util.find_spec("axe_core_python")
    if not found:
        return None
    return (pathlib.Path(found.origin).parent / "axe.min.js").read_text()


def serious_problems(browser, axe):
    found = browser.value(f"(() => {{ {axe} }})(); axe.run(document, {{resultTypes: ['violations']}}).then(r => JSON.stringify(r.violations.map(v => [v.impact, v.id, v.nodes[0].html])))")
    return [each for each in json.loads(found) if each[0] in ("serious", "critical")]


def check_files(checks, url):
    for path, kind in (("/", "text/html"), ("/dashboard.js", "text/javascript"), ("/dashboard.css", "text/css")):
        headers, body = call(url, path, accept="text/html,*/*")
        policy = headers["Content-Security-Policy"] or ""
        checks.expect(headers["Content-Type"].startswith(kind), path, f"has the type {headers['Content-Type']}")
        checks.expect("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, path, f"has the policy {policy}")
        checks.expect(headers["X-Content-Type-Options"] == "nosniff", path, "may be sniffed")
        if path == "/":
            checks.expect(b"<script>" not in body and b"<style" not in body and b" onclick" not in body, path, "has a script or style of its own")
    checks.expect(b"innerHTML" not in call(url, "/dashboard.js")[1], "/dashboard.js", "writes markup")
    checks.expect(json.loads(call(url, "/", accept="*/*")[1])["name"] == "kernelwright", "/", "is no JSON for programs")


def check_text(checks, browser, where):
    found = browser.value("[document.title, document.images.length, document.scripts.length, document.querySelectorAll('[onload],[onerror]').length]")
    checks.expect(found == ["Kernelwright service", 0, 1, 0], where, f"hostile text became markup: {found}")


def check_look(checks, browser, axe, name, keep):
    for size, (width, height) in chromium.SIZES.items():
        for scheme in ("dark", "light"):
            where = f"{name}, {size}, {scheme}"
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == "phone")
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            found = json.loads(browser.value(chromium.MEASURE))
            checks.expect(found["width"] <= found["window"] == width and not found["wide"], where, f"sticks out: {found['width']} of {found['window']}, {found['wide'][:5]}")
            checks.expect(not found["faint"] and not found["small"], where, f"hard to read: {sorted(set(found['faint'] + found['small']))[:8]}")
            checks.expect(found["headless"] == found["unnamed"] == 0, where, f"tables or pictures without names: {found}")
            if axe:
                problems = serious_problems(browser, axe)
                checks.expect(not problems, where, f"axe: {problems[:3]}")
            if keep:
                (keep / f"{name}-{size}-{scheme}.png").write_bytes(browser.picture(width, min(found["height"], 5000)))


def check_open_server(checks, browser, axe, url, keep):
    check_files(checks, url)
    browser.open(url + "/")
    until(browser, text_of("status") + " === 'Live.'", "a live page")
    ids = submit(url, 1, 260)
    waiting = browser.value("new Promise(done => { const look = () => Number(document.getElementById('waiting').textContent) > 0 ? done(true) : setTimeout(look, 20); look(); })")
    checks.expect(waiting, "queue", "nothing waits")
    worker = threading.Thread(target=work, args=(url, len(ids)))
    worker.start()
    until(browser, "document.querySelectorAll('#rows tr').length > 0", "a verdict")
    worker.join()
    until(browser, f"document.querySelector('#rows a').textContent === '{ids[-1]}'", "the last verdict")
    until(browser, text_of("ended") + f" === '{len(ids)}'", "all counted")
    rows = browser.value("document.querySelectorAll('#rows tr').length")
    checks.expect(rows == 100, "verdicts", f"{rows} rows")
    counts = browser.value("[...document.querySelectorAll('#outcome-rows tr')].map(r => r.cells[0].textContent + ' ' + r.cells[1].textContent)")
    checks.expect(sorted(counts) == sorted(f"{each} 65" for each in OUTCOMES), "outcomes", f"are {counts}")
    checks.expect(browser.value(text_of("worker-rows") + ".includes('onerror')"), "workers", "the worker is not there")
    check_text(checks, browser, "lists")

    search(browser, ids[6])
    until(browser, text_of("card-title") + f" === 'Task {ids[6]}'", "the card of a task")
    checks.expect(browser.value("document.activeElement.id") == "card", "card", "has not the focus")
    card = browser.value(text_of("card-body"))
    for part in ("// 7\n// " + make_runs.HOSTILE, "a diagnostic " + make_runs.HOSTILE, "/evidence/of/" + make_runs.HOSTILE, "compile_error"):
        checks.expect(part in card, "card", f"does not say {part!r}")
    check_text(checks, browser, "card")
    check_look(checks, browser, axe, "page", keep)
    search(browser, GROUP, is_behind=True)
    until(browser, text_of("card-title") + f" === {json.dumps('Group ' + GROUP)}", "the card of a group")
    checks.expect(browser.value("document.querySelectorAll('#card-body tbody tr').length") == 100, "group", "is not shown in parts")
    check_text(checks, browser, "group")
    search(browser, "nobody knows this", is_behind=True)
    until(browser, text_of("find-status") + ".startsWith('no group')", "a search without a result")
    said = [e["params"] for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled") and "404" not in json.dumps(e)]
    checks.expect(not said, "console", f"it says {said[:3]}")
    elsewhere = {e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent" and not e["params"]["request"]["url"].startswith(url + "/")}
    checks.expect(not elsewhere, "page", f"it loads {elsewhere}")


# Notes when each task's row comes: [id, milliseconds since 1970].
WATCH = """window.shown = []; window.known = new Set();
new MutationObserver(() => {
  const now = Date.now();
  for (const a of document.querySelectorAll('#rows a[href^="#task"]')) if (!known.has(a.textContent)) { known.add(a.textContent); shown.push([a.textContent, now]); }
  if (known.size > 5000) window.known = new Set([...document.querySelectorAll('#rows a[href^="#task"]')].map(a => a.textContent));
}).observe(document.getElementById('rows'), {childList: true, subtree: true}); true"""


def private_mib(pids):
    """Memory of their own, without what they share."""
    total = 0
    for pid in pids:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private"):
                total += int(line.split()[1])
    return total / 1024


def renderers(of):
    """Processes below `of` that show pages."""
    parents, kinds = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(entry.name)
            kinds[pid] = b"--type=renderer" in (entry / "cmdline").read_bytes()
            parents[pid] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])

    def is_below(pid):
        while pid in parents and pid != of:
            pid = parents[pid]
        return pid == of

    return [pid for pid, shows in kinds.items() if shows and is_below(pid)]


def soak(browser, program, folder, minutes, rate=100):
    """Returns whether each verdict was shown within a second and the page stayed under 100 MB."""
    reported, stop = {}, threading.Event()

    def judge(url):
        version, number, begin = json.loads(call(url, "/")[1])["gym_version"], 0, time.monotonic()
        while not stop.is_set():
            time.sleep(max(0, begin + number / rate - time.monotonic()))
            submit(url, number, 10)
            leases = json.loads(call(url, "/v1/leases", {"worker": "w", "gym_version": version, "wait_seconds": 20, "most": 20})[1])["leases"]
            call(url, "/v1/reports", {"reports": [answer(lease, number + i) for i, lease in enumerate(leases)]})
            reported.update((task, time.time()) for task in newest(url, len(leases)))
            number += 10

    def newest(url, count):
        return [each["id"] for each in json.loads(call(url, "/v1/overview")[1])["ended"][:count]]

    def heap():
        browser.call("HeapProfiler.collectGarbage")
        return browser.value("performance.memory.usedJSHeapSize") / 1e6

    delays, highest = [], 0
    with serving(program, folder / "soak") as url:
        browser.open(url + "/")
        browser.call("Network.disable")  # its records of answers would lie in the page's process
        until(browser, text_of("status") + " === 'Live.'", "a live page")
        browser.value(WATCH)
        thread = threading.Thread(target=judge, args=(url,))
        thread.start()
        begin, next_line = time.monotonic(), 0
        while time.monotonic() < begin + 60 * minutes:
            time.sleep(2)
            browser.events = []
            for task, at in browser.value("shown.splice(0)"):
                if task in reported:
                    delays.append(at / 1000 - reported.pop(task))
            if time.monotonic() < begin + next_line:
                continue
            next_line += 60 * minutes / 12
            used, page = heap(), private_mib(renderers(browser.process.pid))
            highest = max(highest, page)
            ordered = sorted(delays) or [0]
            print(f"{(time.monotonic() - begin) / 60:5.1f} min: {len(delays)} verdicts, shown after {ordered[len(ordered) // 2]:.2f} s (median), {ordered[-1]:.2f} s at most;"
                  f" page {used:.1f} MB of heap, {page:.0f} MiB of its process", flush=True)
        stop.set()
        thread.join()
    late = sum(each > 1 for each in delays)
    print(f"dashboard: {late} of {len(delays)} verdicts were shown later than after a second; {len(reported)} were not seen")
    return late == 0 and highest < 100


def check_tokens(checks, browser, axe, url, keep):
    mine, others = submit(url, 1, 4, "token-of-the-tenant-a"), submit(url, 11, 4, "token-of-the-operator")
    work(url, 8, "token-of-the-operator")
    browser.open(url + "/")
    until(browser, "!document.getElementById('login').hidden", "a question for the token")
    checks.expect(browser.value("document.getElementById('data').hidden && !document.querySelector('#rows tr')"), "tokens", "data without a token")
    check_look(checks, browser, axe, "login", keep)
    tab_to(browser, "token")
    browser.call("Input.insertText", text="token-of-the-tenant-a")
    press(browser, "Enter")
    until(browser, "document.querySelectorAll('#rows tr').length > 0", "the tenant's tasks")
    shown = browser.value("[...document.querySelectorAll('#rows a[href^=\"#task\"]')].map(a => a.textContent)")
    checks.expect(sorted(shown) == sorted(mine), "tenant", f"sees {shown}")
    checks.expect(browser.value("document.getElementById('workers').hidden"), "tenant", "sees the workers")
    browser.value(f"location.hash = '#task={others[0]}'")
    until(browser, text_of("find-status") + ".startsWith('no task')", "a refusal of another's task")
    browser.open(url + "/?again")
    until(browser, "document.querySelectorAll('#rows tr').length > 0", "the token in the tab")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--minutes", type=float)
    options = parser.parse_args()
    program = chromium.find_or_exit("dashboard")
    axe = axe_source()
    if not axe:
        print("dashboard: no axe-core-python is installed (requirements-test.txt); accessibility was looked at by measures of our own alone", file=sys.stderr)
        if os.environ.get("KW_REQUIRE_BROWSER"):
            sys.exit(1)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    checks = chromium.Checks()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = pathlib.Path(temporary)
        tokens = folder / "tokens"
        tokens.touch(mode=0o600)
        tokens.write_text(TOKENS)
        browser = chromium.Browser(program, folder / "profile")
        try:
            if options.minutes:
                sys.exit(0 if soak(browser, options.program, folder, options.minutes) else 1)
            with serving(options.program, folder / "open") as url:
                check_open_server(checks, browser, axe, url, options.keep)
            with serving(options.program, folder / "closed", "--tokens", str(tokens)) as url:
                check_tokens(checks, browser, axe, url, options.keep)
        finally:
            browser.close()
    print(f"dashboard: {checks.failed} failures")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
