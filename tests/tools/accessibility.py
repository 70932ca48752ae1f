"""Reads every page of the built book like an assistive technology would: axe-core in a headless
browser.

python tests/tools/accessibility.py [--site book/_build/html] [PAGE ...]

Checks the rules of WCAG 2 A and AA, alternative texts and contrast among them, and contrast once
more in the dark; that nothing is cut off on a phone, and no label of a figure too small. Ends with 1 where a page has a finding that is
serious or critical, or asks for anything from a network.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import chromium
import click
from axe_playwright_python.sync_playwright import Axe
from cut_off import cut_off
from labels import small
from playwright.sync_api import Browser, Error, sync_playwright
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[2]
GRAVE = {"serious", "critical"}
RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},
}
PAGE = {"exclude": [["mjx-container"]]}  # thousands of strokes of formulas; MathJax describes them


def findings(browser: Browser, page: Path, scheme: str) -> list[str]:
    """What is gravely wrong with a page in a colour scheme of `RULES`, a line each."""
    view = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 1400})
    asked: list[str] = []
    view.on("request", lambda request: asked.append(request.url))
    try:
        view.goto(page.as_uri(), wait_until="load", timeout=120_000)
        view.wait_for_timeout(300)  # scripts of the theme settle
        options = {"runOnly": RULES[scheme], "resultTypes": ["violations"]}
        violations = Axe().run(view, context=PAGE, options=options).response["violations"]
        lost, tiny = (cut_off(view), small(view)) if scheme == "light" else ([], [])
    finally:
        view.close()
    found = [
        f"{one['impact']}: {one['help']} ({one['id']}), {len(one['nodes'])} x, first "
        f"{one['nodes'][0]['html'][:160]}"
        for one in violations
        if one["impact"] in GRAVE
    ]
    local = ("file:", "data:", "blob:")
    found += [f"cut off on a phone: {one}" for one in lost]
    found += [f"a small label: {one}" for one in tiny]
    return found + [f"asks a network for {url}" for url in asked if not url.startswith(local)]


@click.command()
@click.option("--site", type=click.Path(path_type=Path), default=ROOT / "book" / "_build" / "html")
@click.argument("names", nargs=-1)
def main(site: Path, names: tuple[str, ...]) -> None:
    """Check the pages NAMES (paths inside the site), or all of them."""
    pages = [site / name for name in names] or sorted(
        p for p in site.rglob("*.html") if "_static" not in p.parts
    )
    if not pages or not all(page.is_file() for page in pages):
        raise click.ClickException(
            f"there are no such pages in {site}; build the book first, by `make book`"
        )
    wrong: Counter[str] = Counter()
    with sync_playwright() as playwright:
        try:
            # Without a Chromium of the system it is Playwright's own.
            browser = playwright.chromium.launch(
                executable_path=chromium.path(), args=["--no-sandbox"]
            )
        except Error as error:
            raise click.ClickException(
                f"no Chromium could be started; install one ({error.message})"
            ) from error
        for page in tqdm(pages, unit="page"):
            for scheme in RULES:
                for line in findings(browser, page.resolve(), scheme):
                    tqdm.write(f"{page.relative_to(site)} ({scheme}): {line}")
                    wrong[str(page.relative_to(site))] += 1
        browser.close()
    click.echo(
        f"{len(pages)} pages in light and dark, {sum(wrong.values())} findings on "
        f"{len(wrong)} of them"
    )
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
