"""The book on many cores or a cluster: its chapters computed in slices, then drawn, then built (see book/cluster.md).

    snakemake --cores 2 --config profile=fast chapters=fig2_spatial,E_theory
    snakemake --profile workflow/profiles/slurm book

A slice is one model and one seed of a chapter. It adds its runs to the chapter's result file, in which the store merges
whatever was computed anywhere. The files that Snakemake sees are only marks of what has been gone through.
"""

import json
import shlex
import sys
from functools import cache
from pathlib import Path

from vnlib import checks
from vnlib.book import chapter, parameters, paths

DEFAULTS = {
    "profile": "paper",  # smoke, fast or paper
    "results_dir": "results/cluster",  # holds <profile>/<chapter>.nc; all nodes must see it
    "chapters": paths.chapters(),  # a list, or "a,b"; those that they need are added
    "device": "auto",  # auto, cpu, cuda or cuda:N
    "seeds_per_slice": 1,  # more make fewer and longer jobs
}


def settings(given):
    """The configuration, checked. Raises ValueError for names and values that are not allowed."""
    for name in given:
        if name not in DEFAULTS:
            hint = parameters.guess(name, DEFAULTS)
            raise ValueError(f"there is no config value {name!r}.{hint} There are: {', '.join(DEFAULTS)}")
    known = DEFAULTS | given
    checks.number("seeds_per_slice", known["seeds_per_slice"], low=1, integer=True)
    wanted = known["chapters"]
    wanted = wanted if isinstance(wanted, list) else [part.strip() for part in str(wanted).split(",")]
    for name in wanted or [""]:
        checks.choice("each of chapters", name, paths.chapters())
    chapter.spec(wanted[0]).check({name: known[name] for name in ("profile", "results_dir", "device")})
    return known | {"chapters": wanted, "results_dir": str(Path(known["results_dir"]).expanduser().absolute())}


# A job on a node reads this file again and needs its own chapter only: hence nothing is read before it is asked for.
@cache
def spec(name):
    return chapter.spec(name)


@cache
def slices(name):
    """The slices of a chapter by name, such as "vn_1-seed0", each with its parameters; those of a model together."""
    one = chapter.Chapter(spec(name), spec(name).check(COMMON))
    step = CONFIG["seeds_per_slice"]
    seeds = one.seeds if spec(name).stores else []  # a chapter that only reads has no slices
    batches = [seeds[start : start + step] for start in range(0, len(seeds), step)]
    compares = "models" in spec(name).parameters
    groups = {f"{model}-": {"models": [model]} for model in one.models} if compares else {"": {}}
    # The first seed is there already, but a chapter has to see it: some store their pictures with that one only.
    # Snakemake hands wildcards on in a form that has no room for "=" and ",".
    return {
        f"{start}seed{'+'.join(map(str, batch))}": of | {"seeds": list(dict.fromkeys([seeds[0], *batch]))}
        for start, of in groups.items()
        for batch in batches
    }


def mark(name, slice):
    return f"{EXECUTED}/slices/{name}/{slice}.done"


def page(name):
    return f"{EXECUTED}/{name}.ipynb"


def source(wildcards):
    """What is run again when it changes, though runs whose settings are the same stay."""
    return [paths.notebook(wildcards.chapter), paths.sidecar(wildcards.chapter)]


def marks(wildcards):
    return [mark(wildcards.chapter, slice) for slice in slices(wildcards.chapter)]


def needed(wildcards):
    return [page(name) for name in spec(wildcards.chapter).needs]


def first(wildcards):
    """The first slice of the same model: it makes what all its seeds share, such as the choice of settings."""
    all_ = slices(wildcards.chapter)
    leader = next(name for name, of in all_.items() if of.get("models") == all_[wildcards.slice].get("models"))
    return [] if leader == wildcards.slice else [mark(wildcards.chapter, leader)]


def all_pages(wildcards):
    if missing := set(paths.chapters()) - set(CONFIG["chapters"]):
        raise ValueError(f"the book needs all chapters, and {', '.join(sorted(missing))} is left out")
    return [page(name) for name in paths.chapters()]


def command(name, given, *flags):
    """The shell command that runs a chapter with these parameters, by the Python that runs Snakemake."""
    pairs = [part for key, value in {**COMMON, **given}.items() for part in ("-p", key, json.dumps(value))]
    return shlex.join([sys.executable, "-m", "book.site.cli", "run", name, *pairs, *flags])


CONFIG = settings(config)
COMMON = {name: CONFIG[name] for name in ("profile", "results_dir", "device")}
EXECUTED = f"{CONFIG['results_dir']}/executed/{CONFIG['profile']}"


wildcard_constraints:
    chapter="|".join(paths.chapters()),
    slice="[^/]+",


localrules:
    pages,


rule pages:
    input:
        [page(name) for name in CONFIG["chapters"]],


rule slice:
    input:
        source,
        first,
        needed,
    output:
        touch(f"{EXECUTED}/slices/{{chapter}}/{{slice}}.done"),
    log:
        f"{EXECUTED}/slices/{{chapter}}/{{slice}}.log",
    params:
        command=lambda w: command(w.chapter, slices(w.chapter)[w.slice], "--no-page"),
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 7000 * attempt,
        runtime=lambda w, attempt: 60 * CONFIG["seeds_per_slice"] * attempt,  # minutes
    shell:
        "{params.command} > {log:q} 2>&1"


# Draws the chapter from the merged results; what no slice has made is computed here.
rule page:
    input:
        source,
        marks,
        needed,
    output:
        f"{EXECUTED}/{{chapter}}.ipynb",
    log:
        f"{EXECUTED}/slices/{{chapter}}/page.log",
    params:
        command=lambda w, output: command(w.chapter, {}, "--jobs", "1", "--output", output[0]),
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 7000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    shell:
        "{params.command} > {log:q} 2>&1"


rule book:
    input:
        all_pages,
    output:
        touch(f"{EXECUTED}/book.done"),  # the HTML itself may be of other results
    log:
        f"{EXECUTED}/slices/book.log",
    params:
        command=shlex.join(
            [sys.executable, "-m", "book.site.cli", "build", "--profile", CONFIG["profile"],
             "--results-dir", CONFIG["results_dir"], "--jobs", "1"]
        ),
    threads: 1
    resources:
        mem_mb=lambda w, attempt: 7000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    shell:
        "{params.command} > {log:q} 2>&1"
