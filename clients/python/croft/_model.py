"""Values as the API has them: JSON objects with attributes, times, durations and bytes."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

M = TypeVar("M", bound="Model")


class Model:
    """A JSON object of the API.

    Its fields are attributes. A field that is absent is None, or False, or an empty list or
    mapping. `to_json` has the object as it came: also what a newer daemon has added.
    """

    # For each attribute its name in JSON, and how its value is decoded: "" as it is, "bool",
    # "time", "duration", "bytes", the name of a Model; "[" and "{" before it for a list and a
    # mapping.
    _fields: ClassVar[dict[str, tuple[str, str]]] = {}
    _types: ClassVar[dict[str, type[Model]]] = {}

    _json: dict[str, Any]

    def __init_subclass__(cls) -> None:
        Model._types[cls.__name__] = cls

    def __init__(self, **fields: Any) -> None:
        raw = {}
        for name, value in fields.items():
            if name not in self._fields:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            if value is not None:
                raw[self._fields[name][0]] = encode(value)
        self._json = raw

    @classmethod
    def of(cls: type[M], raw: dict[str, Any]) -> M:
        """Makes a value of a JSON object."""
        self = cls.__new__(cls)
        self._json = raw
        return self

    def to_json(self) -> dict[str, Any]:
        """The JSON object."""
        return self._json

    def __getattr__(self, name: str) -> Any:
        if name == "_json":
            raise AttributeError(name)  # while it is being made
        try:
            wire, kind = self._fields[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None
        value = decode(self._json.get(wire), kind)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._json == self._json

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._json!r})"

    def __reduce__(self) -> Any:
        return type(self).of, (self._json,)


def decode(value: Any, kind: str) -> Any:
    """Makes a value of JSON what its field says it is."""
    if kind == "":
        return value
    if kind == "bool":
        return bool(value)
    if kind[0] == "[":
        return [decode(item, kind[1:]) for item in value or ()]
    if kind[0] == "{":
        return {name: decode(item, kind[1:]) for name, item in (value or {}).items()}
    if value is None:
        return None
    if kind == "time":
        return datetime.fromisoformat(value)
    if kind == "duration":
        return parse_duration(value)
    if kind == "bytes":
        return base64.b64decode(value)
    return Model._types[kind].of(value)


def encode(value: Any) -> Any:
    """Makes a value what JSON can have."""
    if isinstance(value, Model):
        return value._json
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: encode(item) for name, item in value.items() if item is not None}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode(item) for item in value]
    return value


_units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ns": 1e-9}


def parse_duration(text: str) -> timedelta:
    """Reads a duration such as "1h30m" or "-1.5s"."""
    parts = re.findall(r"([0-9.]+)(h|ms|m|s|µs|μs|us|ns)", text)
    seconds = sum(float(number) * _units[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


def format_duration(value: timedelta) -> str:
    """Writes a duration, exactly to the microsecond."""
    micros = value // timedelta(microseconds=1)
    return f"{micros}us" if micros % 1_000_000 else f"{micros // 1_000_000}s"


def segment(value: str | int) -> str:
    """A name, an ID or a path as a segment of a path. The empty one stands for the default."""
    value = str(value)
    if value == "":
        return "-"
    if value in (".", ".."):
        return value.replace(".", "%2E")
    if value == "-":
        value = "name:-"
    elif value == "/":
        value = "path:/"
    return quote(value, safe="")


def query(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The fields of a request as a query has them."""
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        value = encode(value)
        if value is None:
            continue
        if isinstance(value, dict):
            pairs += [(f"{name}[{key}]", str(item)) for key, item in value.items()]
        elif isinstance(value, list):
            pairs += [(name, str(item)) for item in value]
        else:
            pairs.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return pairs
