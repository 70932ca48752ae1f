"""Mistakes, and what they are answered: one short paragraph with the name, the value, what is allowed
or what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Call = Callable[[Path, pytest.MonkeyPatch], object]
"""Makes one mistake, in an empty folder."""


def made(function: Callable, *args: object, **kwargs: object) -> Call:
    """A call of the library."""
    return lambda tmp, patch: function(*args, **kwargs)


def refused(mistakes: Mapping[str, tuple], exception: type[BaseException] = ValueError) -> Callable:
    """The test that each of these mistakes is refused.

    Parameters
    ----------
    mistakes
        Name -> what makes the mistake, and what the message must say.
    """

    @pytest.mark.parametrize("mistake", mistakes)
    def in_one_paragraph(mistake, tmp_path, monkeypatch) -> None:
        call, *words = mistakes[mistake]
        with pytest.raises(exception) as caught:
            call(tmp_path, monkeypatch)
        assert caught.type is exception, f"{caught.type.__name__} is not documented"
        message = str(caught.value)
        lacking = [word for word in words if word not in message]
        assert not lacking, f"{lacking} not in: {message}"
        assert "\n\n" not in message and "Traceback" not in message, message
        assert 20 < len(message) < 680, message  # the longest names all chapters

    return in_one_paragraph
