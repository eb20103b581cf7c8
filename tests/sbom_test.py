"""The SBOM of the command: what it names, that its relations are between what is there, and the same bytes again."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def written(build, command, file):
    subprocess.run([ROOT / "packaging" / "sbom", "--build", build, "-o", file, command], check=True,
                   env=dict(os.environ, SOURCE_DATE_EPOCH="1700000000"))
    return Path(file).read_bytes()


def main(build, command, folder):
    missing = [tool for tool in ("dpkg-query", "ninja", "readelf") if shutil.which(tool) is None]
    if missing:
        print(f"skipped: no {missing[0]}")
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    text = written(build, command, f"{folder}/one.spdx.json")
    assert text == written(build, command, f"{folder}/two.spdx.json"), "two runs write other bytes"
    document = json.loads(text)
    assert document["creationInfo"]["created"] == "2023-11-14T22:13:20Z", document["creationInfo"]
    known = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
    relations = {(each["relationshipType"], each["relatedSpdxElement"].removeprefix("SPDXRef-"))
                 for each in document["relationships"]}
    for each in document["relationships"]:
        assert {each["spdxElementId"], each["relatedSpdxElement"]} <= known, each
    for needed in (("DYNAMIC_LINK", "libclfft2"), ("DYNAMIC_LINK", "libc6"), ("STATIC_LINK", "nlohmann-json3-dev"),
                   ("STATIC_LINK", "libvkfft-dev"), ("DESCRIBES", "built-" + Path(command).name)):
        assert needed in relations, f"{needed} is not among {sorted(relations)}"
    assert len(document["packages"]) == len(known) - 1, "a package is named twice"
    for package in document["packages"]:
        assert package["versionInfo"], package


if __name__ == "__main__":
    main(*sys.argv[1:])
