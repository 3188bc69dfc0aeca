#!/usr/bin/env python3
"""Between kernelwright-train and the gym's kernelwright-environment, for tests: in place of what the policy wrote, the gym gets a program of the
corpus for each episode, by turns. Facts of the answer name it as `script`.
settings: those of the environment, and script (a file: a list of [name, answer]), gym (the environment's program)"""
import itertools
import json
import os
import socket
import struct
import subprocess
import threading

SOCKET = 3
trainer = socket.socket(fileno=SOCKET)


def receive(source):
    def exactly(count):
        part = b""
        while len(part) < count:
            more = source.recv(count - len(part))
            if not more:
                return None
            part += more
        return part
    head = exactly(4)
    body = exactly(struct.unpack("<I", head)[0]) if head else None
    return json.loads(body) if body else None


def send(target, message):
    body = json.dumps(message).encode()
    target.sendall(struct.pack("<I", len(body)) + body)


hello = receive(trainer)
script = json.loads(open(hello["settings"].pop("script")).read())
ours, theirs = socket.socketpair()
gym = subprocess.Popen([hello["settings"].pop("gym")], preexec_fn=lambda: os.dup2(theirs.fileno(), SOCKET), close_fds=False)
theirs.close()
send(ours, hello)
order = itertools.cycle(script)
told = {}  # episode and request: the script's name


def say_back():
    while message := receive(ours):
        if message["type"] == "began":  # a script needs no prompt
            message["observation"]["messages"] = [{"role": "user", "content": "a kernel"}]
        if message["type"] == "stepped":
            message["facts"]["script"] = told[message["id"]]
        send(trainer, message)
    trainer.shutdown(socket.SHUT_RDWR)


threading.Thread(target=say_back, daemon=True).start()
answers = {}  # of an episode; a step that is asked for again gets the same one
while message := receive(trainer):
    if message["type"] == "step":
        if message["episode"] not in answers:
            answers[message["episode"]] = next(order)
        told[message["id"]], text = answers[message["episode"]]
        message |= {"text": text, "finish": "stop"}
    send(ours, message)
ours.shutdown(socket.SHUT_WR)
gym.wait()
