"""kernelwright generate against kernelwright serve-model: two programs, a tiny random model.

usage: client_test.py KERNELWRIGHT PROBE [CASE ...]
  KERNELWRIGHT, PROBE: build/dev/bin/kernelwright and kw_lm_probe   CASE: only these, without "case_"
exit: 0 all as expected; 1 not
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import PATIENCE, expect  # noqa: E402
from model_server import ModelServer
from tiny_model import make_model

KEY = "a-key-of-sixteen-or-more"
USUAL = ("--slots", 8, "--context", 2048, "--threads", 1)
def write_prompts(folder, count, max_tokens=24):
    path = folder / "prompts.jsonl"
    lines = [{"id": place, "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": f"add {place} to é"}],
              "max_tokens": max_tokens, "seed": 100 + place, "n": 1 + place % 3} for place in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def start(program, model, *flags, environment=None):
    plain = {name: value for name, value in os.environ.items() if name != "KERNELWRIGHT_API_KEY"}
    return subprocess.Popen([str(program), "generate", "--model", str(model), *map(str, flags)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**plain, **(environment or {})})


def generate(program, model, *flags, environment=None):
    """(exit code, lines of stdout, stderr)"""
    process = start(program, model, *flags, environment=environment)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out.splitlines(), err


def texts(lines):
    return [[(choice["text"], choice["finish_reason"]) for choice in json.loads(line)["choices"]] for line in lines]


def case_equal(program, model, folder):
    """A server's answers are those of the same model in this process, choice by choice, and its usage is exact."""
    prompts = write_prompts(folder, 40)
    code, local, err = generate(program, model, "--prompts", prompts, "--threads", 1)
    expect(code == 0, f"generate with a folder: {err}")
    with ModelServer(program, model, *USUAL) as server:
        for base in (server.origin, server.origin + "/v1/"):
            code, remote, err = generate(program, base, "--prompts", prompts)
            expect(code == 0, f"generate with a server: {err}")
            expect(texts(remote) == texts(local), "the same answers")
            for here, there in zip(map(json.loads, local), map(json.loads, remote)):
                expect(there["id"] == here["id"] and there["tries"] == 1, "ids and tries")
                expect(all(there["usage"][key] == value for key, value in here["usage"].items()) and not there["usage"]["estimated"], "usage")
            expect("40 answered, 0 failed; 40 tries" in err, f"the summary: {err}")
        metrics = server.metrics()
        told = sum(json.loads(line)["usage"]["completion_tokens"] for line in remote)
        expect(metrics["kw_lm_sampled_tokens_total"] == 2 * told, "the server's own count of tokens")


def case_chat(program, model, folder):
    """One question, with a key from the environment; no key, another key."""
    ask = ("--chat", "hello", "--max-tokens", 12, "--seed", 3)
    with ModelServer(program, model, *USUAL, environment={"KERNELWRIGHT_API_KEY": KEY}) as server:
        code, lines, err = generate(program, server.origin, *ask, environment={"KERNELWRIGHT_API_KEY": KEY})
        expect(code == 0 and "\n".join(lines), f"an answer: {err}")
        code, again, _ = generate(program, server.origin, *ask, "--key-env", "MINE", environment={"MINE": KEY})
        expect(code == 0 and again == lines, "a key under another name")
        for environment in ({}, {"KERNELWRIGHT_API_KEY": "another-key-of-that-length"}):
            code, lines, err = generate(program, server.origin, *ask, environment=environment)
            expect(code == 2 and not lines and "401" in err, f"without the key: {err}")
            expect(KEY not in err and "another-key" not in err, "no key in a message")
        code, _, err = generate(program, server.origin, *ask, "--model-name", "other", environment={"KERNELWRIGHT_API_KEY": KEY})
        expect(code == 2 and "404" in err and "other" in err, f"an unknown model: {err}")


def case_busy(program, model, folder):
    """A server that refuses what does not fit in its queue (429, Retry-After): all is answered in the end, and once."""
    prompts = write_prompts(folder, 24, 8)
    with ModelServer(program, model, "--slots", 2, "--context", 2048, "--threads", 1, "--max-waiting", 2) as server:
        code, lines, err = generate(program, server.origin, "--prompts", prompts, "--tries", 200)
        expect(code == 0, f"a busy server: {err[-2000:]}")
        answers = [json.loads(line) for line in lines]
        expect([answer["id"] for answer in answers] == list(range(24)), "every prompt in its place")
        expect(any(answer["tries"] > 1 for answer in answers) and "rate_limited (HTTP 429)" in err, "some were refused at first")
        metrics = server.metrics()
        expect(metrics["kw_lm_sampled_tokens_total"] == sum(answer["usage"]["completion_tokens"] for answer in answers), "nothing was computed twice")
        expect(metrics["kw_lm_refused_requests_total"] == sum(answer["tries"] for answer in answers) - 24, "refusals")


def case_killed(program, model, folder):
    """A server that dies in the middle: what it answered is there, the rest are lines with errors; Ctrl-C ends a run."""
    prompts = write_prompts(folder, 12, 400)
    with ModelServer(program, model, "--slots", 2, "--context", 2048, "--threads", 1) as server:
        client = start(program, server.origin, "--prompts", prompts, "--tries", 2)
        expect(server.wait_for(lambda metrics: metrics["kw_lm_sampled_tokens_total"] > 50), "it computes")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
        out, err = client.communicate(timeout=PATIENCE)
        lines = [json.loads(line) for line in out.splitlines()]
        expect(client.returncode == 2 and [line["id"] for line in lines] == list(range(12)), f"a line for each: {err[-2000:]}")
        expect(all(("choices" in line) != ("error" in line) for line in lines) and any("error" in line for line in lines), "answers and errors")
        expect("cut" in err and "connection" in err, f"the kinds of failures: {err[-2000:]}")
    with ModelServer(program, model, "--slots", 2, "--context", 2048, "--threads", 1) as server:
        client = start(program, server.origin, "--prompts", prompts)
        expect(server.wait_for(lambda metrics: metrics["kw_lm_sampled_tokens_total"] > 50), "it computes")
        begin = time.monotonic()
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=PATIENCE)
        expect(client.returncode == 130 and time.monotonic() - begin < 30, "interrupted")
        expect(server.wait_for(lambda metrics: metrics["kw_lm_sequences_running"] + metrics["kw_lm_sequences_waiting"] == 0), "its slots are free")


CASES = {name.removeprefix("case_"): case for name, case in list(globals().items()) if name.startswith("case_")}


def main(program, probe, *names):
    for name in names or CASES:
        with tempfile.TemporaryDirectory(prefix="kw_client_test") as scratch:
            folder = pathlib.Path(scratch)
            begin = time.monotonic()
            CASES[name](program, make_model(probe, folder / "tiny"), folder)
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    return expectations.exit_code()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
