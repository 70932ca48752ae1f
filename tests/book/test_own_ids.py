"""No id is twice in a page, which would lead to the first of its parts only."""

from __future__ import annotations

from collections import Counter

import pytest
from bs4 import BeautifulSoup
from page_cases import made

PAGE = """# Proof

```{prf:theorem} One
:label: one
It holds.
```

```{prf:proof}
It does.
```

```{prf:theorem} Two
:label: two
It holds, as {prf:ref}`one` does.
```

```{prf:proof}
It does, too.
```
"""


@pytest.mark.parametrize("own", [True, False])
def test_statements_and_their_proofs_have_ids_of_their_own(own, tmp_path):
    extensions = ["myst_parser", "sphinx_proof", *(["own_ids"] if own else [])]
    html = (made(tmp_path, {"index": PAGE}, extensions=extensions) / "index.html").read_text()
    page = BeautifulSoup(html, "html.parser")
    ids = Counter(one["id"] for one in page.select("[id]"))
    again = {one for one, count in ids.items() if count > 1}
    assert again == (set() if own else {"proof", "proof-content"})
    assert page.select_one("section#proof > h1") and page.select_one("a[href='#one']")
    assert page.select_one("#one section[id^=proof-content]")
