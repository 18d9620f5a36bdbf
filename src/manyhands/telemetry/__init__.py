"""What training does and costs: progress while it runs, a report when it is done."""

from manyhands.telemetry.progress import Progress
from manyhands.telemetry.report import Report, report

__all__ = ["Progress", "Report", "report"]
