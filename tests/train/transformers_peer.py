"""What training beside transformers has in common: the models, and the samples of each step."""
import torch
import transformers


def load(folder):
    """The model of a folder, in float32."""
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def steps_of(rows, steps, step_tokens):
    """The samples of each step: in their order, over and over, as many as fit into step_tokens."""
    place = 0
    for _ in range(steps):
        step, tokens = [], 0
        while not step or tokens + len(rows[place % len(rows)]["tokens"]) - 1 <= step_tokens:
            step.append(rows[place % len(rows)])
            tokens += len(step[-1]["tokens"]) - 1
            place += 1
        yield step
