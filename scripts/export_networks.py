"""The networks that export_models.py exports: ResNet-50, BERT-base, and one decoder block each of
the GPT-2 and the Llama kind, as people write them with torch.nn. Weights are random, but seeded."""

import math

import torch
from torch import nn
from torch.nn import functional


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.shortcut = None
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = functional.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return functional.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                                  nn.MaxPool2d(3, 2, 1))
        blocks, channels = [], 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(count):
                blocks.append(Bottleneck(channels, width, stride if i == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))

    @staticmethod
    def settle(model):
        """Statistics and scales like those of a trained network: activations stay of size 1."""
        for module in model.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(0.8, 1.2)
                module.weight.data.uniform_(0.4, 0.8)
                module.bias.data.normal_(0, 0.1)


class BertLayer(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.project = nn.Linear(hidden, hidden)
        self.norm1 = nn.LayerNorm(hidden, eps=1e-12)
        self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.norm2 = nn.LayerNorm(hidden, eps=1e-12)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size) + mask
        context = torch.matmul(functional.softmax(scores, dim=-1), v).permute(0, 2, 1, 3)
        context = context.reshape(x.shape[0], x.shape[1], self.heads * self.size)
        x = self.norm1(self.project(context) + x)
        return self.norm2(self.down(functional.gelu(self.up(x))) + x)


class Bert(nn.Module):
    def __init__(self, layers=12, hidden=768, heads=12, inner=3072, words=30522, positions=512):
        super().__init__()
        self.words, self.types = nn.Embedding(words, hidden), nn.Embedding(2, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(BertLayer(hidden, heads, inner) for _ in range(layers))
        self.pooler = nn.Linear(hidden, hidden)

    def forward(self, input_ids, attention_mask, token_type_ids):
        at = torch.arange(input_ids.shape[1])
        x = self.norm(self.words(input_ids) + self.types(token_type_ids) + self.positions(at)[None])
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))

    @staticmethod
    def settle(model):
        for module in model.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.04)


class Gpt2Block(nn.Module):
    """Pre-normalised, one matrix for query, key and value, tanh GELU, causal by a triangle of ones."""

    def __init__(self, hidden=256, heads=4, positions=512):
        super().__init__()
        self.heads, self.size, self.hidden = heads, hidden // heads, hidden
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.project = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.register_buffer("triangle", torch.tril(torch.ones(positions, positions, dtype=torch.bool)))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    @staticmethod
    def gelu(x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    def forward(self, x):
        length = x.shape[1]
        q, k, v = self.qkv(self.norm1(x)).split(self.hidden, dim=2)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
        lowest = torch.full([], torch.finfo(scores.dtype).min, dtype=scores.dtype)
        scores = torch.where(self.triangle[None, None, :length, :length], scores, lowest)
        context = torch.matmul(functional.softmax(scores, dim=-1), v).transpose(1, 2)
        x = x + self.project(context.reshape(x.shape[0], length, self.hidden))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class RmsNorm(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaBlock(nn.Module):
    """RMSNorm, rotary positions, grouped-query attention, SiLU gate, causal by a large negative sum."""

    def __init__(self, hidden=256, heads=8, groups=2, inner=704):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, hidden // heads
        self.norm1, self.norm2 = RmsNorm(hidden), RmsNorm(hidden)
        linear = lambda a, b: nn.Linear(a, b, bias=False)  # noqa: E731
        self.query, self.project = linear(hidden, hidden), linear(hidden, hidden)
        self.key, self.value = linear(hidden, groups * self.size), linear(hidden, groups * self.size)
        self.gate, self.up, self.down = linear(hidden, inner), linear(hidden, inner), linear(inner, hidden)
        self.register_buffer("frequencies", 1.0 / (10000.0 ** (torch.arange(0, self.size, 2) / self.size)))

    @staticmethod
    def turned(x):
        half = x.shape[-1] // 2
        return torch.cat((-x[..., half:], x[..., :half]), dim=-1)

    def forward(self, x):
        batch, length = x.shape[0], x.shape[1]
        y = self.norm1(x)
        q = self.query(y).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.key(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        v = self.value(y).view(batch, length, self.groups, self.size).transpose(1, 2)
        angles = torch.arange(length).to(x.dtype)[:, None] * self.frequencies[None, :]
        angles = torch.cat((angles, angles), dim=-1)[None, None]
        cos, sin = angles.cos(), angles.sin()
        q, k = q * cos + self.turned(q) * sin, k * cos + self.turned(k) * sin
        repeat = self.heads // self.groups
        k = k[:, :, None].expand(batch, self.groups, repeat, length, self.size)
        v = v[:, :, None].expand(batch, self.groups, repeat, length, self.size)
        k = k.reshape(batch, self.heads, length, self.size)
        v = v.reshape(batch, self.heads, length, self.size)
        mask = torch.triu(torch.full((length, length), torch.finfo(x.dtype).min, dtype=x.dtype), diagonal=1)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.size) + mask
        context = torch.matmul(functional.softmax(scores, dim=-1), v).transpose(1, 2)
        x = x + self.project(context.reshape(batch, length, self.heads * self.size))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))
