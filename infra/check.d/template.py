"""The template as CloudFormation gets it: SAM's transform applied, intrinsic functions readable.

Needs no account and no network. `python template.py template.yaml > out.json` writes it out.
"""

import json
import logging
import os
import re
import sys

# It counts its own use, and complains that nobody wants to know.
logging.getLogger("samtranslator").setLevel(logging.ERROR)
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402


class _NoManagedPolicies:
    def load(self):
        return {}


def transformed(text):
    """SAM source to plain CloudFormation, as `sam deploy` would send it."""
    source = yaml_parse(text)
    for resource in source["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource.setdefault("Properties", {})["CodeUri"] = "s3://bucket/key"
    code = source.get("Globals", {}).get("Function", {})
    code.pop("CodeUri", None)
    return Template(transform(source, {}, _NoManagedPolicies()))


class Template:
    """A transformed template. `plain` makes values comparable: a reference becomes `<Id>` or
    `<Id.Attribute>`, whichever function it is written with."""

    def __init__(self, document):
        self.document = document
        self.resources = document["Resources"]

    def of_type(self, kind):
        """Resources of a type, by logical id."""
        return {i: r for i, r in self.resources.items() if r["Type"] == kind}

    def properties(self, logical_id):
        """A resource's properties, readable; empty when it is not there."""
        return self.plain(self.resources.get(logical_id, {}).get("Properties", {}))

    def default(self, parameter):
        """A parameter's default."""
        return self.document["Parameters"].get(parameter, {}).get("Default")

    def plain(self, value):
        """The value with its intrinsic functions written as text."""
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref":
                return f"<{argument}>"
            if name == "Fn::GetAtt":
                path = argument.split(".") if isinstance(argument, str) else argument
                return f"<{'.'.join(path)}>"
            if name == "Fn::Sub" and isinstance(argument, str):
                return re.sub(r"\$\{([^!}][^}]*)\}", r"<\1>", argument)
            if name == "Fn::Join":
                separator, parts = argument
                return separator.join(str(self.plain(part)) for part in parts)
        return {key: self.plain(item) for key, item in value.items()}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        json.dump(transformed(file.read()).document, sys.stdout, indent=1, default=str)
