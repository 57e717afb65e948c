"""The CDK's own command line, unmodified, synthesizes the app for an account."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.commands import cdk


@pytest.mark.nightly
def test_the_app_is_synthesized_for_an_account_with_all_it_ships(tmp_path: Path) -> None:
    cdk("synth", "--quiet", "--output", str(tmp_path), "-c", "shards=5")
    template = json.loads((tmp_path / "Clockwork.template.json").read_text())
    shards = [
        resource["Properties"]["Environment"]["Variables"]["SHARDS"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    ]
    assert shards == ["5"] * 5
    assets = json.loads((tmp_path / "Clockwork.assets.json").read_text())["files"].values()
    folders = [tmp_path / asset["source"]["path"] for asset in assets if asset["source"]["packaging"] == "zip"]
    assert len(folders) == 8
    assert all(any(path.suffix == ".py" for path in folder.rglob("*")) for folder in folders)
    layers = [folder for folder in folders if (folder / "python").is_dir()]
    assert len(layers) == 3
    for layer in layers:
        modules = list(layer.rglob("*.py"))
        compiled = [path.parent / "__pycache__" / f"{path.stem}.cpython-314.pyc" for path in modules]
        assert len(modules) > 100
        assert [path for path in compiled if not path.exists()] == []
