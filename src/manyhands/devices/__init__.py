"""What is there: devices, their memory, and how they are linked."""

from manyhands.devices.names import DeviceName, parse
from manyhands.devices.resolve import DeviceLike, resolve
from manyhands.devices.table import Device, DeviceTable, Link, table

__all__ = [
    "Device",
    "DeviceLike",
    "DeviceName",
    "DeviceTable",
    "Link",
    "parse",
    "resolve",
    "table",
]
