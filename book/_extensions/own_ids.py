"""An id on a page is of one part of it: sphinx-proof calls each statement's text "proof-content", and each proof "proof"."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class OwnIds(SphinxTransform):
    """Number the ids that nothing refers to, where another part of the document has the same."""

    default_priority = 880

    def apply(self, **_: object) -> None:
        taken = set(self.document.ids)  # of what can be referred to, which keeps its own
        for part in self.document.findall(nodes.Element):
            if isinstance(part, nodes.section | nodes.admonition):
                for place, one in enumerate(part["ids"]):
                    if self.document.ids.get(one) is not part:
                        part["ids"][place] = own = _free(one, taken)
                        taken.add(own)


def _free(name: str, taken: set[str]) -> str:
    """The name, with the first number that makes it another one than those that are taken."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx the transform."""
    app.add_transform(OwnIds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
