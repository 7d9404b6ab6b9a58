"""The JSON schema by which Prefect's server checks a deployment's parameters, before any run.

Prefect makes one of a flow's signature, which admits every unknown parameter: the run of it
then crashes. This one refuses what the flow would.
"""

from typing import Any, Final

from prefect import Flow
from prefect.utilities.callables import ParameterSchema
from pydantic import ConfigDict

from blocks.forms import absent, either, required

# Exactly one of a root and a block's name.
_PLACE: Final = either(absent("store"), required("to", type="string"), absent("to"))


class FormSchema(ParameterSchema):
    """Prefect's, which drops keywords that it does not know."""

    model_config = ConfigDict(extra="allow")


def schema_of(flow: "Flow[..., Any]") -> FormSchema:
    """The schema of a flow's parameters, of which it takes no others."""
    known = flow.parameters.model_dump(exclude_unset=True)
    return FormSchema(**known | _PLACE | {"additionalProperties": False})
