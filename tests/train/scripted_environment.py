#!/usr/bin/env python3
"""An environment of kernelwright-train for tests: pays the share of the letter e, and misbehaves as its settings say.
settings: fault (none, die, stall, twice, refuse, kill: the trainer), at (the step that it comes with), once (a file: the fault comes while
it is not there), seconds (of a judgement), exclusive (the trainer stands still meanwhile)"""
import json
import os
import queue
import signal
import struct
import threading
import time

SOCKET = 3
incoming = os.fdopen(os.dup(SOCKET), "rb")
speaking = threading.Lock()
answers = queue.Queue()
stands_still = threading.Event()


def read():
    head = incoming.read(4)
    return json.loads(incoming.read(struct.unpack("<I", head)[0])) if len(head) == 4 else None


def say(**message):
    body = json.dumps(message).encode()
    with speaking:
        os.write(SOCKET, struct.pack("<I", len(body)) + body)


def judge(message, fault):
    if fault != "none":
        open(settings["once"], "w").close()
    if fault == "kill":
        os.kill(os.getppid(), signal.SIGKILL)
    if fault == "die":
        os._exit(1)
    if fault == "stall":
        time.sleep(600)
    if fault == "refuse":
        say(type="failed", id=message["id"], code="unsupported", message="quarantined")
        return
    if settings.get("exclusive"):
        stands_still.clear()
        say(type="pause")
        stands_still.wait()
    time.sleep(settings.get("seconds", 0))
    if settings.get("exclusive"):
        say(type="resume")
    reply = {"type": "stepped", "id": message["id"], "reward": message["text"].count("e") / max(len(message["text"]), 1), "done": True, "facts": {}}
    for _ in range(2 if fault == "twice" else 1):
        say(**reply)


def judge_all():
    """One answer after the other."""
    steps = 0
    while True:
        message = answers.get()
        steps += 1
        comes = steps == settings.get("at", 0) and not os.path.exists(settings.get("once", ""))
        judge(message, settings.get("fault", "none") if comes else "none")


hello = read()
settings = hello["settings"]
say(type="welcome", protocol=hello["protocol"], tasks=["first", "second"], about="scripted")
threading.Thread(target=judge_all, daemon=True).start()
while message := read():
    if message["type"] == "begin":
        say(type="began", id=message["id"], observation={"messages": [{"role": "user", "content": f"The letter e, {message['task']}:"}], "whole": True})
    if message["type"] == "step":
        answers.put(message)
    if message["type"] == "paused":
        stands_still.set()
os._exit(0)  # whatever is judged
