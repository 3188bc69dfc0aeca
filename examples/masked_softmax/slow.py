# Masked softmax in float64, step by step.
import torch


def run(x, mask):
    scores = torch.where(mask, x.double(), float("-inf"))
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return (exponentials / exponentials.sum(dim=-1, keepdim=True)).float()
