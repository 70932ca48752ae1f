"""Fast inference: how to settle (`config`), what descends (`energy`), single steps (`steps`), the
loop (`settler`).
"""

from vnlib.settle.config import CRITERIA, SCHEDULES, SettleConfig, Settled, Stop, Trace
from vnlib.settle.energy import duality_gap, joint_energy
from vnlib.settle.settler import Settler
from vnlib.settle.steps import METHODS

__all__ = [
    "CRITERIA",
    "METHODS",
    "SCHEDULES",
    "SettleConfig",
    "Settled",
    "Settler",
    "Stop",
    "Trace",
    "duality_gap",
    "joint_energy",
]
