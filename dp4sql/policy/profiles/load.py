"""The `profiles:` section of a policy file, checked against tables, labels and the files it names.

Existence  a table that a profile reads is del under no policy, nor do private values decide which of its rows
           truncation keeps: a profile shows that its rows exist
Withhold   a withheld field is rep under the profile's policy, and a private field is never shared
Owner      rows beside the entity's own are found through a public foreign key, and belong to nobody else
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from dp4sql.errors import PolicyError
from dp4sql.policy.labels import Policy, PolicySet
from dp4sql.policy.lines import Where
from dp4sql.policy.profiles.fields import Reading, build_field, rep
from dp4sql.policy.profiles.files import locate, read_compatibility
from dp4sql.policy.profiles.models import GroupModel, PairModel, ProfileModel
from dp4sql.policy.profiles.types import Compatibility, Field, Link, Profile
from dp4sql.policy.source import Source, suggest

Fields = Mapping[str, Field]


def load_profiles(
    models: Mapping[str, ProfileModel], policies: PolicySet, source: Source
) -> dict[str, Profile]:
    """The profiles by name; every mistake in them goes to `source`."""
    found: dict[str, Profile] = {}
    for name, model in models.items():
        reading = Reading(name, policies, source)
        policy = _policy(reading, model)
        if policy is not None:
            found[name] = _profile(reading, model, policy)
    return found


def _profile(reading: Reading, model: ProfileModel, policy: Policy) -> Profile:
    built = {n: build_field(reading, n, m, model.entity, policy) for n, m in model.fields.items()}
    fields = {name: field for name, field in built.items() if field is not None}
    _check_defaults(reading, model, fields)
    return Profile(
        name=reading.name,
        entity=model.entity,
        policy=policy.name,
        policies=_charged(reading.policies, fields),
        fields=fields,
        closure=_closure(reading, model),
        closure_threshold=model.closure_threshold,
        groups=_groups(reading, model, fields),
        group_threshold=model.group_threshold,
        block_cap=model.block_cap,
        gamma=model.prior.gamma,
        pairs=_pairs(reading, model, fields),
        budget=model.budget,
        roles=_roles(reading, model),
        comment=model.comment,
    )


# ---------------------------------------------------------------- policies


def _policy(reading: Reading, model: ProfileModel) -> Policy | None:
    """The policy of the profile: named, or the only one of its entity."""
    entity, tables = model.entity, reading.policies.schema.tables
    if entity in tables and len(tables[entity].key) != 1:
        what = f"the key of {entity} has {len(tables[entity].key)} columns"
        reading.report(("entity",), what, "a profile is asked for by one key value")
        return None
    if entity in reading.policies.displaced:
        what = f"private values decide which rows of {entity} are kept, and a profile shows that a row is there"
        hint = "declare the frequency without enforce: truncate, or of public columns"
        reading.report(("entity",), what, hint, "Existence")
        return None
    options = {p.name: p for p in reading.policies.policies if p.entity == entity}
    chosen = model.policy or (next(iter(options)) if len(options) == 1 else None)
    if entity not in tables:
        reading.report(("entity",), f'entity "{entity}" is not declared', suggest(entity, tables))
    elif not options:
        reading.report(("entity",), f"no policy protects {entity}", f"add one: entity: {entity}")
    elif chosen is None:
        hint = f"add policy: with one of {', '.join(options)}"
        reading.report((), f"several policies protect {entity}", hint)
    elif chosen not in options:
        what = f'policy "{chosen}" does not protect {entity}'
        reading.report(("policy",), what, suggest(chosen, options))
    else:
        return options[chosen]
    return None


def _charged(policies: PolicySet, fields: Fields) -> tuple[str, ...]:
    """Every policy that a private field is rep under, not only the profile's own."""
    private = [field for field in fields.values() if field.private]
    return tuple(
        p.name for p in policies.policies if any(f.column in rep(p, f.table) for f in private)
    )


def _check_defaults(reading: Reading, model: ProfileModel, fields: Fields) -> None:
    """`default_policy` repeats what the labels imply; a difference is a mistake in one of the two."""
    for name, choice in model.default_policy.items():
        field = fields.get(name)
        if not _known(reading, ("default_policy", name), model, [name]) or field is None:
            continue
        where, column = ("default_policy", name), f"{field.table}.{field.column}"
        kept = field.private or field.identifier
        if choice == "share" and kept:
            what = "rep" if field.private else "marked as an identifier"
            hint = "withhold it: what is private is never copied"
            reading.report(where, f"{name} is shared, but {column} is {what}", hint, "Withhold")
        if choice == "withhold" and not kept:
            hint = "label the column rep, or other queries show it"
            reading.report(where, f"{name} is withheld, but {column} is public", hint, "Withhold")


def _roles(reading: Reading, model: ProfileModel) -> str | Mapping[str, str] | None:
    if isinstance(model.roles, str) and model.roles.count("{entity}") != 1:
        hint = "write the entity's key as {entity}, such as agent_{entity}"
        reading.report(("roles",), f'role pattern "{model.roles}"', hint)
    return model.roles


# ---------------------------------------------------------------- links between fields


def _known(reading: Reading, where: Where, model: ProfileModel, names: list[str]) -> bool:
    unknown = [name for name in names if name not in model.fields]
    for name in unknown:
        what = f'field "{name}" is not declared'
        reading.report(where, what, suggest(name, model.fields))
    return not unknown


def _closure(reading: Reading, model: ProfileModel) -> tuple[Link, ...]:
    return tuple(
        Link(link.source, link.target, link.score)
        for i, link in enumerate(model.closure)
        if _known(reading, ("closure", i), model, [link.source, link.target])
    )


def _groups(reading: Reading, model: ProfileModel, fields: Fields) -> tuple[Link, ...]:
    links: list[Link] = []
    for i, entry in enumerate(model.groups):
        group = entry if isinstance(entry, GroupModel) else GroupModel(fields=entry)
        if not _known(reading, ("groups", i), model, group.fields):
            continue
        tables = {fields[name].table for name in group.fields if name in fields}
        if len(tables) > 1:
            what = f"the group joins fields of {' and '.join(sorted(tables))}"
            reading.report(("groups", i), what, "fields of one row are drawn together")
        links += [Link(a, b, group.score) for a, b in pairwise(group.fields)]
    return tuple(links)


def _pairs(reading: Reading, model: ProfileModel, fields: Fields) -> tuple[Compatibility, ...]:
    found = (
        _pair(reading, ("prior", "pairs", i), pair, fields)
        for i, pair in enumerate(model.prior.pairs)
        if _known(reading, ("prior", "pairs", i), model, pair.fields)
    )
    return tuple(pair for pair in found if pair is not None)


def _pair(reading: Reading, where: Where, pair: PairModel, fields: Fields) -> Compatibility | None:
    first, second = pair.fields
    if first not in fields or second not in fields:
        return None
    down, across = fields[first].domain, fields[second].domain
    if down is None or across is None:
        reading.report(where, f"{first} or {second} has no domain", "a pair needs two domains")
        return None
    try:
        table = read_compatibility(locate(reading.base, pair.table), down, across)
    except PolicyError as error:
        reading.adopt(where, error)
        return None
    return Compatibility((first, second), table)
