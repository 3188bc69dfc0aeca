"""verifiers' own command line with the environment of clients/verifiers, in one turn and in three, judged by a real service. The
policy is a server of recorded answers, and for one run `kernelwright serve-model` with a random model. check_integrations.py
runs it.

usage: KERNELWRIGHT_URL=http://127.0.0.1:8100 python clients/python/tests/check_verifiers.py BIN   (BIN: folder of the programs)"""

import concurrent.futures
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading

from recorded_answers import BROKEN, EMPTY, OPTIONS, PROBLEM, RIGHT, ROOT, WRONG

sys.path.insert(0, str(ROOT / "tests" / "lm"))
from model_server import ModelServer  # noqa: E402
from tiny_model import make_model  # noqa: E402

SETTINGS = {"problems": [str(ROOT / "problems" / PROBLEM)], "eval": OPTIONS, "reward": {"terms": ["correct"]}}
ANSWERS = {RIGHT: 1, WRONG: 0, BROKEN: 0, EMPTY: 0}


class RecordedPolicy(http.server.ThreadingHTTPServer):
    """Chat completions as events. answers: those of each conversation, which come one after the other; what was asked stays."""

    def __init__(self, answers):
        super().__init__(("127.0.0.1", 0), Answering)
        self.answers, self.asked = list(answers), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def origin(self):
        return f"http://127.0.0.1:{self.server_port}"


class Answering(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = asked["messages"]
        is_new = len(messages) == 1 and bool(self.server.asked)
        if is_new:
            self.server.answers.pop(0)
        self.server.asked.append(messages)
        turn = sum(message["role"] == "user" for message in messages)
        if not asked.get("stream"):
            raise NotImplementedError("verifiers asks for streams")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        delta = {"role": "assistant", "content": self.server.answers[0][turn - 1]}
        for choice in ({"index": 0, "delta": delta, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": "stop"}):
            event = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": asked["model"], "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


def evaluate(folder, name, origin, model, settings, rollouts=1):
    """The episodes' traces, as vf-eval leaves them."""
    config = {"model": model, "num_rollouts": rollouts, "max_concurrent": 1, "push": False, "rich": None, "output_dir": str(folder),
              "run": {"name": name}, "client": {"base_url": f"{origin}/v1", "api_key_var": "NO_KEY"},
              "sampling": {"max_tokens": 64} if model != "recorded" else {},
              "env": {"taskset": {"id": "kernelwright-verifiers", "task": {**SETTINGS, **settings}}}}
    file = folder / f"{name}.json"
    file.write_text(json.dumps(config))
    done = subprocess.run([str(pathlib.Path(sys.executable).parent / "vf-eval"), "@", str(file)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    episodes = [json.loads(line) for line in (folder / name / "traces.jsonl").read_text().splitlines()]
    assert len(episodes) == rollouts, (name, len(episodes))
    return episodes


def one_turn(folder):
    policy = RecordedPolicy([answer] for answer in ANSWERS)
    episodes = evaluate(folder, "one", policy.origin(), "recorded", {}, rollouts=len(ANSWERS))
    paid = [trace["rewards"]["kernel"]["score"] for episode in episodes for trace in episode["traces"]]
    print("one turn", paid)
    assert paid == list(ANSWERS.values()) and all(episode["ok"] for episode in episodes), paid


def three_turns(folder):
    policy = RecordedPolicy([[EMPTY, WRONG, RIGHT]])
    (episode,) = evaluate(folder, "three", policy.origin(), "recorded", {"turns": 3})
    (trace,) = episode["traces"]
    print("three turns", trace["rewards"], trace["metrics"])
    assert episode["ok"] and trace["rewards"]["kernel"]["score"] == 1
    assert [trace["metrics"][f"turn_{turn}"] for turn in (1, 2, 3)] == [0, 0, 1]
    assert [turn.get("outcome") for turn in trace["info"]["kernelwright"]] == [None, "wrong_value", "passed"]
    last = policy.asked[-1]
    assert [message["role"] for message in last] == ["user", "assistant"] * 2 + ["user"], last
    assert "has no code" in last[2]["content"] and "forgets the tail" in last[4]["content"] and "wrong" in last[4]["content"], last


def no_reward(folder):
    """A reference that fails is not the policy's fault."""
    problem = folder / "failing"
    problem.mkdir()
    for file in (ROOT / "problems" / PROBLEM).iterdir():
        (problem / file.name).write_bytes(file.read_bytes())
    definition = json.loads((problem / "definition.json").read_text())
    definition["reference"] = "def run(x):\n    raise ValueError('no reference')\n"
    (problem / "definition.json").write_text(json.dumps(definition))
    for turns in (1, 2):
        policy = RecordedPolicy([[RIGHT] * turns])
        (episode,) = evaluate(folder, f"failing-{turns}", policy.origin(), "recorded", {"problems": [str(problem)], "turns": turns})
        print("no reward", episode["ok"], [trace["rewards"] for trace in episode["traces"]])
        assert not episode["ok"] and "no reward" in json.dumps(episode)
        assert all(reward is None for trace in episode["traces"] for reward in trace["rewards"].values()), episode["traces"]


def a_model_of_ours(folder, programs):
    model = make_model(programs / "kw_lm_probe", folder / "tiny", context=8192)
    with ModelServer(programs / "kernelwright", model) as server:
        for episode in evaluate(folder, "model", server.origin, server.name, {"turns": 2}, rollouts=2):
            (trace,) = episode["traces"]
            print("a random model", trace["rewards"], trace["metrics"], [call["finish_reason"] for call in trace["calls"]])
            assert episode["ok"] and trace["rewards"]["kernel"]["score"] == 0
            assert len(trace["info"]["kernelwright"]) == 2


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        checks = [one_turn, three_turns, no_reward, lambda folder: a_model_of_ours(folder, pathlib.Path(sys.argv[1]))]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda check: check(folder), checks))


if __name__ == "__main__":
    main()
