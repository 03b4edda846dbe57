"""Bodies of requests: JSON, read strictly into the domain's Structs."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from litestar._openapi.schema_generation import SchemaCreator
from litestar.dto import AbstractDTO, DTOFieldDefinition
from litestar.openapi.spec import Reference, Schema
from litestar.typing import FieldDefinition

from matins.domain.values.reading import read_json

T = TypeVar("T")


class Strict(AbstractDTO[T], Generic[T]):
    """Reads the body of a handler by `read_json`: Litestar's own reading would take "5" for 5."""

    def decode_bytes(self, value: bytes) -> T:
        """See `domain.reading.read_json`."""
        return read_json(value, self.model_type)

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
        """Return the schema of the Struct."""
        del handler_id
        return schema_creator.for_field_definition(field_definition)
