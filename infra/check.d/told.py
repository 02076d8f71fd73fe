"""What a person sees: parameters, their values for each stage, outputs."""

from agree import QUEUES, check, differs


@check("the outputs name each source's address, the dashboard, the tables and the queues")
def outputs(w):
    values = [o["Value"] for o in w.t.plain(w.t.document.get("Outputs", {})).values()]
    for source in w.code.sources:
        url = f"<IngressApi.ApiEndpoint>{w.code.route_prefix}{source}"
        if url not in values:
            yield f"no output for {source}'s address"
    for value in [
        "<InboxTable>",
        "<BusinessTable>",
        *(f"<{q}>" for q in [*QUEUES, *QUEUES.values(), "SweeperDlq"]),
    ]:
        if value not in values:
            yield f"no output for {value}"
    if not any("<Dashboard>" in value for value in values):
        yield "no output for the dashboard"


@check("samconfig.toml sets parameters that there are, and no secret")
def configured(w):
    for stage in ("dev", "prod"):
        deploy = w.samconfig.get(stage, {}).get("deploy", {}).get("parameters", {})
        yield from differs(f"{stage}'s stack", deploy.get("stack_name"), f"webhook-inbox-{stage}")
        for override in deploy.get("parameter_overrides", []):
            name, _, value = override.partition("=")
            parameter = w.t.document["Parameters"].get(name)
            if parameter is None:
                yield f"{stage} sets {name}, which is no parameter"
            elif parameter.get("NoEcho"):
                yield f"{stage} sets the secret {name}"
            elif not value:
                yield f"{stage} sets {name} to nothing, which SAM does not take"
            elif value not in map(str, parameter.get("AllowedValues", [value])):
                yield f"{stage} sets {name} to {value}"


@check("every parameter is explained and in a group, and none is left over")
def parameters(w):
    interface = w.t.document.get("Metadata", {}).get("AWS::CloudFormation::Interface", {})
    grouped = [
        name for group in interface.get("ParameterGroups", []) for name in group["Parameters"]
    ]
    yield from differs(
        "the grouped parameters", sorted(grouped), sorted(w.t.document["Parameters"])
    )
    for name, parameter in w.t.document["Parameters"].items():
        if not parameter.get("Description"):
            yield f"{name} is not explained"
