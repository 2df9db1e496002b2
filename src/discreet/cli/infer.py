"""``discreet infer``: what can be concluded from numbers that were released, with the law of their noise in the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import discreet as ds
from discreet import jobs
from discreet.cli import show
from discreet.jobs.observed import PopulationModel


def register(app: typer.Typer) -> None:
    """Add the command ``infer``."""
    app.command("infer")(infer)


def infer(
    file: Annotated[Path, typer.Argument(help="A releases.json, a result or a release.", metavar="RELEASES")],
    model: Annotated[PopulationModel, typer.Option("--model", "-m", help="What people are taken to be like.")],
    ask: Annotated[
        list[str] | None, typer.Option("--ask", "-a", help="The number or title of an answer to use; may be repeated.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help="The column of a mean, share or rate; a feature of a regression."),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column a regression explains.")] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="The number of people, where it is public.")] = None,
    success: Annotated[str | None, typer.Option("--success", help="The label that counts as a yes, for a share.")] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Prior weight of every cell of a table or side of a share.")] = 1.0,
    prior_mean: Annotated[
        float | None, typer.Option("--prior-mean", help="Where a mean was expected; the middle of the declared bounds.")
    ] = None,
    prior_sd: Annotated[
        float | None, typer.Option("--prior-sd", help="How far off that may be; by default as wide as the bounds.")
    ] = None,
    variance: Annotated[
        float | None, typer.Option("--variance", help="The variance of people's values, where it is known.")
    ] = None,
    design_effect: Annotated[
        float | None,
        typer.Option("--design-effect", help="Rows of a person that say no more than one; 1 where they are independent."),
    ] = None,
    sampler: Annotated[
        str | None, typer.Option("--sampler", help="Another sampler than the one made for the model.")
    ] = None,
    draws: Annotated[int, typer.Option("--draws", help="Draws of each chain.")] = 1000,
    warmup: Annotated[int, typer.Option("--warmup", help="Steps of each chain before them.")] = 1000,
    chains: Annotated[int, typer.Option("--chains", help="Chains.")] = 4,
    seed: Annotated[int | None, typer.Option("--seed", help="Makes the same draws again.")] = None,
    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The folder to write into; MODEL-posterior beside RELEASES.")
    ] = None,
    json: show.Json = False,
) -> None:
    """Draw from the posterior given RELEASES; write the draws, summary.csv, summary.json and posterior.html.

    Nothing is paid: only what was released is looked at. Clamp, grid and the law of the noise come from the releases.
    """
    read = ds.read_releases(file)
    title, seen = read.title, read.answers
    picked = jobs.observed.chosen(seen, ask or [])
    columns = [*(column or []), *([target] if target else [])]
    priors = {"alpha": alpha, "mean": prior_mean, "deviation": prior_sd, "variance": variance, "success": success}
    releases, described = jobs.infer.prepared(model, picked, seen, columns, target, priors)
    folder = out or file.with_name(f"{model.value}-posterior")
    doc = jobs.infer.drawn(releases, described, title, folder, level, {
        "draws": draws, "warmup": warmup, "chains": chains, "seed": seed, "sampler": sampler, "n": rows,
        "design_effect": design_effect,
    })  # fmt: skip
    if json:
        show.document(doc)
        return
    show.table(title, ["quantity", *doc["heads"][1:]], doc["cells"])
    for note in doc["summary"]["notes"]:
        show.say(f"Note: {note}.")
    word = " (approximate)" if doc["approximate"] else ""
    size = f"{doc['chains']} chains of {doc['draws']:,} draws by the sampler {doc['sampler']!r}{word}"
    show.say(f"{size}: {doc['seconds']:.2g} seconds, and {doc['compile_seconds']:.2g} to compile.")
    show.say(f"Wrote {', '.join(doc['written'][:-1])} and {doc['written'][-1]}.")
