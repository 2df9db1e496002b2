"""What a deployment says of itself in public: the fields of the registry of deployments of differential privacy.

The names of fields stand in one place each, below: they were renamed once and may be again. JSON is YAML, so what is written
can be handed in as it is.
"""

from __future__ import annotations

import time
from typing import Any

from discreet import __version__
from discreet.ledger import Ledger
from discreet.service.config import Config, Population

_SAID = ("short_name", "data_curator", "intended_use", "data_product_type", "data_product_description", "registry_author")


def described(config: Config, population: Population, ledger: Ledger) -> dict[str, Any]:
    """One population; what only the custodian knows stands in ``[population.NAME.registry]`` of the file."""
    budget, unit = ledger.budget, ledger.unit
    assert budget is not None
    said = {word: population.registry.get(word, "") for word in _SAID}
    rho, delta = budget.rho, budget.delta
    flavour = "Zero Concentrated DP" if rho is not None else "Approximate DP" if delta else "Pure DP"
    laws = sorted({event.law.partition('"name":"')[2].partition('"')[0] for event in ledger.events() if event.law})
    shares = (
        "Each analyst has a share, set aside in the ledger; shares add up to no more than the budget, which bounds what all "
        "analysts learn together, also if they collude."
    )
    return {
        "approved": False,
        "registry_author": said.pop("registry_author"),
        "deployment": {
            **said,
            "short_name": said["short_name"] or population.name,
            "publication_date": time.strftime("%Y-%m-%d"),
            "dp_variant": {
                "name": flavour,
                "data_domain": "a table of records about people",
                "unprotected_quantities": "the schema; who asked what when",
            },
            "privacy_loss": {
                "privacy_unit": "one person" if unit is not None and unit.person else "one record",
                "privacy_unit_details": "not bound yet" if unit is None else f"{unit}; neighbours: {ledger.relation}",
                "privacy_parameters": {
                    "epsilon": None if budget.epsilon is None else float(budget.epsilon),
                    "rho": None if rho is None else float(rho),
                    "delta": float(delta),
                },
                "privacy_parameters_details": f"budget {budget}; spent and set aside {ledger.spent()}; head {ledger.head}",
            },
            "model": {
                "model_type": "Central",
                "model_type_details": "a custodian holds the table; analysts ask through a service that cannot read it",
                "actors": "custodian, analysts, reviewers",
                "release_type": "Continual",
                "interactivity": "Interactive",
                "interactivity_details": shares,
            },
            "additional_dp_information": {
                "post_processing": "none: what is released is handed out as it was drawn",
                "composition": f"{budget.composition}; a ledger refuses before anything is looked at",
            },
            "implementation": {
                "pre_processing_eda_hyperparameter_tuning": "bounds and labels are declared, never read off the table",
                "mechanisms": f"{', '.join(laws) or 'none yet'}; discreet {__version__}; integer noise on public grids; "
                "replies leave at moments computed without the table",
                "justification": "",
            },
        },
    }
