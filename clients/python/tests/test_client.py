"""The client against a real server with a real worker, and against the command line."""

import asyncio
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from kernelwright import AsyncJudge, Candidate, Judge, NoVerdict, Problem, Verdict  # noqa: E402
from kernelwright.answers import code_of  # noqa: E402
from kernelwright.environment import Environment  # noqa: E402
from kernelwright.environment_messages import answer_of as end_of, frame, take_frame  # noqa: E402
from kernelwright.integrations.trl import kernel_reward  # noqa: E402
from kernelwright.integrations.verl import compute_score  # noqa: E402
from kernelwright.rewards import gated_reward  # noqa: E402
from kernelwright.service_calls import Again, Patience, answer_of, problem_part, verdict_of  # noqa: E402

PROGRAM = os.environ.get("KW_PROGRAM", "")  # the built kernelwright; without it the real ones are left out
ENVIRONMENT = shutil.which(str(pathlib.Path(PROGRAM).parent / "kernelwright-environment")) or ""

DOUBLE = Problem.definition(
    {"name": "double", "op_type": "elementwise", "axes": {"N": {"type": "var"}},
     "inputs": {"x": {"shape": ["N"], "dtype": "float32"}}, "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
     "reference": "def run(x):\n    return 2 * x\n"},
    [{"uuid": "a", "axes": {"N": 1000}, "inputs": {"x": {"type": "random"}}}],
    {"schema": 1, "family": "elementwise"},
)
CPP = "extern \"C\" void run(const float* x, float* y, int64_t n) {{ for (int64_t i = 0; i < n; ++i) y[i] = {} * x[i]; }}\n"
RIGHT, WRONG = (Candidate.of("#include <cstdint>\n" + CPP.format(factor), "cpp") for factor in (2, 3))


def verdict(outcome, low=None):
    speedup = None if low is None else {"median": low + 0.1, "low": low, "high": low + 0.2}
    return Verdict.from_json({"schema": 1, "outcome": outcome, "violation": None, "speedup": speedup, "diagnostics": [],
                              "workloads": []})


# An environment gives an episode only after it had a standstill.
PAUSES = """
import socket
from kernelwright.environment_messages import PROTOCOL, frame, take_frame

def take():
    while (message := take_frame(received)) is None:
        piece = control.recv(1 << 16)
        if not piece:
            sys.exit()
        received.extend(piece)
    return message

control, received = socket.socket(fileno=3), bytearray()
take()
control.sendall(frame({"type": "welcome", "protocol": PROTOCOL, "tasks": ["a"], "about": {}}))
begin = take()
control.sendall(frame({"type": "pause"}))
if take() == {"type": "paused"}:
    control.sendall(frame({"type": "resume"}))
    messages = [{"role": "user", "content": "write"}]
    control.sendall(frame({"type": "began", "id": begin["id"], "observation": {"messages": messages}}))
    take()
"""


class Decisions(unittest.TestCase):
    """What needs no process."""

    def test_a_failure_is_no_verdict_and_a_busy_server_is_asked_again(self):
        with self.assertRaises(NoVerdict) as refused:
            answer_of(400, {}, {"error": {"message": "tasks: missing"}})
        self.assertIn("tasks: missing", str(refused.exception))
        with self.assertRaises(Again) as again:
            answer_of(429, {"retry-after": "2"}, None)
        self.assertEqual(again.exception.seconds, 2)
        self.assertGreaterEqual(Patience(10).pause(again.exception), 2)
        self.assertEqual(Patience(1.5).pause(again.exception), 1.5)
        with self.assertRaises(NoVerdict):
            Patience(0).pause(again.exception)
        for asked in ("soon", "-1", "nan", "inf", ""):
            with self.assertRaises(Again) as again:
                answer_of(503, {"retry-after": asked}, None)
            self.assertIsNone(again.exception.seconds)

    def test_tasks_end_as_the_server_says(self):
        self.assertIsNone(verdict_of({"id": "1", "state": "leased", "is_final": False}))
        dead = verdict_of({"id": "1", "state": "dead", "is_final": True, "error": {"message": "two workers lost"}})
        self.assertIsInstance(dead, NoVerdict)
        self.assertIn("two workers lost", str(dead))
        self.assertIsInstance(verdict_of({"id": "1", "state": "done", "is_final": True, "verdict": {}}), NoVerdict)

    def test_rewards(self):
        self.assertEqual(gated_reward(verdict("wrong_value")), 0)
        self.assertAlmostEqual(gated_reward(verdict("passed", 1.5)), 1.8)
        self.assertAlmostEqual(gated_reward(verdict("passed", 50)), 3.3)
        near = verdict("passed", 1.5)
        near.json["workloads"] = [{"borderline": {"largest": 1.03, "further": [0.97, 1.02]}}]
        self.assertTrue(near.borderline)
        self.assertEqual(gated_reward(near), 0)
        self.assertIsNone(gated_reward(verdict("noisy")))

    def test_the_last_closed_fence_is_the_code(self):
        self.assertEqual(code_of("a\n```cpp\nx\n```\nb\n```\ny\n```"), "y\n")
        self.assertIsNone(code_of("```cpp\nx\n"))
        self.assertEqual(code_of("<think>\n```\nx\n```\n</think>\n```\ny\n```"), "y\n")
        self.assertIsNone(code_of("<think>\n```\nx\n```\n"))
        self.assertIsNone(code_of("```\n\n```"))

    def test_frames_come_in_pieces(self):
        received = bytearray()
        sent = frame({"type": "step", "text": "\u00e9 \ud800"}) + frame({"type": "end"})
        taken = []
        for byte in sent:
            received.append(byte)
            message = take_frame(received)
            if message is not None:
                taken.append(message)
        self.assertEqual(taken, [{"type": "step", "text": "\u00e9 ?"}, {"type": "end"}])
        for broken in (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\2\0\0\0[]", b"\1\0\0\0{"):
            with self.assertRaises(NoVerdict):
                take_frame(bytearray(broken))
        with self.assertRaises(ValueError):
            frame({"text": "x" * (16 << 20)})

    def test_an_environment_that_asks_for_a_standstill_has_it(self):
        with tempfile.TemporaryDirectory() as name:
            program = pathlib.Path(name) / "environment"
            program.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(HERE.parent)!r})\n{PAUSES}")
            program.chmod(0o755)
            with Environment({}, program=str(program)) as environment:
                episode = environment.begin("a").result(timeout=60)
        self.assertEqual(episode.messages, [{"role": "user", "content": "write"}])

    def test_what_is_no_answer_of_an_environment_is_no_reward(self):
        for message in ({"type": "failed", "message": "noise"}, {"type": "stepped", "reward": None}, {"type": "began"},
                        {"type": "stepped", "reward": 1, "done": False, "facts": {}}):
            self.assertIsInstance(end_of(message), NoVerdict)
        step = end_of({"type": "stepped", "reward": 1, "interval": [0, 2], "done": True, "facts": {}})
        self.assertEqual((step.reward, step.interval, step.next), (1, (0, 2), []))

    def test_wrong_files_are_named(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "definition.json").write_text('{"name": "a"}')
            (folder / "workloads.jsonl").write_text('{"workload": {}}\n{}\n')
            with self.assertRaisesRegex(ValueError, r"workloads.jsonl:2"):
                Problem.load(folder)
            with self.assertRaisesRegex(ValueError, "a.txt"):
                Problem.load(folder / "a.txt")
        with self.assertRaisesRegex(ValueError, "rust"):
            Candidate.of("x", "rust")


def write_problem(folder):
    folder.mkdir()
    (folder / "definition.json").write_text(DOUBLE.source)
    (folder / "workloads.jsonl").write_text(json.dumps({"definition": "double", "workload": DOUBLE.workloads[0]}) + "\n")


def fenced(candidate):
    return f"So:\n```cpp\n{candidate.content}```\n"


def line_with(process, word):
    for line in process.stdout:
        if word in line:
            return line.strip()
    raise AssertionError(f"the process ended without {word}: status {process.wait()}")


@unittest.skipUnless(PROGRAM, "KW_PROGRAM names no program")
class RealService(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.running = []
        server = cls.start("serve", "--data", cls.folder.name, "--port", "0")
        cls.url = line_with(server, "http://")
        cls.start("worker", "--server", cls.url)

    @classmethod
    def start(cls, *arguments):
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.running.append(process)
        return process

    @classmethod
    def tearDownClass(cls):
        for process in reversed(cls.running):
            process.send_signal(signal.SIGTERM)
            process.wait()
            process.stdout.close()
        cls.folder.cleanup()

    def test_right_wrong_and_refused(self):
        with Judge(self.url, options={"timing": False, "store_evidence": False}) as judge:
            right, wrong = judge.judge_many([(DOUBLE, RIGHT), (DOUBLE, WRONG)])
            self.assertEqual((right.outcome, wrong.outcome), ("passed", "wrong_value"))
            self.assertTrue(any(d.kind == "mismatch" for d in wrong.diagnostics))
            with self.assertRaisesRegex(NoVerdict, "candidate.file"):
                judge.judge(DOUBLE, Candidate("a.xyz", "x"))

    def test_a_problem_is_sent_once_and_again_when_the_server_has_forgotten_it(self):
        with Judge(self.url, options={"timing": False, "store_evidence": False}) as judge:
            remote = judge._judge
            sent = []
            call = remote._call
            remote._call = lambda method, path, body=None: sent.append(path) or call(method, path, body)
            judge.judge_many([(DOUBLE, RIGHT), (DOUBLE, WRONG)])
            judge.judge(DOUBLE, RIGHT)
            self.assertEqual([sent.count("/v1/problems"), sent.count("/v1/tasks")], [1, 2])
            remote._sent.add(problem_part(DOUBLE), {"hash": "0" * 64})  # a problem that this server does not have
            self.assertEqual(judge.judge(DOUBLE, RIGHT).outcome, "passed")
            self.assertEqual([sent.count("/v1/problems"), sent.count("/v1/tasks")], [2, 4])

    def test_a_baseline_is_sent_once(self):
        with Judge(self.url, options={"timing": False, "store_evidence": False, "baseline": RIGHT}) as judge:
            remote = judge._judge
            sent = []
            call = remote._call
            remote._call = lambda method, path, body=None: sent.append((path, body)) or call(method, path, body)
            for candidate in (RIGHT, WRONG):
                verdict = judge.judge(DOUBLE, candidate)
                self.assertEqual(verdict.json["baseline"], pathlib.Path(RIGHT.file).stem)
            paths = [path for path, _ in sent]
            self.assertEqual([paths.count("/v1/baselines"), paths.count("/v1/tasks")], [1, 2])
            tasks = [task for path, body in sent if path == "/v1/tasks" for task in body["tasks"]]
            self.assertEqual([set(task["request"]["options"]["baseline"]) for task in tasks], [{"hash"}] * 2)

    @unittest.skipUnless(ENVIRONMENT, "kernelwright-environment is not built")
    def test_an_environment_tells_what_the_gym_found(self):
        with tempfile.TemporaryDirectory() as name:
            write_problem(pathlib.Path(name) / "double")
            settings = {"problems": [str(pathlib.Path(name) / "double")], "turns": 2, "judge": self.url,
                        "reward": {"terms": ["correct"]}, "eval": {"timing": False, "store_evidence": False}}
            with Environment(settings, program=ENVIRONMENT) as environment:
                self.assertEqual(environment.tasks, ["double"])
                episode, other = (environment.begin("double").result() for _ in range(2))
                self.assertIn("double", episode.messages[-1]["content"])
                steps = [each.step(fenced(code)) for each, code in ((episode, WRONG), (other, RIGHT))]
                self.assertEqual([step.result().reward for step in steps], [0, 1])
                self.assertEqual(steps[0].result().facts["outcome"], "wrong_value")
                self.assertIn("3 * x[i]", episode.messages[-1]["content"])
                second = episode.step(fenced(RIGHT)).result()
                self.assertEqual((second.reward, second.done, episode.messages), (1, True, []))
                with self.assertRaises(NoVerdict):
                    episode.step(fenced(RIGHT)).result()
                with self.assertRaisesRegex(NoVerdict, "triple"):
                    environment.begin("triple").result()
                os.kill(environment._pid, signal.SIGSTOP)  # so that it does not answer before its end
                under_way = other.step(fenced(WRONG))
                os.kill(environment._pid, signal.SIGKILL)
                with self.assertRaisesRegex(NoVerdict, "has ended"):
                    under_way.result()
                with self.assertRaisesRegex(NoVerdict, "has ended"):
                    environment.begin("double").result()
                self.assertFalse(environment.is_alive())

    @unittest.skipUnless(ENVIRONMENT, "kernelwright-environment is not built")
    def test_an_environment_that_refuses_its_settings_says_why(self):
        with self.assertRaisesRegex(NoVerdict, "environment.turns"):
            Environment({"problems": ["x"], "turns": 0}, program=ENVIRONMENT)
        with self.assertRaises(FileNotFoundError):
            Environment({}, program="no-such-program")

    def test_asyncio_gives_the_same(self):
        async def ends():
            async with AsyncJudge(self.url, options={"timing": False, "store_evidence": False}) as judge:
                return await asyncio.gather(judge.judge(DOUBLE, RIGHT), judge.judge(DOUBLE, WRONG))

        self.assertEqual([v.outcome for v in asyncio.run(ends())], ["passed", "wrong_value"])

    def test_a_server_that_is_away_is_waited_for_until_patience_ends(self):
        with Judge("http://127.0.0.1:9", patience_seconds=0.3) as judge, self.assertRaises(NoVerdict):
            judge.judge(DOUBLE, RIGHT)

    def test_rewards_of_trainers(self):
        answers = [fenced(RIGHT), fenced(WRONG), "I do not know."]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "double"
            write_problem(folder)
            with Judge(self.url, options={"timing": False, "store_evidence": False}) as judge:
                paid = kernel_reward(judge, "cpp", folder=name)(
                    prompts=["?"] * 3, completions=[[{"role": "assistant", "content": a}] for a in answers],
                    completion_ids=[], problem=["double"] * 3)
            self.assertEqual(paid, [0.3, 0.0, 0.0])
            os.environ["KERNELWRIGHT_URL"] = self.url
            extra = {"problem": "double", "language": "cpp"}
            score = asyncio.run(compute_score("kernels", answers[1], None, extra, folder=name, options={"timing": False}))
            self.assertEqual((score["score"], score["outcome"]), (0.0, "wrong_value"))


@unittest.skipUnless(PROGRAM and shutil.which("openssl"), "KW_PROGRAM names no program, or there is no openssl")
class RealServiceWithTls(unittest.TestCase):
    """There is no worker: a refused task has travelled over TLS too."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificate, key = (os.path.join(cls.folder.name, name) for name in ("server.crt", "server.key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=test",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cls.certificate], check=True, capture_output=True)
        cls.server = subprocess.Popen([PROGRAM, "serve", "--data", os.path.join(cls.folder.name, "tasks"), "--port", "0", "--tls-certificate",
                                       cls.certificate, "--tls-key", key, "--address-file", os.path.join(cls.folder.name, "written.json")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        cls.url = line_with(cls.server, "https://")

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.server.stdout.close()
        cls.folder.cleanup()

    def refusal(self, url, **arguments):
        with Judge(url, **arguments) as judge, self.assertRaises(NoVerdict) as refused:
            judge.judge(DOUBLE, Candidate("a.xyz", "x"))
        return str(refused.exception)

    def test_trusted_and_not(self):
        self.assertIn("candidate.file", self.refusal(self.url, ca_file=self.certificate))
        with mock.patch.dict(os.environ):
            os.environ.pop("SSL_CERT_FILE", None)
            self.assertIn("not trusted: self-signed", self.refusal(self.url))
        self.assertIn("must begin with https://", self.refusal(self.url.replace("https", "http")))
        with mock.patch.dict(os.environ, SSL_CERT_FILE=self.certificate):
            self.assertIn("candidate.file", self.refusal(self.url))
        with self.assertRaisesRegex(ValueError, "none.crt"):
            Judge(self.url, ca_file="none.crt")

    def test_an_address_file_is_waited_for_and_followed(self):
        file = pathlib.Path(self.folder.name) / "server.json"
        certificate = pathlib.Path(self.certificate).read_text()
        written = json.loads((file.parent / "written.json").read_text())
        self.assertEqual(written, {"schema": 1, "url": self.url})
        with Judge(str(file), patience_seconds=60) as judge:
            with mock.patch("time.sleep", lambda _: file.write_text(json.dumps(written | {"certificate": certificate}))), \
                    self.assertRaisesRegex(NoVerdict, "candidate.file"):
                judge.judge(DOUBLE, Candidate("a.xyz", "x"))
        file.write_text(json.dumps(written | {"url": "https://127.0.0.1:9", "certificate": certificate}))

        sleep = asyncio.sleep

        def come_back(_):
            file.write_text(json.dumps(written | {"certificate": certificate}))
            return sleep(0)

        async def refusal():
            async with AsyncJudge(str(file), patience_seconds=60) as judge:
                with mock.patch("asyncio.sleep", come_back):
                    await judge.judge(DOUBLE, Candidate("a.xyz", "x"))

        with self.assertRaisesRegex(NoVerdict, "candidate.file"):
            asyncio.run(refusal())

    def test_asyncio(self):
        async def refusal():
            async with AsyncJudge(self.url, ca_file=self.certificate) as judge:
                await judge.judge(DOUBLE, Candidate("a.xyz", "x"))

        with self.assertRaisesRegex(NoVerdict, "candidate.file"):
            asyncio.run(refusal())

    def test_a_token_stays_secret(self):
        with self.assertRaisesRegex(ValueError, "http to another machine"):
            Judge("http://192.0.2.1:8100", token="secret")
        Judge("http://192.0.2.1:8100", token="secret", allow_plaintext=True).close()


@unittest.skipUnless(PROGRAM, "KW_PROGRAM names no program")
class RealProgram(unittest.TestCase):
    def test_this_machine_gives_the_same_verdicts(self):
        with Judge(program=PROGRAM, options={"timing": False, "store_evidence": False}) as judge:
            right, wrong = judge.judge_many([(DOUBLE, RIGHT), (DOUBLE, WRONG)])
        self.assertEqual((right.outcome, wrong.outcome), ("passed", "wrong_value"))

    def test_what_the_program_refuses_is_no_verdict(self):
        with Judge(program=PROGRAM) as judge, self.assertRaisesRegex(NoVerdict, "nothing.py"):
            judge.judge(Problem.module("nothing", "x = ("), RIGHT)
        with Judge(program=PROGRAM) as judge:
            ends = judge.judge_many([(nothing := Problem.module("nothing", "x = 1"), RIGHT), (nothing, WRONG)])
        self.assertTrue(all("Model" in str(end) for end in ends), ends)


if __name__ == "__main__":
    unittest.main()
