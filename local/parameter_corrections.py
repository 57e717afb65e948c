"""A correction to the emulator's Parameter Store, made in its process: a parameter that does not exist has no tags."""

from __future__ import annotations

from typing import Any


def correct_parameters() -> None:
    """To be called before the emulator serves.

    Parameter Store refuses to list the tags of a parameter that does not exist; the emulator lists none.
    https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_ListTagsForResource.html
    """
    from ministack.services import ssm

    list_tags = ssm._list_tags_for_resource

    def list_tags_of_what_exists(data: Any) -> Any:
        name = data.get("ResourceId", "")
        if data.get("ResourceType") == "Parameter" and not ssm._lookup_parameter(name, flexible_name=True)[1]:
            return ssm.error_response_json("InvalidResourceId", f"Parameter {name} does not exist", 400)
        return list_tags(data)

    ssm._list_tags_for_resource = list_tags_of_what_exists
