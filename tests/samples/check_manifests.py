"""Checks manifests of Kubernetes against the models of its Python client, and against the cluster file that they run.

    check_manifests.py CLUSTER.toml MANIFEST...    prints what is wrong, one line each; status 1 if anything is
    check_manifests.py --test CLUSTER.toml MANIFEST...    the same, then breaks them, and fails where that goes unnoticed

A field that a model does not have, one of another type, and one that is missing are errors. The client itself ignores
fields that it does not know.
"""
import copy
import datetime
import re
import sys

try:
    import kubernetes.client as models
    import yaml
except ImportError as error:
    print(f"skipped: {error}: apt-get install python3-kubernetes python3-yaml")
    sys.exit(77)

KINDS = {("v1", "Service"): "V1Service", ("apps/v1", "StatefulSet"): "V1StatefulSet", ("batch/v1", "Job"): "V1Job"}
SIMPLE = {"str": str, "int": int, "float": float, "bool": bool, "object": object, "datetime": datetime.datetime}


def check_type(value, type_name, path):
    """Yields what of `value` is not as the model `type_name` says."""
    if match := re.fullmatch(r"list\[(.*)\]", type_name):
        if not isinstance(value, list):
            yield f"{path}: expected a list"
            return
        for i, item in enumerate(value):
            yield from check_type(item, match[1], f"{path}[{i}]")
    elif match := re.fullmatch(r"dict\((\w+), (.*)\)", type_name):
        if not isinstance(value, dict):
            yield f"{path}: expected a table"
            return
        for key, item in value.items():
            yield from check_type(item, match[2], f"{path}.{key}")
    elif type_name in SIMPLE:
        if not isinstance(value, SIMPLE[type_name]) or (isinstance(value, bool) and type_name == "int"):
            yield f"{path}: expected {type_name}, found {value!r}"
    else:
        yield from check_model(value, getattr(models, type_name), path)


def check_model(value, model, path):
    if not isinstance(value, dict):
        yield f"{path}: expected a table"
        return
    names = {name: attribute for attribute, name in model.attribute_map.items()}
    for name, item in value.items():
        if name not in names:
            yield f"{path}.{name}: no such field"
        else:
            yield from check_type(item, model.openapi_types[names[name]], f"{path}.{name}")
    try:  # a model refuses to be made without what it requires
        model(**{names[name]: item for name, item in value.items() if name in names})
    except ValueError as error:
        yield f"{path}: {error}"



def check_cluster(documents, roles):
    """Yields where the manifests do not fit together, or not the roles of the cluster file: (name, count) each."""
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    sets = {d["metadata"]["name"]: d for d in documents if d["kind"] != "Service"}
    for name, count in roles:
        if name not in sets:
            yield f"no set of pods has the name of the role {name}"
            continue
        document, spec = sets[name], sets[name]["spec"]
        is_job = document["kind"] == "Job"
        pods = spec.get("completions") if is_job else spec.get("replicas", 1)
        if pods != count or (is_job and (spec.get("parallelism") != count or spec.get("completionMode") != "Indexed")):
            yield f"{name}: {pods} pods, and the role has {count} nodes"
        if not is_job and spec.get("podManagementPolicy") != "Parallel":
            yield f"{name}: pods start one after the other, and each waits for all"
        template = spec["template"]
        labels = template["metadata"]["labels"]
        if not is_job and not spec["selector"]["matchLabels"].items() <= labels.items():
            yield f"{name}: its selector does not select its pods"
        service_name = template["spec"].get("subdomain") if is_job else spec["serviceName"]
        service = services.get(service_name)
        if service is None:
            yield f"{name}: there is no service {service_name}, so its pods have no names"
            continue
        if service.get("clusterIP") != "None" or service.get("publishNotReadyAddresses") is not True:
            yield f"{service_name}: names of pods need clusterIP: None and publishNotReadyAddresses: true"
        if not service["selector"].items() <= labels.items():
            yield f"{service_name}: does not select the pods of {name}"
        yield from check_pod(name, template["spec"], is_job, f"{roles[0][0]}-0.{service_name}", service)


def check_pod(name, pod, is_job, seed, service):
    container = pod["containers"][0]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    if mounts.keys() != {volume["name"] for volume in pod["volumes"]}:
        yield f"{name}: volumes and their mounts have different names"
    command = container["command"]
    for argument in [command[2], command[command.index("--keys") + 1]]:
        if not any((argument + "/").startswith(path + "/") for path in mounts.values()):
            yield f"{name}: nothing is mounted at {argument}"
    pod_name = f"{name}-$(JOB_COMPLETION_INDEX)" if is_job else "$(POD_NAME)"
    if command[command.index("--pod") + 1] != pod_name:
        yield f"{name}: --pod is not {pod_name}"
    variables = {variable["name"]: variable.get("value") for variable in container["env"]}
    if not is_job and "POD_NAME" not in variables:
        yield f"{name}: POD_NAME is not set"
    if variables.get("TROUPE__CLUSTER__SEED") != seed:
        yield f"{name}: the first node is {seed}"
    if not re.fullmatch(r"\d+m", variables.get("TROUPE__CLUSTER__JOIN_TIMEOUT") or ""):
        yield f"{name}: join_timeout has no minutes, and images are fetched meanwhile"
    if variables.get("TROUPE__CLUSTER__PORT") not in [str(port["port"]) for port in service["ports"]]:
        yield f"{name}: the service has no port {variables.get('TROUPE__CLUSTER__PORT')}"


def problems_of(documents, roles):
    found = []
    for document in documents:
        kind = document.get("apiVersion"), document.get("kind")
        path = f"{kind[1]} {document.get('metadata', {}).get('name')}"
        if kind not in KINDS:
            found.append(f"{path}: {kind[0]} has no such kind here")
        else:
            found += check_model(document, getattr(models, KINDS[kind]), path)
    return found or list(check_cluster(documents, roles))


def roles_of(cluster_file):
    """The roles of a cluster file, in their order. Enough of TOML for the files of the samples."""
    roles = []
    for block in open(cluster_file).read().split("[[role]]")[1:]:
        name = re.search(r'^name = "(.*)"', block, re.M)[1]
        count = re.search(r"^count = (\d+)", block, re.M)
        roles.append((name, int(count[1]) if count else 1))
    return roles


def replaced(documents, path, value):
    """A copy in which the field at `path` is `value`, or is gone if that is None."""
    changed = copy.deepcopy(documents)
    at = changed
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return changed


def broken(documents):
    """Copies that are each wrong in one way, and part of what must be said of them."""
    pod = [1, "spec", "template", "spec"]
    container = pod + ["containers", 0]
    yield replaced(documents, [0, "spec", "publishNotReadyAddress"], True), "no such field"
    yield replaced(documents, [0, "spec", "publishNotReadyAddresses"], None), "names of pods need"
    yield replaced(documents, [0, "spec", "ports", 0, "port"], "29600"), "expected int"
    yield replaced(documents, [0, "spec", "ports", 0, "port"], 29601), "has no port"
    yield replaced(documents, [1, "spec", "template"], None), "must not be `None`"
    yield replaced(documents, container + ["name"], None), "must not be `None`"
    yield replaced(documents, container + ["env", 0, "valu"], "x"), "no such field"
    yield replaced(documents, container + ["env", -1], None), "join_timeout has no minutes"
    yield replaced(documents, container + ["env", -1, "value"], "30s"), "join_timeout has no minutes"
    yield replaced(documents, container + ["volumeMounts", 0, "mountPath"], "/etc/other"), "nothing is mounted"
    yield replaced(documents, pod + ["volumes", 1, "name"], "key"), "different names"
    yield replaced(documents, [1, "spec", "template", "metadata", "labels", "app"], "gide"), "select"
    yield replaced(documents, [1, "metadata", "name"], "walker"), "name of the role worker"
    yield replaced(documents, [1, "apiVersion"], "extensions/v1beta1"), "no such kind"
    count = "replicas" if documents[1]["kind"] == "StatefulSet" else "completions"
    yield replaced(documents, [1, "spec", count], 2), "2 pods, and the role has 3 nodes"


def main(arguments):
    is_test = arguments[0] == "--test"
    cluster_file, *manifests = arguments[1:] if is_test else arguments
    roles = roles_of(cluster_file)
    failures = 0
    for manifest in manifests:
        documents = list(yaml.safe_load_all(open(manifest)))
        for problem in problems_of(documents, roles):
            print(f"{manifest}: {problem}")
            failures += 1
        for wrong, said in broken(documents) if is_test else ():
            found = problems_of(wrong, roles)
            if not any(said in problem for problem in found):
                print(f"{manifest}: nothing says \"{said}\" of a manifest where that is so: {found}")
                failures += 1
        print(f"{manifest}: {len(documents)} documents")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
