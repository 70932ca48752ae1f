"""Known vulnerabilities of the versions that constraints.txt pins."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from fuzz_parameters import Case

from vnlib.book import paths


def audit(requirements: Path = paths.ROOT / "constraints.txt") -> Iterator[Case]:
    """What pip-audit says of the pinned versions, if it is installed and has a service to ask."""
    if not (tool := shutil.which("pip-audit")):
        yield Case(requirements.name, "SKIPPED: pip-audit is not installed")
        return
    options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run([tool, *options, "-r", str(requirements)], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        yield Case(
            requirements.name,
            f"SKIPPED: {(done.stderr.strip().splitlines() or ['no answer'])[-1][:200]}",
        )
        return
    asked = [one for one in packages if "skip_reason" not in one]
    if not asked:
        yield Case(requirements.name, "SKIPPED: the package index has no data on vulnerabilities")
        return
    yield Case(f"{len(asked)} of {len(packages)} packages", "audited")
    for one in asked:
        if found := [each["id"] for each in one["vulns"]]:
            yield Case(f"{one['name']} {one['version']}", "vulnerable", ", ".join(found))
