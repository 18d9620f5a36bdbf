"""`manyhands run --processes N`: what the options mean for the launcher."""

from __future__ import annotations

import argparse
import re
import sys

from manyhands import config
from manyhands.cluster import auto
from manyhands.cluster.launching import LaunchPlan, Supervisor
from manyhands.devices import nvml
from manyhands.errors import ClusterError, explain

_UNITS = {"": 2**20, "mb": 2**20, "mib": 2**20, "gb": 2**30, "gib": 2**30}


def wants_a_launcher(options: argparse.Namespace) -> bool:
    """Whether any option asks for more than running the program in this process."""
    given = (
        *(options.processes, options.memory_limit, options.log_dir, options.coordinator),
        *(options.min_processes, options.heartbeat, options.timeout),
        *(options.per_gpu or None, options.max_restarts or None, options.node_rank or None),
        None if options.nodes == 1 else options.nodes,
    )
    return any(value is not None for value in given)


def launch(options: argparse.Namespace) -> int:
    """Start the processes and stay with them."""
    gpus = _gpus() if options.per_gpu else ()
    if options.per_gpu and not gpus:
        raise ClusterError(
            explain(
                "There is no GPU to start a process for.",
                got="--per-gpu",
                fix="use --processes N for CPUs; `manyhands devices` shows what is here.",
            )
        )
    count = options.processes if options.processes is not None else max(1, len(gpus))
    if options.max_restarts < 0:
        raise ClusterError(
            explain(
                "--max-restarts is a number from 0 on.",
                got=f"--max-restarts {options.max_restarts}",
                fix="--max-restarts 3; a large number for as good as always.",
            )
        )
    scheduled = _scheduled(options)
    if scheduled is None:
        _refuse_too_many(options, count)
    plan = LaunchPlan(
        num_here=count,
        num_nodes=options.nodes,
        node_rank=options.node_rank,
        coordinator=options.coordinator or "",
        gpus=gpus[:count] if options.per_gpu else (),
        memory_fraction=_memory(options, count),
        devices=options.devices,
        min_processes=options.min_processes,
        scheduled=scheduled,
        heartbeat_s=options.heartbeat,
        timeout_s=options.timeout,
    )
    supervisor = Supervisor(
        plan, _command(options), max_restarts=options.max_restarts, log_dir=options.log_dir
    )
    return supervisor.run()


def _scheduled(options: argparse.Namespace) -> int | None:
    """Give this process' number where the environment, and no option, says who the others are."""
    ours = (options.processes, options.coordinator, options.per_gpu or None)
    if any(value is not None for value in ours) or options.nodes != 1 or options.node_rank:
        return None
    return auto().membership().index


def _refuse_too_many(options: argparse.Namespace, count: int) -> None:
    least, everywhere = options.min_processes, count * options.nodes
    if least is not None and not 1 <= least <= everywhere:
        raise ClusterError(
            explain(
                "--min-processes lies between 1 and the number of processes.",
                got=f"--min-processes {least} with {everywhere} processes",
                fix="choose fewer, or leave it out to always start as many.",
            )
        )


def _command(options: argparse.Namespace) -> list[str]:
    shim = ["--no-shim"] if options.no_shim else []
    start = [sys.executable, "-m", "manyhands.cli.main", "run", *shim]
    named = ["-m"] if options.is_module else []
    return [*start, *named, options.script, *options.arguments]


def _gpus() -> tuple[str, ...]:
    visible = config.visible_gpus()
    if visible is not None:
        return visible
    return tuple(str(number) for number in range(len(nvml.read().gpus)))


def _memory(options: argparse.Namespace, count: int) -> float | None:
    """Give the part of its card that each process may take."""
    if options.memory_limit is None:
        return None
    cards = nvml.read(config.visible_gpus()).gpus
    smallest = min((card.memory_total_bytes or 0 for card in cards), default=0)
    part = _part(options.memory_limit, smallest)
    sharing = 1 if options.per_gpu else -(-count // max(1, len(cards)))
    if part * sharing > 1:
        raise ClusterError(
            explain(
                "The processes that share a GPU may take more memory than it has.",
                got=f"--memory-limit {options.memory_limit}: {sharing} processes with "
                f"{part:.0%} of the card each",
                fix=f"--memory-limit {1 / sharing:.2f} or less, or fewer processes.",
            )
        )
    return part


def _part(text: str, card_bytes: int) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)", text.strip())
    if found is None or found[2].lower() not in _UNITS or float(found[1]) == 0:
        raise ClusterError(
            explain(
                "A memory limit is a part of the card, or a number of bytes.",
                got=f"--memory-limit {text}",
                fix="--memory-limit 0.4, or 20GB, 512MB.",
            )
        )
    limit = float(found[1])
    if not found[2] and limit <= 1:
        return limit
    if not card_bytes:
        raise ClusterError(
            explain(
                "A memory limit in bytes needs a card to compare it with.",
                got=f"--memory-limit {text}, and no NVIDIA GPU here",
                fix="give it as a part: --memory-limit 0.4",
            )
        )
    return limit * _UNITS[found[2].lower()] / card_bytes
