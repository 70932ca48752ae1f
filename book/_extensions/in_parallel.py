"""Pages are read, and written, by as many processes as there are cores."""

from __future__ import annotations

import os

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.ext import viewcode
from sphinx.util.parallel import ParallelTasks, parallel_available
from sphinx_proof.domain import ProofDomain


def setup(app: Sphinx) -> dict[str, bool]:
    """Ask for the processes, which jupyter-book's command line cannot, and say of two extensions what
    they leave out: one numbers sections when all pages are read, in the one process that is left;
    the other merges its proofs, but not the data of its domain, which has none.
    """
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
    ProofDomain.merge_domaindata = lambda *nothing: None
    app.parallel = os.cpu_count() or 1
    app.connect("env-updated", _only_what_is_shown)
    whole = StandaloneHTMLBuilder.gen_pages_from_extensions

    def shared(builder: StandaloneHTMLBuilder) -> None:
        if parallel_available:
            _write_sources(builder)
        whole(builder)

    StandaloneHTMLBuilder.gen_pages_from_extensions = shared
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _only_what_is_shown(app: Sphinx, env: BuildEnvironment) -> None:
    """Leave out the source of modules of which no page shows anything, such as pathlib's: one
    process forgets them as it goes, several do not.
    """
    known = getattr(env, "_viewcode_modules", {})
    for name in [name for name, entry in known.items() if entry and not entry[2]]:
        del known[name]


def _write_sources(builder: StandaloneHTMLBuilder) -> None:
    """Write the pages of highlighted source, which Sphinx does in one process; it is left with their
    index. All are new, as the book is always built from nothing.
    """
    names = sorted(getattr(builder.env, "_viewcode_modules", ()))
    tasks = ParallelTasks(builder.app.parallel)

    def write(own: set[str]) -> None:
        viewcode.should_generate_module_page = lambda app, name: name in own
        for page, context, template in viewcode.collect_pages(builder.app):
            if context["title"] in own:
                builder.handle_page(page, context, template)

    for first in range(builder.app.parallel):
        tasks.add_task(write, set(names[first :: builder.app.parallel]))
    tasks.join()
    viewcode.should_generate_module_page = lambda app, name: False
