"""A Vector Network as one file: safetensors, with the configuration as JSON in its metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

FORMAT, VERSION = "vector-network", 1


def save(network: VectorNetwork, path: str | Path) -> None:
    """Write all dictionaries and tracked scales, to the bit, and the configuration.

    Missing folders are made; the file appears whole or not at all.

    Raises
    ------
    OSError
        Where it cannot be written.
    """
    path = Path(path)
    # NumPy's numbers
    config = json.dumps(asdict(network.config), default=lambda number: number.item())
    meta = {"format": FORMAT, "version": str(VERSION), "config": config}
    tensors = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(to_bytes(tensors, meta))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path: str | Path, *, device: torch.device | str = "cpu") -> VectorNetwork:
    """The network that `save` wrote, in the precision it had, on `device`.

    Settings that a file does not name, being older than they are, have their defaults.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    ValueError
        For a file that is damaged, of another kind, of a newer version, or does not fit its own
        configuration.
    """
    path = Path(path)
    try:
        with safe_open(path, framework="pt") as file:
            meta, names = file.metadata() or {}, file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no file {path}") from error
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} cannot be read as safetensors ({error}); it is damaged or of another kind"
        ) from error
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{path} is not a saved Vector Network: its format is {meta.get('format')!r}, "
            f"not {FORMAT!r}"
        )
    if meta.get("version") != str(VERSION):
        raise ValueError(
            f"{path} has version {meta.get('version')} of the format, this library reads {VERSION}"
        )
    try:
        config = _config(json.loads(meta["config"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no valid configuration: {error}") from error
    # A frozen rule would first look for good dictionaries, which takes a while.
    network = VectorNetwork(replace(config, interface_rule="subspace"), seed=0)
    network.config = config
    _fill(network, tensors, path)
    return network.to(device)


def _config(given: Mapping) -> VNConfig:
    """The configuration that JSON describes; ValueError for names or values that are unknown."""
    settle = given.get("settle", {})
    for family, found in ((VNConfig, given), (SettleConfig, settle)):
        if unknown := sorted(set(found) - {field.name for field in fields(family)}):
            raise ValueError(
                f"{family.__name__} has no {', '.join(unknown)}; a newer version of the "
                "library wrote it"
            )
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    values["settle"] = SettleConfig(**settle)
    return VNConfig(**values)


def _fill(network: VectorNetwork, tensors: Mapping[str, Tensor], path: Path) -> None:
    wanted = {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(wanted.keys() | found.keys()):
        here, there = found.get(name, "missing"), wanted.get(name, "nothing of this name")
        if here != there:
            raise ValueError(
                f"{path} does not fit its configuration: {name} is {here}, where it asks "
                f"for {there}"
            )
    dtypes = {tensor.dtype for tensor in tensors.values()}
    if len(dtypes) > 1 or not all(dtype.is_floating_point for dtype in dtypes):
        raise ValueError(
            f"{path} must hold tensors of one floating-point type, got {sorted(map(str, dtypes))}"
        )
    network.to(dtypes.pop()).load_state_dict(tensors)
