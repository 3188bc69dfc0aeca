# Mean cross entropy through full matrices of probabilities and of one-hot targets, in float64.
import torch
import torch.nn.functional as F


def run(logits, target):
    log_probability = torch.log_softmax(logits.double(), dim=-1)
    picked = F.one_hot(target, logits.shape[1]).double() * log_probability
    return (-picked.sum(dim=-1).mean()).float()
