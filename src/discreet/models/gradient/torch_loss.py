"""A loss written in PyTorch, as something that private gradient descent can train. PyTorch is no dependency of ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from discreet.core.random import Random
from discreet.errors import InvalidRequest
from discreet.models.gradient.person_loss import PersonLoss
from discreet.models.gradient.places import Way, near, places_drawn, same, taken

_NUMBERS = 1 << 24  # of the gradients of one block
_PLACES = 512  # in a block where people keep to places


def torch_loss(module: Any, loss: Callable[[Any, Any], Any], *, title: str | None = None) -> PersonLoss:
    """``loss(module(rows), targets)``, a number, for ``OwnNetwork``; the module's parameters are public, and trained.

    The module is called with one row, as a batch of one, so it must not mix rows: batch normalisation has no place in
    private training, group or layer normalisation has. Parameters with ``requires_grad=False`` stay as they are. The
    module may lie on a GPU; ``restore`` gives a state dict of the parameters that were trained.

    As with ``jax_loss``, a block of people is computed by one program if a person comes out of it the same in every place
    and company; if only the place matters everybody draws one, and if the company does people are computed one by one.
    """
    import torch
    from torch.func import functional_call, grad, vmap

    module.train(False)  # what draws at random, or keeps averages of rows, is not a function of a person's rows alone
    names = [name for name, p in module.named_parameters() if p.requires_grad]
    given = dict(module.named_parameters())
    if not names:
        raise InvalidRequest("the module must have parameters to train; none of its parameters has requires_grad=True")
    others = {n: p.detach() for n, p in [*given.items(), *module.named_buffers()] if n not in names}
    shapes = [given[n].shape for n in names]
    sizes = [given[n].numel() for n in names]
    kind, device = given[names[0]].dtype, given[names[0]].device
    first = torch.cat([given[n].detach().reshape(-1) for n in names]).double().cpu().numpy()

    def restore(values: Any) -> dict[str, Any]:
        flat = torch.as_tensor(np.asarray(values), dtype=kind, device=device)
        return {n: part.reshape(shape) for n, part, shape in zip(names, torch.split(flat, sizes), shapes, strict=True)}

    def of_person(parameters: dict[str, Any], x: Any, y: Any, weight: Any) -> Any:
        each = [
            loss(functional_call(module, (parameters, others), (x[j : j + 1],)), y[j : j + 1]).reshape(())
            for j in range(x.shape[0])
        ]
        return (torch.stack(each) * weight).sum()

    per_person = vmap(grad(of_person), (None, 0, 0, 0))

    def whole(parameters: dict[str, Any], people: list[Any], clip: float, unit: float) -> Any:
        found = per_person(parameters, *people)
        rows = torch.cat([found[n].reshape(people[0].shape[0], -1) for n in names], 1).double()
        square = (rows * rows).sum(1)
        good = torch.isfinite(square)
        factor = torch.where(good, torch.clamp(clip / torch.sqrt(square), max=1.0), torch.zeros_like(square))
        rows = torch.where(good[:, None], rows, torch.zeros_like(rows))
        return torch.round(rows * (factor / unit)[:, None])

    room = max(1, _NUMBERS // len(first))
    people, places = min(64 if device.type == "cpu" else 1024, room), min(_PLACES, 1 << room.bit_length() - 1)
    tried: dict[Any, Way] = {}

    def way_of(parameters: dict[str, Any], x: Any, y: Any) -> Way:
        key = (x.shape[1:], x.dtype, y.shape[1:], y.dtype)
        if key not in tried:

            def block(at: dict[str, Any], *rows: Any) -> Any:
                return whole(at, there(rows, len(rows[0])), 1.0, 2.0**-200).cpu().numpy()  # a unit that shows every bit

            blocks = [partial(block, at) for at in (parameters, restore(near(first)))]
            facts = (x.shape[1:], y.shape[1:]), (str(x.dtype), str(y.dtype))
            tried[key] = (
                "anywhere"
                if same(blocks, people, *facts, anywhere=True)
                else "in places"
                if same(blocks, places, *facts, anywhere=False)
                else "one by one"
            )
        return tried[key]

    def there(rows: Any, size: int) -> list[Any]:
        x, y, weight = (_block(each, size, torch, kind, device) for each in rows)
        return [x, y, weight.to(kind)]

    def shortened(values: Any, x: Any, y: Any, weight: Any, clip: float, unit: float) -> Any:
        parameters, total, given = restore(values), np.zeros(len(first)), (x, y, weight)
        way = way_of(parameters, x, y)
        if way == "in places":
            for chosen in places_drawn(len(x), places, Random()):
                rows = there([taken(each, chosen) for each in given], places)
                total += whole(parameters, rows, clip, unit).sum(0).cpu().numpy()
            return total
        size = people if way == "anywhere" else 1
        for start in range(0, len(x), size):
            rows = there([each[start : start + size] for each in given], size)
            total += whole(parameters, rows, clip, unit).sum(0).cpu().numpy()
        return total

    return PersonLoss(title or type(module).__name__, len(first), first, shortened, restore)


def _block(rows: Any, people: int, torch: Any, kind: Any, device: Any) -> Any:
    """A block of ``people`` on the module's device, filled up with people whose rows weigh nothing."""
    whole = np.zeros((people, *rows.shape[1:]), rows.dtype)
    whole[: len(rows)] = rows
    made = torch.as_tensor(whole, device=device)
    return made.to(kind) if made.is_floating_point() else made
