"""The three models in PyTorch, as its users write them: torch.compile, autocast to bfloat16."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from bench.sizes import VOCABULARY


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        rows, length, width = x.shape
        shape = (rows, length, self.heads, width // self.heads)
        q, k, v = (p.view(shape).transpose(1, 2) for p in self.qkv(self.norm_1(x)).split(width, 2))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, length: int = 1024, width: int = 768, heads: int = 12, blocks: int = 12):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.tokens(tokens) + self.positions(places))))


def build(name: str) -> tuple[nn.Module, torch.optim.Optimizer, bool]:
    """Model, optimizer, and whether to use bfloat16."""
    kind = name.split("-")[0]
    if kind == "mlp":
        model = nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
        return model, torch.optim.Adam(model.parameters(), fused=True), False
    if kind == "resnet50":
        import torchvision

        model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
        return model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, fused=True), True
    model = GPT2().cuda()
    return model, torch.optim.AdamW(model.parameters(), 3e-4, weight_decay=0.1, fused=True), True
