"""What is there: devices, their memory, and how they are linked."""

from manyhands.devices.choose import DeviceLike, resolve
from manyhands.devices.inventory import Device, DeviceTable, Link, table
from manyhands.devices.names import DeviceName, parse

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
