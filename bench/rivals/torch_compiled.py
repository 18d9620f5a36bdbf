"""PyTorch with torch.compile, one batch that is already on the GPU: no input, no loop."""

from __future__ import annotations

from bench.rivals.keras_step import STEPS
from bench.timing import seconds_per_step
from bench.works import Work


def measure(work: Work, num_devices: int | None) -> float:  # noqa: ARG001
    import torch
    from torch.nn import functional

    from bench.torch_models import build

    torch.set_float32_matmul_precision("high")
    model, optimizer, narrow = build(work.name)
    x, y = (torch.from_numpy(part).cuda() for part in work.one_batch())
    y = y.long()
    if x.ndim == 4:
        x = x.permute(0, 3, 1, 2).float().contiguous(memory_format=torch.channels_last)
    steps = STEPS[work.name.split("-")[0]]

    @torch.compile
    def loss_of(x, y):
        with torch.autocast("cuda", torch.bfloat16, enabled=narrow):
            logits = model(x)
            return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))

    def run() -> int:
        for _ in range(steps):
            loss_of(x, y).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return steps

    run()
    return seconds_per_step(run)
