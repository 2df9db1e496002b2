"""The application, put together from its groups of commands. A new group is one file and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer
from typer.main import get_command

# The root of what Typer raises for a wrong command line; it has no public name that is the same in all versions.
UsageProblem: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

app = typer.Typer(
    help="Private statistics of a table of people: declare, plan, release, explain.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
GROUPS = (
    "demo",
    "schema",
    "plan",
    "release",
    "ask",
    "fit",
    "model_commands",
    "local",
    "infer",
    "synthesize",
    "ledger",
    "protect",
    "audit",
    "serve",
    "access",
    "evidence",
)
for group in GROUPS:
    import_module(f"discreet.cli.{group}").register(app)


def _version(wanted: bool) -> None:
    if wanted:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Private statistics of a table of people.

    Start with `discreet demo`. For a table of your own: `discreet schema new`, then `plan`, then `release`.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


# Made once: reading the types of all options takes longer than most commands do.
command = get_command(app)
