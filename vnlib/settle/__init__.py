"""Fast inference: `settler` has the loop, `steps` single steps, `stopping` when they end."""

from vnlib.settle.config import SCHEDULES, SettleConfig, Settled, Trace, to_csr
from vnlib.settle.energy import duality_gap, joint_energy
from vnlib.settle.settler import Settler
from vnlib.settle.steps import METHODS
from vnlib.settle.stopping import CRITERIA, SettleWarning, Stop

__all__ = [
    "CRITERIA",
    "METHODS",
    "SCHEDULES",
    "SettleConfig",
    "SettleWarning",
    "Settled",
    "Settler",
    "Stop",
    "Trace",
    "duality_gap",
    "joint_energy",
    "to_csr",
]
