"""kernelwright-train rl learning from the environment's text: gradients beside autograd in float64, resume to the bit.
usage: rl_feedback_test.py KERNELWRIGHT_TRAIN; exit 77: this Python has no transformers."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy
    import safetensors.numpy
    import tokenizers
    import torch
    import transformers  # noqa: F401: transformers_peer needs it
except ImportError:
    print("no transformers: skipped")
    sys.exit(77)

from transformers_peer import load  # noqa: E402

PROGRAM = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "configs/tiny_model"
TOKENIZER = tokenizers.Tokenizer.from_file(str(MODEL / "tokenizer.json"))
FEEDBACK, OBSERVATION = 0.7, 0.3
ASKED = "The letter e:"
RIGHT = 0.3  # some answers of a model that has begun to learn are paid so much


def command(run, *extra):
    words = [word for one in (f"run={run}", f"model={MODEL}", "threads=1", "device=cpu", *extra) if "=" in one for word in ("--set", one)]
    return [PROGRAM, "rl", "--config", str(ROOT / "configs/rl_feedback.toml"), *words, *(one for one in extra if "=" not in one)]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-2000:]}"
    return pathlib.Path(done.stdout.strip())


def rows(folder, name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def encoded(text):
    return TOKENIZER.encode(text, add_special_tokens=False).ids


def opened(*messages):
    text = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in messages)
    return encoded(text + "<|im_start|>assistant\n")


def episodes_of(folder):
    """Turns of each episode of the only step, in their order."""
    steps = {row["state"]: row for row in rows(folder, "episodes.jsonl") if "answer" in row}
    shown = {}
    for row in rows(folder, "samples.jsonl"):
        found = [step for step in steps.values() if step["answer"]["text"] == row["text"] and step["reward"] == row["reward"]]
        shown.setdefault(row["episode"], []).append({**found[0], "advantage": row["advantage"]})
    return [shown[number] for number in sorted(shown)]


def sequences_of(episodes):
    """What each turn was trained on: what was read, the answer, what the teacher read, which tokens the environment wrote."""
    right = max((turn for one in episodes for turn in one if turn["reward"] >= RIGHT), key=lambda turn: turn["reward"], default=None)
    out = []
    for turns in episodes:
        read, messages, observed = opened(("user", ASKED)), [("user", ASKED)], []
        for number, turn in enumerate(turns):
            answer = turn["answer"]["tokens"]
            asked = "" if right is None else "\n\nA correct answer:\n\n" + right["answer"]["text"]
            asked += "\n\nFeedback on an earlier answer, which failed:\n\n" + turn["facts"]["feedback"] + "\n\nAnswer the original question correctly."
            teacher = None if turn["reward"] >= RIGHT else opened(*messages[:-1], ("user", messages[-1][1] + asked))
            out.append({"read": list(read), "answer": answer, "teacher": teacher, "observed": list(observed), "turn": turn})
            if number + 1 == len(turns):
                break
            said = turn["next"]["messages"][0]["content"]
            before = encoded(("" if answer[-1] == 258 else "<|im_end|>") + "\n<|im_start|>user\n")
            observed = list(range(len(read) + len(answer) + len(before), len(read) + len(answer) + len(before) + len(encoded(said))))
            read = read + answer + before + encoded(said) + encoded("<|im_end|>\n<|im_start|>assistant\n")
            messages = messages + [("assistant", turn["answer"]["text"]), ("user", said)]
    return out


def divergence(kind, teacher, student):
    """Of rows of log-probabilities; beta is 0.3."""
    def kl(a, b):
        return (a.exp() * (a - b)).sum(-1)

    if kind == "reverse":
        return kl(student, teacher)
    mixed = torch.log(0.3 * teacher.exp() + 0.7 * student.exp())
    return 0.3 * kl(teacher, mixed) + 0.7 * kl(student, mixed)


def losses_of(model, teacher_model, sequences, kind):
    """The loss and its parts, by autograd: REINFORCE on the logged advantages, which are means over the tokens of a turn and equal in it."""
    policy, feedback, observation = [], [], []
    gap = 0
    for one in sequences:
        tokens = torch.tensor(one["read"] + one["answer"])
        logits = model(tokens[None, :-1]).logits[0] / 0.8
        logs = torch.log_softmax(logits, -1)
        drawn = logs.gather(1, tokens[1:, None])[:, 0]
        answer = drawn[len(one["read"]) - 1:]
        gap = max(gap, (answer.detach() - torch.tensor(one["turn"]["answer"]["logprobs"])).abs().max().item())
        if one["turn"]["advantage"] is not None:
            policy.append(-one["turn"]["advantage"] * answer)
        observation += [-drawn[place - 1] for place in one["observed"]]
        if one["teacher"] is not None:
            with torch.no_grad():
                whole = torch.tensor(one["teacher"] + one["answer"])
                told = torch.log_softmax(teacher_model(whole[None, :-1]).logits[0] / 0.8, -1)[len(one["teacher"]) - 1:]
            feedback.append(divergence(kind, told, logs[len(one["read"]) - 1:]))
    assert gap < 1e-3, f"the recorded log-probabilities are of other tokens: {gap}"
    parts = {"policy_loss": torch.cat(policy).mean() if policy else torch.zeros(()), "feedback_divergence": torch.cat(feedback).mean(),
             "observation_loss": torch.stack(observation).mean()}
    counts = {"feedback_tokens": sum(len(one) for one in feedback), "observation_tokens": len(observation), "feedback_answers": len(feedback)}
    return parts["policy_loss"] + FEEDBACK * parts["feedback_divergence"] + OBSERVATION * parts["observation_loss"], parts, counts


def place_of(name, tensors, block):
    """Where a tensor of the checkpoint lies in the optimizer's blocks, by its bits."""
    at = block.tobytes().find(tensors[name].astype(numpy.float32).tobytes())
    assert at >= 0 and at % 4 == 0, name
    return at // 4


def begun(work):
    """A model that writes some letters e, so that some of its answers are right and others failed."""
    texts = ["eexe e", "aebec", "eeeee", "e-e o"] * 4
    data = work / "rows.jsonl"
    data.write_text("".join(json.dumps({"messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": text}]}) + "\n" for text in texts))
    settings = [f"model={MODEL}", "new_weights=true", f"run={work / 'begin'}", f"data={data}", "max_tokens=64", "step_tokens=200", "micro_tokens=200",
                "steps=6", "learning_rate=3e-3", "schedule=constant", "warmup=0", "threads=1", "device=cpu"]
    return run(PROGRAM, "sft", *(word for one in settings for word in ("--set", one)))


def check_gradients(begin, work, kind, *extra):
    """AdamW's first moments are 0.1 of the only step's gradient."""
    folder = work / f"step-{kind}"
    step = [f"model={begin}", "new_weights=false", "steps=1", "learning_rate=1e-4", "weight_decay=0", "sample_rows=99", "loss=reinforce",
            "estimator=dr_grpo", f"feedback_divergence={kind}", "feedback_beta=0.3", "prompts=1", "samples=6", "updates=1", "micro_tokens=150",
            "answer_tokens=9", "max_tokens=300", "max_norm=0", "temperature=0.8", f"feedback_coefficient={FEEDBACK}",
            f"observation_coefficient={OBSERVATION}", f"feedback_reward={RIGHT}", *extra]
    last = run(*command(folder, *step))
    line = rows(folder, "metrics.jsonl")[0]
    model = load(begin).double()
    loss, parts, counts = losses_of(model, load(begin).double(), sequences_of(episodes_of(folder)), kind)
    loss.backward()
    assert line["failed_answers"] == counts["feedback_answers"] < 12, "no answer is right, so none was read"
    for name, count in counts.items():
        assert line[name] == count > 0, (name, line[name], count)
    for name, want in parts.items():
        assert abs(line[name] - want.item()) < 1e-5 * max(1, abs(want.item())), (name, line[name], want.item())
    assert abs(line["loss"] - loss.item()) < 1e-5 * max(1, abs(loss.item())), (line["loss"], loss.item())
    tensors, state = (safetensors.numpy.load_file(last / name) for name in ("model.safetensors", "optimizer.safetensors"))
    worst = 0
    for name, p in model.named_parameters():
        if name not in tensors:
            continue
        first = place_of(name, tensors, state["master"])
        got = torch.from_numpy(state["exp_avg"][first:first + p.numel()].copy()).double().view_as(p) / 0.1
        worst = max(worst, ((got - p.grad).norm() / p.grad.norm()).item())
    assert worst < 1e-5, worst
    print(f"{kind}: {counts['feedback_answers']} answers with feedback, {counts['observation_tokens']} tokens of the environment; gradients differ from "
          f"autograd's in float64 by at most {worst:.1e} of a tensor's norm")


def check_recipe(work):
    """Resumed after its middle, it is the run to the bit; what the environment says is learnt."""
    whole, cut = work / "whole", work / "cut"
    short = ["steps=4", "save_every=2", "keep=0", "samples=3", "prompts=1", "answer_tokens=8", "max_tokens=250", "warmup=0",
             "feedback_teacher=average", "feedback_average=0.3"]
    last = run(*command(whole, *short))
    shutil.copytree(whole, cut)
    shutil.rmtree(cut / "checkpoints/step-000004")
    run(*command(cut, *short, "--resume"))
    for name in ("model.safetensors", "optimizer.safetensors"):
        assert (cut / "checkpoints/step-000004" / name).read_bytes() == (last / name).read_bytes(), f"{name}: the resumed run differs"
    lines = rows(whole, "metrics.jsonl")
    again = rows(cut, "metrics.jsonl")
    for key in ("loss", "policy_loss", "feedback_divergence", "observation_loss", "feedback_tokens", "reward"):
        assert [line[key] for line in again] == [line[key] for line in lines], key
    assert lines[-1]["observation_loss"] < 0.9 * lines[0]["observation_loss"], [line["observation_loss"] for line in lines]
    assert all(line["feedback_no_room"] == 0 and line["failed_answers"] >= line["feedback_answers"] > 0 for line in lines)
    done = subprocess.run(command(cut, *short, "--resume", "feedback_reward=0.4"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "feedback_reward: differs" in done.stderr, done.stderr[-500:]
    print(f"recipe: equal to the bit when resumed; cross-entropy of the environment's text {lines[0]['observation_loss']:.2f} to "
          f"{lines[-1]['observation_loss']:.2f} nats a token")


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="kw-feedback-") as folder:
        work = pathlib.Path(folder)
        begin = begun(work)
        check_gradients(begin, work, "reverse")
        check_gradients(begin, work, "jensen_shannon", "feedback_teacher=start")
        check_recipe(work)


main()
