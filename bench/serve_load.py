#!/usr/bin/env python3
"""Tokens a second of 64 streams at once against the same prompts offline, in one run, with the same tokens.

    bench/serve_load.py [--clients 64] [--max-tokens 128] [--rounds 3] [--threads 2] [--device cuda --dtype bfloat16] [--shape 27M | --model DIR]

Ours offline: kernelwright generate --prompts, without the time to load the model. Served: kernelwright serve-model with as many slots, from the first request's first byte
to the last stream's last. Random weights of --shape (27M or 1.5B, vocabulary 8,192) unless --model names a folder. The load generator is this process (raw sockets, one thread; events are
parsed when all have come) and shares the cores with the server. Rounds alternate; shown are medians (smallest to largest) and the ratio of the medians, and the CPU seconds of
both programs (offline with loading the model), which busy neighbours change less.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from common import ROOT

sys.path.insert(0, str(ROOT / "tests/lm"))
from model_server import ModelServer, is_idle  # noqa: E402
from tiny_model import make_model  # noqa: E402

BIN = ROOT / "build/dev/bin"
SHAPES = {
    "27M": {"hidden_size": 512, "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 1408},
    "1.5B": {"hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960},
}


def asks_of(arguments):
    return [{"prompt": f"problem {number}: " + "write a kernel " * (1 + number % 5), "max_tokens": arguments.max_tokens, "seed": number, "ignore_end": True}
            for number in range(arguments.clients)]


def engine_flags(arguments):
    where = ("--device", arguments.device, "--dtype", arguments.dtype, "--threads", arguments.threads)
    return *where, "--slots", arguments.clients, "--context", arguments.max_tokens + 256


def offline(arguments, model, asks, scratch):
    """(tokens a second, CPU seconds, token ids of each)"""
    file = scratch / "prompts.jsonl"
    file.write_text("".join(json.dumps(ask) + "\n" for ask in asks))
    command = [arguments.bin / "kernelwright", "generate", "--model", model, "--prompts", file, "--json", *engine_flags(arguments)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rate = float(re.search(r"([\d.]+) tokens/s", done.stderr)[1])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return rate, seconds, [json.loads(line)["choices"][0]["token_ids"] for line in done.stdout.splitlines()]


class Stream:
    def __init__(self, port, body):
        text = json.dumps(body).encode()
        self.request = b"POST /v1/completions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.got = []

    def is_whole(self):
        self.got.append(self.socket.recv(1 << 18))
        return not self.got[-1] or b"data: [DONE]" in b"".join(self.got[-2:])

    def token_ids(self):
        text = b"".join(self.got)
        if not text.startswith(b"HTTP/1.1 200") or b"data: [DONE]" not in text:
            sys.exit(f"FAILED: {text[:300]!r}")
        events = [json.loads(data) for data in re.findall(rb"data: (\{.*\})\n\n", text)]
        return [token for event in events for choice in event["choices"] for token in choice["token_ids"]]


def cpu_seconds(*pids):
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def served(server, asks):
    """As offline."""
    pids = (server.process.pid, server.engine_pid())
    selector = selectors.DefaultSelector()
    streams = []
    for ask in asks:
        fields = {"ignore_eos" if key == "ignore_end" else key: value for key, value in ask.items()}
        streams.append(Stream(server.port, {"model": server.name, "stream": True, "return_token_ids": True, **fields}))
        selector.register(streams[-1].socket, selectors.EVENT_READ, streams[-1])
    before, begin = cpu_seconds(*pids), time.perf_counter()
    for stream in streams:
        stream.socket.sendall(stream.request)
    open_streams = len(streams)
    while open_streams:
        for key, _ in selector.select():
            if key.data.is_whole():
                selector.unregister(key.fileobj)
                open_streams -= 1
    seconds, cpu = time.perf_counter() - begin, cpu_seconds(*pids) - before
    for stream in streams:
        stream.socket.close()
    ids = [stream.token_ids() for stream in streams]
    return sum(map(len, ids)) / seconds, cpu, ids


def shown(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--shape", choices=SHAPES, default="27M")
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=BIN)
    arguments = parser.parse_args()
    asks = asks_of(arguments)
    rates, cpu = {"offline": [], "served": []}, {"offline": [], "served": []}
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        model = arguments.model or make_model(arguments.bin / "kw_lm_probe", scratch / arguments.shape, vocabulary=8192, shape=SHAPES[arguments.shape], dtype=arguments.dtype)
        with ModelServer(arguments.bin / "kernelwright", model, *engine_flags(arguments)) as server:
            for _ in range(arguments.rounds):
                rate, seconds, expected = offline(arguments, model, asks, scratch)
                rates["offline"].append(rate)
                cpu["offline"].append(seconds)
                rate, seconds, got = served(server, asks)
                rates["served"].append(rate)
                cpu["served"].append(seconds)
                if got != expected:
                    sys.exit("FAILED: the served tokens are not those of the offline batch")
            if not server.wait_for(is_idle):
                sys.exit("FAILED: slots are not given back")
    ratio = statistics.median(rates["served"]) / statistics.median(rates["offline"])
    print(f"{arguments.clients} streams of {arguments.max_tokens} tokens, {arguments.device}, {arguments.threads} threads, tokens/s: offline {shown(rates['offline'])}, "
          f"served {shown(rates['served'])}, ratio {ratio:.3f}; CPU s: offline {shown(cpu['offline'])}, served {shown(cpu['served'])}; all tokens equal")


if __name__ == "__main__":
    main()
