"""kernelwright serve-model with real clients: the official openai package, curl, and sockets that misbehave.

usage: server_test.py KERNELWRIGHT PROBE [CASE ...]
  KERNELWRIGHT, PROBE: build/dev/bin/kernelwright and kw_lm_probe   CASE: only these, without "case_"
A tiny random model is made for it. exit: 0 all as expected; 1 not; 77 without the openai package (1 with KW_REQUIRE_TOKENIZERS set)
"""

import asyncio
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import expectations  # noqa: E402
from expectations import PATIENCE, expect  # noqa: E402
from model_server import ModelServer, is_idle
from tiny_model import make_model

try:
    import openai
except ImportError as error:
    print(f"server_test: {error}", file=sys.stderr)
    sys.exit(1 if "KW_REQUIRE_TOKENIZERS" in os.environ else 77)

KEY = "a-key-of-sixteen-or-more"
USUAL = ("--slots", 16, "--context", 4096, "--threads", 1)  # one thread: it never waits for another on a busy machine
ENDLESS_TOKENS = 60_000
ENDLESS = ("--context", 65_536, "--threads", 1)
def refusal(kind, action):
    """The error of an expected class that the client raises, or None."""
    try:
        action()
    except kind as error:
        return error
    except openai.OpenAIError as error:
        print(f"instead of {kind.__name__}: {error!r}", flush=True)
    return None


def client_of(server, key="none", cls=openai.OpenAI):
    return cls(base_url=server.origin + "/v1", api_key=key, max_retries=0, timeout=PATIENCE)


def case_client(program, model):
    """Whole answers and streams by the openai package."""
    with ModelServer(program, model, *USUAL) as server:
        client = client_of(server)
        expect([one.id for one in client.models.list()] == [server.name], "the list of models")
        expect(client.models.retrieve(server.name).id == server.name, "one model")
        completions(client, server.name)
        chats(client, server.name)
        logprobs(client, server.name)
        errors(client, server.name)


def completions(client, name):
    ask = {"model": name, "prompt": "def add(", "max_tokens": 40, "seed": 5}
    whole = client.completions.create(**ask, n=3)
    texts = [choice.text for choice in whole.choices]
    expect([choice.index for choice in whole.choices] == [0, 1, 2] and len(set(texts)) == 3, "three answers")
    expect(client.completions.create(**ask).choices[0].text == texts[0], "the same seed gives the same answer, alone and beside others")
    expect(client.completions.create(**{**ask, "seed": 6}).choices[0].text != texts[0], "another seed gives another answer")
    expect(whole.usage.completion_tokens <= 120 and whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, "usage")
    streamed, finish, usage = {}, {}, None
    for event in client.completions.create(**ask, n=3, stream=True, stream_options={"include_usage": True}):
        usage = event.usage or usage
        for choice in event.choices:
            streamed[choice.index] = streamed.get(choice.index, "") + choice.text
            finish[choice.index] = choice.finish_reason or finish.get(choice.index)
    expect([streamed[i] for i in range(3)] == texts, "a stream is the whole answer in pieces")
    expect([finish[i] for i in range(3)] == [choice.finish_reason for choice in whole.choices], "a stream's finish reasons")
    expect(usage == whole.usage, "a stream's usage")
    stop = texts[0][20:23]
    cut = client.completions.create(**ask, stop=[stop]).choices[0]
    expect(cut.text == texts[0][:texts[0].index(stop)] and cut.finish_reason == "stop", "a stop string")
    pair = client.completions.create(**{**ask, "prompt": ["def add(", "x = "]}, n=2).choices
    expect([choice.index for choice in pair] == [0, 1, 2, 3] and pair[0].text == texts[0], "a list of prompts")
    greedy = [client.completions.create(**{**ask, "temperature": 0, "seed": seed}).choices[0].text for seed in (1, 2)]
    expect(greedy[0] == greedy[1], "temperature 0 needs no seed")
    expect(client.completions.create(**{**ask, "prompt": [100, 101, 102]}).usage.prompt_tokens == 3, "a prompt of token ids")


def chats(client, name):
    ask = {"model": name, "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}], "max_tokens": 30, "seed": 3}
    whole = client.chat.completions.create(**ask)
    message = whole.choices[0].message
    expect(message.role == "assistant" and whole.object == "chat.completion" and whole.id.startswith("chatcmpl-"), "a chat's answer")
    events = list(client.chat.completions.create(**ask, stream=True))
    expect(events[0].choices[0].delta.role == "assistant", "the first event has the role")
    expect("".join(event.choices[0].delta.content or "" for event in events) == message.content, "a chat's stream")
    expect(events[-1].choices[0].finish_reason == whole.choices[0].finish_reason, "a chat's finish reason")
    parts = [{"role": "user", "content": [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]}]
    plain = [{"role": "user", "content": "hello"}]
    both = [client.chat.completions.create(**{**ask, "messages": messages}).choices[0].message.content for messages in (parts, plain)]
    expect(both[0] == both[1], "content in parts")


def logprobs(client, name):
    ask = {"model": name, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 12, "seed": 3}
    chat = client.chat.completions.create(**ask, logprobs=True, top_logprobs=4)
    tokens = chat.choices[0].logprobs.content
    expect(len(tokens) == chat.usage.completion_tokens, "a chat's logprobs: one a token")
    for token in tokens:
        top = [one.logprob for one in token.top_logprobs]
        known = {bytes(one.bytes): one.logprob for one in reversed(token.top_logprobs)}
        expect(len(top) == 4 and top == sorted(top, reverse=True), "four likeliest tokens, the likeliest first")
        expect(known.get(bytes(token.bytes), token.logprob) >= token.logprob and top[0] >= token.logprob, "logprobs agree with each other")
    text = client.completions.create(model=name, prompt="abc", max_tokens=12, seed=3, temperature=0, logprobs=2).choices[0].logprobs
    expect(all(max(top.values()) == one for top, one in zip(text.top_logprobs, text.token_logprobs)), "greedy tokens are the likeliest")
    expect(text.text_offset[0] == 0 and text.text_offset == sorted(text.text_offset), "offsets")
    streamed = [token.logprob for event in client.chat.completions.create(**ask, logprobs=True, stream=True) for choice in event.choices
                if choice.logprobs for token in choice.logprobs.content]
    expect(streamed == [token.logprob for token in tokens], "a stream's logprobs")


def errors(client, name):
    user = [{"role": "user", "content": "a"}]
    error = refusal(openai.NotFoundError, lambda: client.chat.completions.create(model="other", messages=user))
    expect(error and error.code == "model_not_found" and error.param == "model", "another model")
    error = refusal(openai.BadRequestError, lambda: client.completions.create(model=name, prompt="word " * 5000))
    expect(error and error.code == "context_length_exceeded" and error.param == "prompt" and "4096" in error.message, "a prompt that is too long")
    error = refusal(openai.BadRequestError, lambda: client.completions.create(model=name, prompt="x" * 4_000_000))
    expect(error and error.code == "context_length_exceeded", "a prompt that is far too long")
    error = refusal(openai.BadRequestError, lambda: client.chat.completions.create(model=name, messages=user, temperature=3))
    expect(error and error.param == "temperature", "a temperature out of range")
    error = refusal(openai.BadRequestError, lambda: client.completions.create(model=name, prompt=[1, 2, 60000]))
    expect(error and error.param == "prompt" and "60000" in error.message, "a token outside the vocabulary")
    error = refusal(openai.BadRequestError, lambda: client.completions.create(model=name, prompt=""))
    expect(error and error.param == "prompt", "an empty prompt")
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    error = refusal(openai.BadRequestError, lambda: client.chat.completions.create(model=name, messages=user, tools=[tool]))
    expect(error and error.param == "tools", "tools")
    expect(refusal(openai.BadRequestError, lambda: client.completions.create(model=name, prompt="a", stream=True, max_tokens=0)), "no stream of a bad call")
    expect(refusal(openai.BadRequestError, lambda: client.completions.create(model=name, prompt="x" * 50000, stream=True)), "no stream of a long prompt")
    expect(client.completions.create(model=name, prompt="a", max_tokens=1).usage.completion_tokens == 1, "it goes on after all these")


def case_key(program, model):
    """A key by flag and by environment."""
    for flags, environment in ((("--api-key", KEY), {}), ((), {"KERNELWRIGHT_API_KEY": KEY})):
        with ModelServer(program, model, *USUAL, *flags, environment=environment) as server:
            expect(refusal(openai.AuthenticationError, lambda: client_of(server, "another").models.list()), "a wrong key")
            expect([one.id for one in client_of(server, KEY).models.list()] == [server.name], "the right key")
            expect(json.loads(server.get("/health"))["status"] == "ok", "health needs no key")


def curl(*words):
    return subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "60", *words], capture_output=True, text=True).stdout


def case_curl(program, model):
    """What docs/serving.md shows."""
    if shutil.which("curl") is None:
        return
    with ModelServer(program, model, *USUAL, "--served-model-name", "team/tiny") as server:
        ask = {"model": "team/tiny", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8, "seed": 1}
        answer = json.loads(curl(f"{server.origin}/v1/chat/completions", "--json", json.dumps(ask)))
        lines = curl("--no-buffer", f"{server.origin}/v1/chat/completions", "--json", json.dumps({**ask, "stream": True})).splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        content = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
        expect(content == answer["choices"][0]["message"]["content"] and "data: [DONE]" in lines, "curl's stream")
        expect(json.loads(curl(f"{server.origin}/v1/models/team/tiny"))["id"] == "team/tiny", "a model's name with a slash")
        code = curl("--output", "/dev/null", "--write-out", "%{http_code}", f"{server.origin}/v1/completions", "--data", "a=1")
        expect(code == "415", "a form is refused")
        expect("kw_lm_sampled_tokens_total" in curl(f"{server.origin}/metrics"), "metrics")


def prompts_of(count):
    return [{"prompt": f"problem {number}: " + "xyz " * (number % 7), "max_tokens": 20 + 5 * (number % 9), "seed": number,
             "temperature": 0 if number % 4 == 0 else 1.0, "top_p": 0.9 if number % 3 == 0 else 1.0} for number in range(count)]


async def stream_one(client, name, ask):
    text, ids = "", []
    async for event in await client.completions.create(model=name, stream=True, extra_body={"return_token_ids": True}, **ask):
        for choice in event.choices:
            text += choice.text
            ids += choice.token_ids
    return text, ids


def offline(program, model, scratch, asks):
    """What kernelwright generate answers, as (text, token ids)."""
    file = scratch / "prompts.jsonl"
    file.write_text("".join(json.dumps(ask) + "\n" for ask in asks))
    done = subprocess.run([str(program), "generate", "--model", str(model), "--prompts", str(file), "--json", "--threads", "2"], capture_output=True, text=True, check=True)
    answers = [json.loads(line)["choices"][0] for line in done.stdout.splitlines()]
    return [(answer["text"], answer["token_ids"]) for answer in answers]


def case_sixty_four(program, model):
    """64 streams at once, one by one, and offline: the same tokens."""
    asks = prompts_of(64)
    with ModelServer(program, model, *USUAL) as server:
        client = client_of(server, cls=openai.AsyncOpenAI)

        async def all_of():
            together = await asyncio.gather(*(stream_one(client, server.name, ask) for ask in asks))
            alone = [await stream_one(client, server.name, ask) for ask in asks]
            return together, alone

        together, alone = asyncio.run(all_of())
        metrics = server.metrics()
    expect(together == alone, "64 streams at once and one by one")
    expect(all(len(ids) > 0 for _, ids in together), "every stream has tokens")
    expect(is_idle(metrics) and metrics['kw_http_requests_total{route="/v1/completions",method="POST",status="200"}'] == 128, "metrics of 128 answers")
    with tempfile.TemporaryDirectory() as scratch:
        expect(together == offline(program, model, pathlib.Path(scratch), asks), "served and offline")


def send_raw(port, body, path="/v1/completions", receive_buffer=None):
    """A socket with a request under way."""
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", port))
    text = json.dumps(body).encode()
    connection.sendall(b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(text)) + text)
    return connection


def read_until(connection, text):
    got = b""
    while text not in got:
        piece = connection.recv(65536)
        if not piece:
            break
        got += piece
    return got


def long_stream(name, **more):
    """It outlasts what a test does meanwhile, on a machine however busy; its server has the room of ENDLESS."""
    return {"model": name, "prompt": "go on", "max_tokens": ENDLESS_TOKENS, "ignore_eos": True, "stream": True, **more}


def case_slow_and_gone(program, model):
    """Readers that do not read, and clients that leave, give their slots back."""
    with ModelServer(program, model, "--slots", 4, *ENDLESS) as server:
        slow = send_raw(server.port, long_stream(server.name, n=4, logprobs=20, max_tokens=4000), receive_buffer=4096)
        expect(server.wait_for(lambda metrics: metrics["kw_lm_slow_readers_total"] == 1), "a reader that does not read is cut off")
        expect(server.wait_for(is_idle), "its slots are free")
        expect(b"[DONE]" not in read_until(slow, b"[DONE]"), "it sees that its stream is not whole")
        slow.close()
        # Twice as many as there are slots: those that wait leave too. So long that none ends before all have left.
        gone = [send_raw(server.port, long_stream(server.name)) for _ in range(8)]
        for connection in gone[:3]:
            expect(b"data: " in read_until(connection, b"data: "), "a stream begins")
        quiet = send_raw(server.port, long_stream(server.name, stream=False))
        # A reset throws away what the server has not read yet: all are there before the first leaves.
        expect(server.wait_for(lambda metrics: metrics["kw_lm_sequences_running"] + metrics["kw_lm_sequences_waiting"] == 9), "all requests have come")
        for number, connection in enumerate([*gone, quiet]):
            if number % 2 == 0:  # with a reset, as of a killed program
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        expect(server.wait_for(is_idle), "slots of clients that left")
        metrics = server.metrics()
        expect(metrics['kw_lm_answers_total{finish="cancelled"}'] >= 9, f"cancelled answers are counted: {metrics}")
        expect(metrics["kw_lm_sampled_tokens_total"] < 9 * ENDLESS_TOKENS, "nobody's answers are not generated to their ends")
        answer = server.post("/v1/completions", {"model": server.name, "prompt": "a", "max_tokens": 5, "ignore_eos": True})
        expect(answer["usage"]["completion_tokens"] == 5, "the next one is answered")


def case_full(program, model):
    """More than slots and waiting places: 429 with Retry-After, and a call that can never fit 400."""
    with ModelServer(program, model, "--slots", 2, "--max-waiting", 1, *ENDLESS) as server:
        client = client_of(server)
        running = [send_raw(server.port, long_stream(server.name)) for _ in range(2)]
        for connection in running:
            read_until(connection, b"data: ")
        waiting = send_raw(server.port, long_stream(server.name))
        expect(server.wait_for(lambda metrics: metrics["kw_lm_sequences_waiting"] == 1), "one waits")
        error = refusal(openai.RateLimitError, lambda: client.completions.create(model=server.name, prompt="a"))
        expect(error and int(error.response.headers["retry-after"]) >= 1, "429 says when to come again")
        error = refusal(openai.BadRequestError, lambda: client.completions.create(model=server.name, prompt="a", n=4))
        expect(error and error.param == "n", "more answers than there is room for")
        for connection in [*running, waiting]:
            connection.close()
        expect(server.wait_for(is_idle), "all left")
        expect(client.completions.create(model=server.name, prompt="a", n=3, max_tokens=2).choices[2].index == 2, "room again")


VALUES = [None, True, False, 0, 1, -1, 2, 1.5, -0.5, 1e308, 2**31, 2**63, 2**64 - 1, "", "a", "\x00", "\ud800", "x" * 3000, [], {}, [[]], [{}], {"a": {}}, [1, 2], ["a"],
          [None], {"include_usage": 1}, {"type": "text"}, [{"role": "user", "content": "a"}], [{"role": "user", "content": [{"type": "text"}]}]]
FIELDS = ["model", "prompt", "messages", "n", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "stop", "stop_token_ids", "seed", "stream",
          "stream_options", "logprobs", "top_logprobs", "best_of", "echo", "suffix", "logit_bias", "tools", "tool_choice", "response_format", "user", "ignore_eos",
          "continue_final_message", "chat_template_kwargs", "return_token_ids", "frequency_penalty", "something"]


def malformed(random_numbers, name):
    """One request as bytes, and whether its head says how long it is: fields of any kind, JSON that is cut or changed, heads that are none."""
    chat = random_numbers.random() < 0.5
    body = {"model": name, "max_tokens": 2, **({"messages": [{"role": "user", "content": "a"}]} if chat else {"prompt": "a"})}
    for _ in range(random_numbers.randrange(4)):
        field = random_numbers.choice(FIELDS)
        body[field] = random_numbers.choice(VALUES)
    if isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 4:
        body["max_tokens"] = 3
    text = bytearray(json.dumps(body).encode())
    for _ in range(random_numbers.randrange(4) if random_numbers.random() < 0.5 else 0):
        place = random_numbers.randrange(len(text) + 1)
        change = random_numbers.randrange(3)
        if change == 0:
            del text[place:place + random_numbers.randrange(1, 9)]
        elif change == 1:
            text[place:place] = bytes(random_numbers.randrange(256) for _ in range(3))
        else:
            del text[place:]
    path = random_numbers.choice(["/v1/chat/completions" if chat else "/v1/completions"] * 8 + ["/v1/models", "/v1/models/x", "/v1/", "/metrics", "//", "/v1/completions/../x"])
    length = len(text) + (random_numbers.choice([-1, 1, 10**9]) if random_numbers.random() < 0.05 else 0)
    whole = length <= len(text)
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()
    if random_numbers.random() < 0.1:
        head = bytearray(head)
        head[random_numbers.randrange(len(head))] = random_numbers.randrange(256)
        whole = False
    return bytes(head) + bytes(text), whole


def status_of(port, request, whole):
    """0 for a connection that was closed without an answer. whole: the server need not wait for more of the request."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(request)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
            got = read_until(connection, b"never in an answer")
        except ConnectionError:
            return 0
    return int(got[9:12]) if got.startswith(b"HTTP/1.1 ") else 0


def case_malformed(program, model, requests=3000, seconds=60):
    """Requests that a bounded generator damages: never a 5xx, never an end, and a good one is answered as before."""
    numbers = random.Random(int(os.environ.get("KW_SEED", "1")))
    with ModelServer(program, model, "--slots", 8, "--threads", 1, "--context", 512) as server:
        good = {"model": server.name, "prompt": "def add(", "max_tokens": 10, "seed": 4}
        before = server.post("/v1/completions", good)["choices"]
        counts, end = {}, time.monotonic() + seconds
        for number in range(requests):
            request, whole = malformed(numbers, server.name)
            status = status_of(server.port, request, whole)
            counts[status] = counts.get(status, 0) + 1
            expect(status < 500 or status == 501 or status == 505, f"status {status} for {request!r}")
            if number % 100 == 0:
                expect(server.post("/v1/completions", good)["choices"] == before, "a good request among bad ones")
            if time.monotonic() > end:
                break
        print("malformed:", dict(sorted(counts.items())), flush=True)
        expect(counts.get(400, 0) > number / 5 and counts.get(200, 0) > number / 20, "both good and bad ones came")
        expect(server.wait_for(is_idle), "nothing stays behind")
        expect(server.post("/v1/completions", good)["choices"] == before, "the same answer as before")
        code, talk = server.end()
        expect(code == 0, f"it stops as asked: {code}, {talk}")


def case_stop(program, model):
    """Asked to stop it finishes what is under way, or cuts it when the grace is over."""
    with ModelServer(program, model, *USUAL) as server:
        stream = send_raw(server.port, long_stream(server.name, max_tokens=3000))
        got = read_until(stream, b"data: ")
        os.kill(server.engine_pid(), signal.SIGTERM)  # as Slurm does it to all processes of a job
        server.process.send_signal(signal.SIGTERM)
        got += read_until(stream, b"[DONE]")
        expect(b"[DONE]" in got, "a stream is finished before the server ends")
        code, talk = server.end(None)
        expect(code == 0 and "stopping" in talk, f"a stop: {code}, {talk}")
    with ModelServer(program, model, "--slots", 8, "--grace", 0, *ENDLESS) as server:
        stream = send_raw(server.port, long_stream(server.name, n=8))
        got = read_until(stream, b"data: ")
        code, talk = server.end(signal.SIGINT)
        expect(code == 0, f"a stop without grace: {code}, {talk}")
        expect(b"[DONE]" not in got + read_until(stream, b"[DONE]"), "a stream that is cut is not whole")
    engines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    expect(str(model) not in engines or "kernelwright-lm" not in engines, "no engine stays behind")


def gone_within(pid, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def case_death(program, model):
    """The engine's death is told to everyone; the front's death ends the engine."""
    with ModelServer(program, model, "--slots", 2, *ENDLESS) as server:
        stream = send_raw(server.port, long_stream(server.name))
        whole = send_raw(server.port, long_stream(server.name, stream=False))
        read_until(stream, b"data: ")
        expect(server.wait_for(lambda metrics: metrics["kw_lm_sequences_running"] == 2), "two run")
        os.kill(server.engine_pid(), signal.SIGKILL)
        rest = read_until(stream, b"server_error")
        expect(b"server_error" in rest and b"[DONE]" not in rest, f"an event says that the stream has failed: {rest[-300:]!r}")
        expect(read_until(whole, b"\r\n").startswith(b"HTTP/1.1 503"), "503 for a call under way")
        code, talk = server.end(None)
        expect(code == 2 and "signal 9" in talk, f"the server ends with the engine: {code}, {talk}")
    with ModelServer(program, model, "--slots", 2, *ENDLESS) as server:
        stream = send_raw(server.port, long_stream(server.name))
        read_until(stream, b"data: ")
        engine = server.engine_pid()
        server.process.kill()
        expect(gone_within(engine), "the engine ends when the front is killed")


class EngineLink:
    """kernelwright-lm serve with this process as its front program."""

    def __init__(self, program, model, protocol=1):
        ours, theirs = socket.socketpair()
        settings = {"model": str(model), "threads": 1, "slots": 64, "context": 4096, "socket": 3}
        # The shell puts the socket where the engine looks for it.
        command = ["bash", "-c", f'exec 3<&{theirs.fileno()} "$@"', "bash", str(program.parent / "kernelwright-lm"), "serve", json.dumps(settings)]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self.socket, self.stream = ours, ours.makefile("rb")
        self.send({"type": "hello", "protocol": protocol})

    def send(self, message):
        body = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<I", len(body)) + body)

    def next(self):
        """The next message, or None at the end."""
        length = self.stream.read(4)
        return json.loads(self.stream.read(struct.unpack("<I", length)[0])) if length else None

    def until(self, kind):
        while (message := self.next()) is not None and message["type"] != kind:
            pass
        return message

    def wait_until_idle(self):
        """Its thread sleeps only when nothing is to be generated."""
        while pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            time.sleep(0.05)

    def end(self):
        self.stream.close()
        self.socket.close()
        return self.process.wait(60)


def case_link(program, model):
    """The engine alone: a front program that does not read, or that sends what is no message."""
    link = EngineLink(program, model)
    expect(link.next()["model"]["slots"] == 64, "the engine's welcome")
    large = {"prompt": "go on", "n": 64, "max_tokens": 4000, "ignore_end": True, "logprobs": True, "top_logprobs": 20}
    link.send({"type": "generate", "id": 1, "request": large})
    link.until("accepted")
    link.wait_until_idle()  # it has generated on while nobody read, and given the request up
    failed = link.until("failed")
    expect(failed and failed["id"] == 1 and failed["code"] == "resource_exhausted", f"a request that is not read is given up: {failed}")
    link.send({"type": "statistics", "id": 5000})
    while (message := link.until("statistics")) is not None and message["id"] != 5000:
        pass
    expect(message and message["running"] == 0 and message["waiting"] == 0, f"its slots are free: {message}")
    expect(link.end() == 0, "the engine ends with the front program")
    for damaged in (b"\xff\xff\xff\xff", b"\0\0\0\0", struct.pack("<I", 2) + b"{]", struct.pack("<I", 2) + b"{}"):
        link = EngineLink(program, model)
        link.until("welcome")
        link.socket.sendall(damaged)
        failed = link.next()
        expect(failed and failed["type"] == "failed" and failed["id"] == 0 and link.next() is None, f"{damaged!r} ends the link: {failed}")
        expect(link.end() == 2, "and the engine, which says so")
    link = EngineLink(program, model, protocol=2)
    expect(link.next()["code"] == "unsupported" and link.end() == 2, "another version of the protocol")


def case_start(program, model):
    """What cannot be served says why, and leaves nothing behind."""
    def ends(words, *flags):
        port = () if "--port" in flags else ("--port", 0)
        done = subprocess.run([str(program), "serve-model", *map(str, (*port, *flags))], capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 2 and done.stdout == "" and all(word in done.stderr for word in words), f"{flags}: {done.returncode}, {done.stderr}")

    ends(["config.json"], "--model", model / "nothing")
    ends(["dtype"], "--model", model, "--dtype", "float8")
    ends(["device"], "--model", model, "--device", "abacus")
    ends(["matmuls", "quickest", "batch_invariant or fastest"], "--model", model, "--matmuls", "quickest")
    ends(["matmuls", "cuda"], "--model", model, "--matmuls", "fastest")
    ends(["address"], "--model", model, "--host", "no address")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ends([str(taken.getsockname()[1])], "--model", model, "--port", taken.getsockname()[1])


def main():
    program, probe = map(pathlib.Path, sys.argv[1:3])
    cases = {name.removeprefix("case_"): case for name, case in globals().items() if name.startswith("case_")}
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(probe, pathlib.Path(folder) / "tiny")
        for name in sys.argv[3:] or cases:
            start = time.monotonic()
            cases[name](program, model)
            print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)
    print(f"{expectations.failures} differences")
    sys.exit(expectations.exit_code())


if __name__ == "__main__":
    main()
