"""The Helm chart, rendered by Helm: its objects match Kubernetes' schemas, each other, this version, its
commands and its image, and they confine what they run.
"""

from __future__ import annotations

import copy
import io
import json
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.build_image import ACCOUNT, DATA
from scripts.build_release import archive_chart, read_project
from scripts.chart_tools import EXAMPLES, NEWEST, OLDEST, ChartTools, ChartToolsError, install_chart_tools

from headwater import __version__
from headwater.base.settings import PREFIX, READERS
from headwater.cli.commands import build_parser
from tests.support.sizes import ROOT

CHART = ROOT / "deploy" / "chart"
VALUES = (CHART / "values.yaml").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
PAGE = (ROOT / "docs" / "install.md").read_text()
REQUIRED = os.environ.get("HEADWATER_TEST_HELM") == "required"
Objects = list[dict[str, Any]]


def find_tools(config: pytest.Config) -> ChartTools:
    """Return Helm and the schemas. Where the packages can't be installed, the test is skipped, unless
    HEADWATER_TEST_HELM=required.
    """
    assert config.cache is not None
    try:
        return install_chart_tools(config.cache.mkdir("chart"))
    except ChartToolsError as error:
        if REQUIRED:
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def tools(request: pytest.FixtureRequest) -> ChartTools:
    return find_tools(request.config)


@pytest.fixture(scope="module", params=EXAMPLES)
def objects(request: pytest.FixtureRequest, tools: ChartTools) -> Objects:
    """The objects of an installation in each mode."""
    return tools.render(CHART, EXAMPLES[request.param])


def find_pods(objects: Objects) -> dict[str, dict[str, Any]]:
    """Return the pod templates, by the name of the object that creates the pods."""
    pods: dict[str, dict[str, Any]] = {}
    for resource in objects:
        spec = resource["spec"].get("jobTemplate", resource)["spec"]
        if "template" in spec:
            pods[resource["metadata"]["name"]] = spec["template"]
    return pods


def find_containers(objects: Objects) -> Iterator[dict[str, Any]]:
    for pod in find_pods(objects).values():
        yield from (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"])


def list_names(values: Mapping[str, Any], schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the names of values below those that the schema lists."""
    for name, value in values.items():
        description = schema.get("properties", {}).get(name, {})
        description = SCHEMA["definitions"].get(description.get("$ref", "").rpartition("/")[2], description)
        if isinstance(value, dict) and "properties" in description:
            yield from list_names(value, description, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def list_properties(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, description in schema["properties"].items():
        definition = SCHEMA["definitions"].get(description.get("$ref", "").rpartition("/")[2], description)
        if "properties" in definition:
            yield from list_properties(definition, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_it_works(tools: ChartTools) -> None:
    """Each mode has its objects, which both the oldest and the newest Kubernetes accept."""
    kinds: dict[str, list[str]] = {}
    for name, values in EXAMPLES.items():
        tools.lint(CHART, values)
        resources = tools.render(CHART, values)
        kinds[name] = sorted(resource["kind"] for resource in resources)
        assert [resource["metadata"]["name"].startswith("headwater") for resource in resources].count(
            False
        ) == 0
        faults = [
            tools.find_faults(resource, version) for resource in resources for version in (OLDEST, NEWEST)
        ]
        assert faults == [[]] * 2 * len(resources)
    assert kinds == {
        "single": ["CronJob", "Service", "StatefulSet"],
        "scaled": ["Deployment", "Deployment", "Ingress", "NetworkPolicy", "PodDisruptionBudget",
                   "PodDisruptionBudget", "PodMonitor", "Service"],
    }  # fmt: skip


def test_a_wrong_object_is_noticed(tools: ChartTools) -> None:
    wrong_resource = copy.deepcopy(next(resource for resource in tools.render(CHART, EXAMPLES["single"])
                                        if resource["kind"] == "StatefulSet"))  # fmt: skip
    wrong_resource["spec"] |= {"replicas": "one", "surprise": True}
    first, second = sorted(tools.find_faults(wrong_resource, NEWEST))
    assert first.startswith("StatefulSet spec.replicas: ")
    assert "surprise" in first + second


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"settings": {}}, "HEADWATER_BASE_URL"),
        ({"settings": {"HEADWATER_BASE_URL": "https://t.example.com/path"}}, "does not match pattern"),
        ({"settings": {"HEADWATER_SECRET_KEY": "0" * 32}}, "invalid propertyName"),
        ({"replicas": 2}, "'replicas' not allowed"),
        ({"single": {"volume": {"size": "large"}}}, "does not match pattern"),
        ({"mode": "scaled", "secret": "headwater"}, "HEADWATER_STORAGE_URL"),
        ({"mode": "scaled", "settings": {"HEADWATER_STORAGE_URL": "s3://a/b"}}, "/secret"),
        (EXAMPLES["scaled"] | {"backup": {"claim": "backups"}}, "/backup/claim"),
    ],
)
def test_wrong_values_are_refused(tools: ChartTools, change: dict[str, Any], reason: str) -> None:
    settings = {"HEADWATER_BASE_URL": "https://t.example.com"} | change.get("settings", {})
    values = change | {"settings": settings if change.get("settings") != {} else {}}
    with pytest.raises(ChartToolsError, match=re.escape(reason)):
        tools.render(CHART, values)


def test_every_value_is_explained_and_checked() -> None:
    """Every value is in the schema and vice versa, and each group of values starts with a comment."""
    names = set(list_names(yaml.safe_load(VALUES), SCHEMA))
    properties = set(list_properties(SCHEMA)) - {"global"}
    assert names - properties <= {"settings.HEADWATER_TRUSTED_PROXIES"}
    assert properties - names == set()
    assert [group for group in VALUES.split("\n\n") if not group.startswith("# ")] == []


def test_pages_show_values_that_work(tools: ChartTools) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert tools.render(CHART, yaml.safe_load(block))


def test_pods_are_confined(objects: Objects) -> None:
    for pod in find_pods(objects).values():
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == ACCOUNT
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in find_containers(objects):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {f"/{DATA}", "/tmp"} <= {mount["mountPath"] for mount in container["volumeMounts"]}


def test_postgresql_keeps_its_files_to_itself(objects: Objects) -> None:
    """By default, Kubernetes opens a volume's files to its group at each start."""
    for pod in find_pods(objects).values():
        security = pod["spec"]["securityContext"]
        assert ("fsGroup" in security) == (security.get("fsGroupChangePolicy") == "OnRootMismatch")
        has_claim = any("persistentVolumeClaim" in volume for volume in pod["spec"]["volumes"])
        assert ("fsGroup" in security) == has_claim


def test_containers_run_commands_there_are(objects: Objects) -> None:
    for container in find_containers(objects):
        build_parser(container["args"][0]).parse_args(container["args"])
        names = [variable["name"] for variable in container["env"]]
        assert len(names) == len(set(names))
        assert set(names) - {PREFIX + name.upper() for name in READERS} == set()
        for port in container.get("ports", []):
            assert port["name"] in {"http", "metrics"}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            if container["args"][0] in {"serve", "api"}:
                assert container[probe]["httpGet"]["path"] in {"/healthz", "/readyz"}


def test_volumes_are_there(objects: Objects) -> None:
    claim_names = [claim["metadata"]["name"] for resource in objects
                   for claim in resource["spec"].get("volumeClaimTemplates", [])]  # fmt: skip
    for pod in find_pods(objects).values():
        volumes = [*claim_names, *(volume["name"] for volume in pod["spec"]["volumes"])]
        for container in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]):
            assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)


def test_the_image_is_of_this_version(tools: ChartTools) -> None:
    single_images, scaled_images = (
        {container["image"] for container in find_containers(tools.render(CHART, values))}
        for values in EXAMPLES.values()
    )
    assert single_images == {f"localhost/headwater:{__version__}"}
    assert scaled_images == {f"localhost/headwater@{EXAMPLES['scaled']['image']['digest']}"}


def test_selectors_find_pods(objects: Objects) -> None:
    """They select only this release's pods, even if another release is in the namespace."""
    labels = [pod["metadata"]["labels"] for pod in find_pods(objects).values()]
    for resource in objects:
        spec = resource["spec"]
        selector = spec.get("podSelector", spec.get("selector"))
        if selector is not None:
            match_labels = selector.get("matchLabels", selector)
            assert match_labels["app.kubernetes.io/instance"] == "headwater"
            assert [pod_labels for pod_labels in labels if match_labels.items() <= pod_labels.items()]


def test_the_backup_finds_the_volume_and_its_node(tools: ChartTools) -> None:
    objects = {resource["kind"]: resource for resource in tools.render(CHART, EXAMPLES["single"], "prod")}
    single, job = objects["StatefulSet"], find_pods([objects["CronJob"]])["prod-headwater-backup"]
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in job["spec"]["volumes"]
              if "persistentVolumeClaim" in volume]  # fmt: skip
    assert claims == [f"data-{single['metadata']['name']}-0", "backups"]
    (affinity_rule,) = job["spec"]["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert affinity_rule["labelSelector"]["matchLabels"] == single["spec"]["selector"]["matchLabels"]
    folders = [{variable["name"]: variable["value"] for variable in pod["spec"]["containers"][0]["env"]}
               for pod in (job, single["spec"]["template"])]  # fmt: skip
    assert [variables["HEADWATER_BACKUP_DIR"] for variables in folders] == ["/backups"] * 2
    assert len({variables["HEADWATER_DATA_DIR"] for variables in folders}) == 1


def test_the_ingress_publishes_what_the_page_lists(tools: ChartTools) -> None:
    """It doesn't publish metrics or health. The tracker's paths follow its settings."""
    table = PAGE[PAGE.index("| Paths | For |") :].partition("\n\n")[0]
    paths = {path.rstrip("/") or "/" for path in re.findall(r"`(/[^`]*)`", table)}
    values = copy.deepcopy(EXAMPLES["scaled"])
    values["settings"] |= {"HEADWATER_TRACKER_SCRIPT": "/s.js", "HEADWATER_TRACKER_ENDPOINT": "/e"}
    renamed_paths = (paths - {"/t.js", "/t"}) | {"/s.js", "/e"}
    for chart_values, expected in ((EXAMPLES["scaled"], paths), (values, renamed_paths)):
        (ingress,) = [
            resource for resource in tools.render(CHART, chart_values) if resource["kind"] == "Ingress"
        ]
        (rule,) = ingress["spec"]["rules"]
        assert rule["host"] == "t.example.com"
        assert {path["path"] for path in rule["http"]["paths"]} == expected
        assert ingress["spec"]["tls"] == [{"hosts": ["t.example.com"], "secretName": "tls"}]


def test_monitors_and_policies_know_every_port(tools: ChartTools) -> None:
    objects = tools.render(CHART, EXAMPLES["scaled"])
    specs_by_kind = {resource["kind"]: resource["spec"] for resource in objects}
    ports = {port["name"]: port["containerPort"] for container in find_containers(objects)
             for port in container.get("ports", [])}  # fmt: skip
    assert {
        endpoint["port"] for endpoint in specs_by_kind["PodMonitor"]["podMetricsEndpoints"]
    } == ports.keys()
    (rule,) = specs_by_kind["NetworkPolicy"]["ingress"]
    assert {port["port"] for port in rule["ports"]} == set(ports.values())
    assert rule["from"] == EXAMPLES["scaled"]["networkPolicy"]["from"]
    assert specs_by_kind["Service"]["ports"][0]["targetPort"] in ports
    rules = (ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text()
    job = next(iter(find_pods(objects).values()))["metadata"]["labels"][
        specs_by_kind["PodMonitor"]["jobLabel"]
    ]
    assert f'job="{job}"' in rules


def test_what_is_published(tools: ChartTools, tmp_path: Path) -> None:
    """The archive is reproducible, with the public image, and with URLs and links that work elsewhere."""
    paths = [tmp_path / name for name in ("one.tgz", "two.tgz")]
    for path in paths:
        archive_chart(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    project = read_project()
    metadata = yaml.safe_load(tools.run("show", "chart", paths[0]))
    assert (metadata["version"], metadata["appVersion"], metadata["home"]) == (
        __version__, __version__, project["address"],
    )  # fmt: skip
    with tarfile.open(fileobj=io.BytesIO(paths[0].read_bytes())) as archive:
        readme = archive.extractfile("headwater/README.md")
        assert readme is not None
        links = re.findall(r"\]\((.*?)\)", readme.read().decode())
        assert "headwater/LICENSE" in archive.getnames()
    assert [link.startswith(f"{project['address']}/blob/v{__version__}/") for link in links] == [True] * 2
    resources = tools.render(paths[0], EXAMPLES["single"])
    assert {container["image"] for container in find_containers(resources)} == {
        f"{project['image']}:{__version__}"
    }
