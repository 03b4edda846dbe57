"""Holidays of countries and markets, as the library `holidays` knows them, as dates."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final

import holidays
from holidays import HolidayBase
from holidays.registry import COUNTRIES, FINANCIAL, RegistryDict

from matins.domain.calendars.calendar import LABEL_MAX, Holidays, Item
from matins.domain.values.errors import InvalidInputError

_USUAL_CATEGORIES: Final = ("public",)
_CODE_LENGTH: Final = 4
_SHOWN: Final = 20


def holiday_items(item: Item, wanted: Holidays, years: range) -> list[Item]:
    """Return the holidays that an item wants: an item with all its dates for each name."""
    entity = _entity(wanted)
    names = type(entity)(
        subdiv=_subdivision(entity, wanted),
        years=years,
        language=_language(entity),
        categories=_categories(entity, wanted),
    )
    dates: dict[str, list[str]] = {}
    for day, name in sorted(names.items()):
        dates.setdefault(item.label or name[:LABEL_MAX], []).append(day.isoformat())
    if not dates:
        return [Item(dates=[], times=item.times, label=item.label)]
    return [Item(dates=days, times=item.times, label=name) for name, days in dates.items()]


def _entity(wanted: Holidays) -> HolidayBase:
    """Return the library's object for a country or a market, with no years in it yet."""
    if wanted.country is not None:
        return holidays.country_holidays(_choose("country", wanted.country, *_codes(COUNTRIES)))
    market = wanted.market or ""
    return holidays.financial_holidays(_choose("market", market, *_codes(FINANCIAL)))


def _subdivision(entity: HolidayBase, wanted: Holidays) -> str | None:
    """Return the code of a part of a country, which may be written in full: BE or DE-BE."""
    if wanted.subdivision is None:
        return None
    text = wanted.subdivision.removeprefix(f"{wanted.country}-")
    if not entity.subdivisions:
        name = wanted.country or wanted.market
        raise InvalidInputError.at("holidays.subdivision", f"{name} has none; leave it out")
    choices = {code: code for code in entity.subdivisions} | entity.subdivisions_aliases
    return _choose("subdivision", text, choices)


def _categories(entity: HolidayBase, wanted: Holidays) -> tuple[str, ...]:
    choices = {category: category for category in entity.supported_categories}
    chosen = [
        _choose(f"categories[{index}]", category, choices)
        for index, category in enumerate(wanted.categories)
    ]
    return tuple(chosen) or _USUAL_CATEGORIES


def _language(entity: HolidayBase) -> str | None:
    """Return the language of names: English if there is any, and never that of the process."""
    english = sorted(
        language for language in entity.supported_languages if language.startswith("en")
    )
    return english[0] if english else entity.default_language


def _codes(registry: RegistryDict) -> tuple[dict[str, str], dict[str, str]]:
    """Return the first code of each entity by each of its codes, and by its name."""
    entities = list(registry.values())
    by_code = {
        code: entity[1] for entity in entities for code in entity[1:] if len(code) <= _CODE_LENGTH
    }
    return by_code, {entity[0]: entity[1] for entity in entities}


def _choose(
    where: str, text: str, choices: Mapping[str, str], names: Mapping[str, str] | None = None
) -> str:
    """Return what a text means. Raises InvalidInputError, with what is near by text or by name."""
    if text in choices:
        return choices[text]
    by_lower = {choice.lower(): choices[choice] for choice in choices}
    by_lower |= {name.lower(): code for name, code in (names or {}).items()}
    near = difflib.get_close_matches(text.lower().replace(" ", ""), by_lower, n=3, cutoff=0.6)
    every = sorted(set(choices.values()))
    few = [*every[:_SHOWN], "…"] if len(every) > _SHOWN else every
    hint = " or ".join(dict.fromkeys(by_lower[name] for name in near)) or f"one of {', '.join(few)}"
    raise InvalidInputError.at(f"holidays.{where}", f"{text[:40]!r} is not known; write {hint}")
