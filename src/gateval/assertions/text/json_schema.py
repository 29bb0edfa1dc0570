"""`jsonSchema`: the final message is JSON of a required form."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from gateval.assertions.base import Assertion
from gateval.assertions.evidence import Evidence, NotMeasured
from gateval.assertions.matching.bounded_schema import compiled, mismatches, text_limit
from gateval.assertions.matching.final_message import FieldPath, NoText, json_at, where
from gateval.domain.base import JsonObject, canonical_json
from gateval.domain.trials.trial import Assessment, Cause


class JsonSchema(Assertion):
    """The agent's final message, or a field of it, is JSON that fits the schema.

    JSON Schema 2020-12 unless `$schema` names 2019-09, draft-07 or draft-06. `format` is checked,
    and an unknown format is refused. References stay inside the schema (`#/$defs/NAME`) and may
    not go round in a circle; patterns have no look-around. A message that is no JSON, or says a
    key twice, fails. Up to three mismatches are named with their paths.
    """

    type: ClassVar[str] = "jsonSchema"

    schema_: JsonObject = Field(alias="schema", description="The JSON Schema.")
    field: FieldPath = None

    @field_validator("schema_")
    @classmethod
    def _compiles(cls, schema: JsonObject) -> JsonObject:
        compiled(canonical_json(schema))
        return schema

    def assess(self, evidence: Evidence) -> Assessment:
        """See the class. Rests on the final message."""
        expected = f"{where(self.field)} to fit the schema"
        try:
            value = json_at(evidence, self.field)
        except NoText as absent:
            return self.absent(expected=expected, saw=str(absent), steps=evidence.final)
        validator = compiled(canonical_json(self.schema_))
        size, limit = len(canonical_json(value)), text_limit(validator)
        if size > limit:
            raise NotMeasured(
                Cause.GATE,
                f"{where(self.field)} has {size:,} characters; with this schema at most {limit:,} "
                "are checked",
            )
        wrong = mismatches(validator, value)
        saw = "; ".join(wrong) or "that it does"
        return self.result(met=not wrong, expected=expected, saw=saw, steps=evidence.final)
