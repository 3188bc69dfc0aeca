import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels, stride=2):
        super().__init__()
        a = torch.tensor([1.0, 2.0, 1.0])
        filt = a[:, None] * a[None, :]
        filt = filt / torch.sum(filt)
        self.channels, self.stride = channels, stride
        self.register_buffer("filt", filt[None, None, :, :].repeat((channels, 1, 1, 1)))
        self.pad = nn.ReflectionPad2d([1, 1, 1, 1])

    def forward(self, inp):
        return F.conv2d(self.pad(inp), self.filt, stride=self.stride, groups=inp.shape[1])


def get_inputs():
    return [torch.randn(2, 14, 27, 33)]


def get_init_inputs():
    return [14]
