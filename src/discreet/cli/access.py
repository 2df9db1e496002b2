"""``discreet access``: who may ask, how much, and what waits for a decision. Run on the desk's host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import show

if TYPE_CHECKING:
    from discreet.core.price import Price
    from discreet.service.access import Custodian

File = Annotated[Path, typer.Option("--file", "-f", help="The service's file.", metavar="SERVE.TOML")]
Name = Annotated[str, typer.Argument(help="The analyst.", metavar="NAME")]
Ref = Annotated[str, typer.Argument(help="The reference of a request.", metavar="REF")]
Population = Annotated[str, typer.Argument(help="The population.", metavar="POPULATION")]
Days = Annotated[float | None, typer.Option("--days", min=0.001, help="How long it is good for.")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", help="The share of epsilon.")]
Delta = Annotated[str | None, typer.Option("--delta", help="The share of delta.")]
Rho = Annotated[str | None, typer.Option("--rho", help="The share of rho, of a budget in rho or of Rényi composition.")]
_FILE = Path("serve.toml")


def register(app: typer.Typer) -> None:
    """Add the group ``access``."""
    group = typer.Typer(
        help="Analysts of a service, their shares and requests.", no_args_is_help=True, rich_markup_mode=None
    )
    for command in (add, token, grant, revoke, pending, approve, deny, publish, reopen, registry):
        group.command(command.__name__)(command)
    group.command("list")(list_)
    group.command("write-off")(write_off)
    app.add_typer(group, name="access")


def add(
    name: Name, contact: Annotated[str, typer.Option("--contact", help="How to reach them.")] = "", file: File = _FILE
) -> None:
    """Add an analyst. They can ask nothing before they have a token and a grant."""
    with _at(file) as custodian:
        custodian.add(name, contact)
    show.say(f"Added {name}. Next: discreet access grant {name} TABLE --epsilon 0.5, and discreet access token {name}")


def token(name: Name, days: Annotated[float, typer.Option("--days", min=0.001)] = 90, file: File = _FILE) -> None:
    """Make a token for an analyst, and show it: it is shown once, and only a digest of it is kept."""
    with _at(file) as custodian:
        made = custodian.token(name, days)
    typer.echo(made)


def grant(
    name: Name,
    table: Annotated[str, typer.Argument(help="The table.", metavar="TABLE")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    purpose: Annotated[str, typer.Option("--purpose", help="What it is for.")] = "",
    days: Days = None,
    approve_above: Annotated[str | None, typer.Option("--approve-above", help="The epsilon that needs approval.")] = None,
    file: File = _FILE,
) -> None:
    """Set a share of the budget aside for an analyst's questions to a table."""
    amount = _price(epsilon, delta, rho)
    above = None if approve_above is None else _price(approve_above, None, None)
    with _at(file) as custodian:
        number = custodian.grant(name, table, amount, purpose=purpose, days=days, approve_above=above)
        held = [each for person in custodian.analysts() if person["name"] == name for each in person["grants"]]
    earlier = [each["id"] for each in held if each["table"] == table and each["id"] < number and not each["revoked"]]
    show.say(f"Grant {number}: {name} may spend {amount.cost} on questions to {table}. It is set aside from now on.")
    for each in earlier:
        show.say(
            f"It pays in place of grant {each}. To return what is left of that: discreet access revoke {name} --grant {each}"
        )


def revoke(
    name: Name,
    number: Annotated[int | None, typer.Option("--grant", help="Only this grant; without it, all and the analyst.")] = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Only the tokens: make another one afterwards.")] = False,
    file: File = _FILE,
) -> None:
    """Take away a grant, the tokens, or all that an analyst has. What was not drawn returns to the budget."""
    with _at(file) as custodian:
        done = custodian.revoke(name, grant=number, tokens_only=tokens)
    show.say(f"Revoked of {name}: {', '.join(done)}.")


def list_(file: File = _FILE, json: show.Json = False) -> None:
    """List analysts, their tokens and shares."""
    with _at(file) as custodian:
        found = custodian.analysts()
    if json:
        show.document({"kind": "analysts", "analysts": found})
        return
    rows = []
    for each in found:
        active = "active" if each["active"] else "revoked"
        for share in each["grants"] or [None]:
            held = ["", "", "", ""] if share is None else _share(share)
            rows.append([each["name"], active, str(each["tokens"]), *held])
    show.table("Analysts", ["name", "state", "tokens", "grant", "table", "spent", "left"], rows)


def _share(share: dict[str, Any]) -> list[str]:
    word = "revoked" if share["revoked"] else _amount(share["left"])
    return [str(share["id"]), share["table"], _amount(share["spent"]), word]


def _amount(amount: dict[str, Any]) -> str:
    from fractions import Fraction

    signs = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
    said = [f"{signs[k]}={float(Fraction(v)):.4g}" for k, v in amount.items() if v not in (None, "0")]
    return ", ".join(said) or "0"


def pending(file: File = _FILE, json: show.Json = False) -> None:
    """Show the requests that wait for approval: who asks, what for, what exactly, for how much, how wrong."""
    with _at(file) as custodian:
        waiting = [(each, custodian.expected(each)) for each in custodian.pending()]
    if json:
        show.document({"kind": "pending", "requests": [vars(each) | {"expected": said} for each, said in waiting]})
        return
    for each, said in waiting:
        show.say(f"{each.ref}  {each.analyst} asks {each.table} for {each.price.get('cost', '')}; purpose: {each.purpose}")
        for line in said:
            show.say(f"    {line}")
        show.say(f"    {each.question}")
    if not waiting:
        show.say("Nothing waits.")


def approve(ref: Ref, file: File = _FILE) -> None:
    """Approve a request: it is answered in its turn. The approval binds the question as it was shown."""
    with _at(file) as custodian:
        custodian.decide(ref, "queued")
    show.say(f"Approved {ref}.")


def deny(ref: Ref, file: File = _FILE) -> None:
    """Deny a request."""
    with _at(file) as custodian:
        custodian.decide(ref, "denied")
    show.say(f"Denied {ref}.")


def publish(ref: Ref, file: File = _FILE) -> None:
    """Show an answer to all analysts, in the catalogue. Reading it there costs them nothing."""
    with _at(file) as custodian:
        custodian.publish(ref)
    show.say(f"Published the answer of {ref}.")


def reopen(population: Population, file: File = _FILE) -> None:
    """Open a population that was closed after overruns."""
    with _at(file) as custodian:
        custodian.reopen(population)
    show.say(f"{population} takes questions again.")


def write_off(population: Population, file: File = _FILE) -> None:
    """After a restore: charge what the copy may lack, close all shares in full, and open the population again."""
    with _at(file) as custodian:
        lost = custodian.write_off(population)
    show.say(f"Written off: {lost}. Shares of before stay counted in full; grant new ones.")


def registry(file: File = _FILE) -> None:
    """Write what a registry of deployments wants to know of each population, as JSON (which is YAML)."""
    from discreet.service import config
    from discreet.service.deployments import described
    from discreet.service.register import ledger_of

    settings, made = config.read(file), []
    for population in settings.populations.values():
        with ledger_of(population, settings) as ledger:
            made.append(described(settings, population, ledger))
    show.document({"deployments": made})


def _price(epsilon: str | None, delta: str | None, rho: str | None) -> Price:
    from discreet.core.price import Price

    return Price(epsilon, delta, rho)


@contextmanager
def _at(file: Path) -> Iterator[Custodian]:
    from discreet.service import config
    from discreet.service.access import Custodian
    from discreet.service.run import prepare

    settings = config.read(file)
    prepare(settings)
    with Custodian.at(settings) as custodian:
        yield custodian
