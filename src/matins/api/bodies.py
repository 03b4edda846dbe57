"""Bodies of requests: JSON, read strictly into the domain's Structs, and not too deep."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any, Generic, TypeVar

from litestar._openapi.schema_generation import SchemaCreator
from litestar.dto import AbstractDTO, DTOFieldDefinition
from litestar.openapi.spec import Reference, Schema
from litestar.typing import FieldDefinition

from matins.domain.errors import InvalidInputError
from matins.domain.reading import read_json

DEPTH_MAX = 64
"""How deep arrays and objects may nest, so that no reader of it runs out of stack."""

T = TypeVar("T")

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class Strict(AbstractDTO[T], Generic[T]):
    """Reads the body of a handler by `read_body`: Litestar's own reading would take "5" for 5."""

    def decode_bytes(self, value: bytes) -> T:
        """See `read_body`."""
        return read_body(value, self.model_type)

    @classmethod
    def generate_field_definitions(
        cls, model_type: type[Any]
    ) -> Generator[DTOFieldDefinition, None, None]:
        """None, since the Struct itself is what is read."""
        del model_type
        yield from ()

    @classmethod
    def detect_nested_field(cls, field_definition: FieldDefinition) -> bool:
        """False, since the Struct itself is what is read."""
        del field_definition
        return False

    @classmethod
    def create_for_field_definition(cls, *_args: object, **_kwargs: object) -> None:
        """Generate no other model."""

    @classmethod
    def create_openapi_schema(
        cls, field_definition: FieldDefinition, handler_id: str, schema_creator: SchemaCreator
    ) -> Reference | Schema:
        """The schema of the Struct."""
        del handler_id
        return schema_creator.for_field_definition(field_definition)


def read_body(body: bytes, kind: type[T]) -> T:
    """Read a body. Raises InvalidInputError that says where it is wrong and what would be right."""
    _check_depth(body)
    return read_json(body, kind)


def _check_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= DEPTH_MAX:
        return
    depth = 0
    for token in _TOKEN.finditer(body):
        mark = token[0]
        depth += (mark in b"[{") - (mark in b"]}")
        if depth > DEPTH_MAX:
            raise InvalidInputError.at("", f"nests arrays and objects deeper than {DEPTH_MAX}")
