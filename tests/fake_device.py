"""A second device where there is none: tensors whose numbers are on the CPU and which act as if they
were not.

Within `elsewhere()`, `DEVICE` is such a device. It mixes with the CPU as CUDA does, which is:
hardly. NumPy cannot see its tensors, `.cpu()` and `.to("cpu")` give plain ones, and its random
numbers want a generator of its own. Since the CPU computes, both devices give the same numbers, but
for the rounding of operations that torch puts together otherwise for tensors of other kinds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar
from unittest.mock import patch
from weakref import WeakSet

import torch
from torch import Tensor
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from vnlib import seeding

aten = torch.ops.aten
DEVICE = torch.device("meta")  # autograd asks nothing of it
CPU = torch.device("cpu")
# The CPU waits for the device where it asks for numbers or for the size of a result.
WAITS = {
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten.equal.default,
}
COPIES = {aten.copy_.default, aten._to_copy.default}  # take tensors of both
INDEXING = {  # as do these, whose indices may be anywhere
    aten.index.Tensor,
    aten.index_put.default,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}


class Elsewhere(Tensor):
    """A tensor of the device, around its numbers."""

    numbers: Tensor
    is_meta = False  # it has numbers

    @staticmethod
    def __new__(cls, numbers: Tensor) -> Elsewhere:
        made = Tensor._make_wrapper_subclass(
            cls,
            numbers.size(),
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            device=DEVICE,
        )
        made.numbers = numbers
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("a tensor of the fake device was used outside of `elsewhere`")

    def __getitem__(self, index: Any) -> Tensor:
        return super().__getitem__(_indices(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_indices(index), value)

    def _put_data(self, data: Tensor) -> None:
        torch.Tensor.data.__set__(self, data)
        self.numbers = data.numbers

    data = property(torch.Tensor.data.__get__, _put_data)

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def __repr__(self) -> str:
        return f"Elsewhere({self.numbers!r})"


class Generator(torch.Generator):
    """A generator of the device, which draws what one of the CPU draws."""

    known: ClassVar[WeakSet[Generator]] = WeakSet()

    def __init__(self) -> None:
        self.known.add(self)

    @property
    def device(self) -> torch.device:
        return DEVICE


class Device(TorchDispatchMode):
    """Does what is asked with the numbers of tensors, and refuses what a device would refuse.

    `waits` counts what made the CPU wait for the device, which within `ahead()` is refused; `used`
    says whether anything was asked of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()
        self.used = False
        self.may_wait = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled, and to keep it from that takes time at every operation

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Within, the CPU gives orders and asks for no number, no size and no copy."""
        self.may_wait = False
        try:
            yield
        finally:
            self.may_wait = True

    def _wait(self, why: str) -> None:
        if not self.may_wait:
            raise RuntimeError(f"{why} waits for the device")
        self.waits[why] += 1

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        there, here = [], []
        self._sort((*args, *kwargs.values()), there, here)
        asked = kwargs.get("device")
        on_device = bool(there) if asked is None else torch.device(asked).type == DEVICE.type
        self._check(func, args, kwargs, there, here, on_device)
        if not there and not on_device:
            return func(*args, **kwargs)
        self.used = True
        if asked is not None:
            kwargs["device"] = CPU
        plain = [_plain(one) for one in args]
        found = func(*plain, **{name: _plain(one) for name, one in kwargs.items()})
        if not on_device:
            return found
        reshapes, mutable = _kind(func)
        if reshapes:  # the shape of the tensor itself changes
            with no_dispatch():
                func(*args, **kwargs)
        if mutable:  # the tensors given come back, not new ones around them
            own = {id(one.numbers): one for one in there} | {id(one): one for one in here}
            return _mapped(found, lambda one: own[id(one)] if id(one) in own else Elsewhere(one))
        return _mapped(found, Elsewhere)

    def _sort(self, given: Any, there: list[Elsewhere], here: list[Tensor]) -> None:
        for one in given:
            if isinstance(one, Elsewhere):
                there.append(one)
            elif isinstance(one, Tensor):
                here.append(one)
            elif isinstance(one, (list, tuple)):
                self._sort(one, there, here)

    def _check(self, func, args, kwargs, there, here, on_device: bool) -> None:
        generator = kwargs.get("generator")
        if generator is not None:
            own = any(generator._cdata == one._cdata for one in Generator.known)
            if own != on_device:
                raise RuntimeError(f"{func} met a generator of another device")
        if not there:
            return
        if func in INDEXING:
            anywhere = {id(one) for one in args[1]} if isinstance(args[0], Elsewhere) else ()
            here = [one for one in here if id(one) not in anywhere]
            indices = [one for one in args[1] if isinstance(one, Elsewhere)]
            if any(one.dtype == torch.bool for one in indices):
                self._wait("mask")
        if func not in COPIES and any(one.ndim for one in here):
            shapes = [tuple(one.shape) for one in here]
            raise RuntimeError(f"{func} met tensors of the device and of the CPU, {shapes}")
        if func in WAITS:
            self._wait(func.name().removeprefix("aten::"))
        if func in COPIES and not on_device:
            self._wait("copy")


@cache
def _kind(func: Any) -> tuple[bool, bool]:
    return torch.Tag.inplace_view in func.tags, func._schema.is_mutable


def _plain(one: Any) -> Any:
    if isinstance(one, Elsewhere):
        return one.numbers
    return [_plain(part) for part in one] if isinstance(one, (list, tuple)) else one


def _mapped(one: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(one, Tensor):
        return change(one)
    return [_mapped(part, change) for part in one] if isinstance(one, (list, tuple)) else one


def _indices(index: Any) -> Any:
    """Lists as tensors: torch would make them on the device, which for "meta" takes no numbers."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(torch.tensor(part) if isinstance(part, list) else part for part in parts)


def _here_first(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`torch.tensor` and `as_tensor` read no numbers where they make a tensor on "meta"."""

    def made(data: Any, *args: Any, device: Any = None, **kwargs: Any) -> Tensor:
        if not isinstance(data, Tensor):
            data = _mapped(data, lambda number: number.item())
        if device is None or isinstance(data, Elsewhere):
            return make(data, *args, device=device, **kwargs)
        return make(data, *args, **kwargs).to(device)

    return made


def _unseen(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """For what torch computes in another way where operations are watched."""

    def alike(*args: Any, **kwargs: Any) -> Tensor:
        with _disable_current_modes():
            found = function(*map(_plain, args), **kwargs)
        return Elsewhere(found) if any(isinstance(one, Elsewhere) for one in args) else found

    return alike


def _generator(seed: int, *stream: object, device: Any = "cpu") -> torch.Generator:
    kind = Generator if torch.device(device).type == DEVICE.type else torch.Generator
    return kind().manual_seed(seeding.derive(seed, *stream))


@contextmanager
def elsewhere() -> Iterator[Device]:
    """Within, `DEVICE` is a device that computes."""
    future = torch.__future__
    was = future.get_overwrite_module_params_on_conversion()
    future.set_overwrite_module_params_on_conversion(True)  # a tensor's `data` are its own
    with (
        patch.object(torch, "tensor", _here_first(torch.tensor)),
        patch.object(torch, "as_tensor", _here_first(torch.as_tensor)),
        patch.object(torch.linalg, "eigvalsh", _unseen(torch.linalg.eigvalsh)),
        patch.object(seeding, "generator", _generator),
        Device() as device,
    ):
        try:
            yield device
        finally:
            future.set_overwrite_module_params_on_conversion(was)
