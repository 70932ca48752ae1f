// What ranks the results of a search. Sphinx puts this file before its own script, which then leaves its Scorer out, so
// its numbers stand here, too. A reader's words are those of many functions: pages to read come before what describes code,
// and first of them those that are titled so.
"use strict";

const asked = new URLSearchParams(location.search).get("q")?.trim().toLowerCase();

var Scorer = {
  score: ([page, title, , , score]) =>
    page.startsWith("book/api/") ? score - 1000 : score + (asked && title.toLowerCase().includes(asked) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
