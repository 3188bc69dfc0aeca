import torch
import torch.nn as nn


def conv_bn(inp, oup, k, s, groups=1, act=True):
    layers = [nn.Conv2d(inp, oup, k, s, (k - 1) // 2, groups=groups, bias=False), nn.BatchNorm2d(oup)]
    if act:
        layers.append(nn.ReLU6(inplace=True))
    return nn.Sequential(*layers)


class Model(nn.Module):
    def __init__(self, inp, oup, stride, expand_ratio):
        super(Model, self).__init__()
        hidden = int(round(inp * expand_ratio))
        self.use_res = stride == 1 and inp == oup
        self.conv = nn.Sequential(conv_bn(inp, hidden, 1, 1), conv_bn(hidden, hidden, 3, stride, groups=hidden), conv_bn(hidden, oup, 1, 1, act=False))
        self.eval()

    def forward(self, x):
        return x + self.conv(x) if self.use_res else self.conv(x)


def get_inputs():
    return [torch.randn(2, 12, 21, 21)]


def get_init_inputs():
    return [12, 12, 1, 4]
