"""The contract of `AccountPort` and of opening regions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compute.clouds.errors import Refused, Unauthorised, Unsupported
from tests.ports.ground import Ground


class TestAccount:
    def test_a_good_account_checks_well(self, ground: Ground) -> None:
        rows = ground.cloud.account.check([ground.region])
        assert rows[0].service == "identity" and rows[0].region == ""
        needed = [row for row in rows if row.needed]
        assert {row.service for row in needed} == {"identity", "network", "load-balancer"}
        assert all(row.ok and row.problem is None and row.endpoint for row in needed)
        assert {row.region for row in needed} == {"", ground.region}

    def test_without_a_choice_every_region_is_checked(self, ground: Ground) -> None:
        regions = set(ground.cloud.account.describe().regions)
        assert {row.region for row in ground.cloud.account.check()} == regions | {""}

    def test_a_region_that_there_is_not_is_one_bad_row(self, ground: Ground) -> None:
        rows = ground.cloud.account.check([ground.region, "Nowhere"])
        bad = [row for row in rows if row.region == "Nowhere"]
        assert bad and not any(row.ok for row in bad) and all(row.problem for row in bad)
        assert all(row.ok for row in rows if row.region == ground.region and row.needed)

    def test_who_we_are(self, ground: Ground) -> None:
        info = ground.cloud.account.describe()
        assert info.user_name == ground.credentials.username and info.user_id
        assert info.project_name == ground.credentials.project_name and info.project_id
        assert "member" in info.roles and ground.region in info.regions
        assert {"network", "load-balancer"} <= set(info.services)
        assert set(info.endpoints) == set(info.regions) and info.version

    def test_projects_are_those_that_the_user_has_a_role_in(self, ground: Ground) -> None:
        found = {project.external_id: project for project in ground.cloud.account.projects()}
        own = found[ground.cloud.account.describe().project_id]
        assert own.kind == "project" and own.name == own.fields["name"] == ground.credentials.project_name
        assert set(own.fields) >= {"name", "description", "enabled", "domain_id"} and own.fields["enabled"] is True

    def test_a_wrong_password_is_one_row_and_one_error(self, ground: Ground) -> None:
        cloud = ground.open(replace(ground.credentials, secret="not the password"))
        [row] = cloud.account.check([ground.region])
        assert not row.ok and row.problem and row.problem["code"] == "InvalidCredentialError"
        with pytest.raises(Unauthorised) as caught:
            cloud.account.describe()
        assert caught.value.http_status == 401
        assert "not the password" not in str(caught.value.as_dict())
        cloud.close()


class TestRegions:
    def test_a_region_that_there_is_not_offers_nothing(self, ground: Ground) -> None:
        with pytest.raises(Unsupported):
            _ = ground.cloud.region("Nowhere").balancer
        with pytest.raises(Unsupported):
            _ = ground.cloud.region("Nowhere").network

    def test_the_own_project_may_be_named(self, ground: Ground) -> None:
        project_id = ground.cloud.account.describe().project_id
        region = ground.cloud.region(ground.region, project_id=project_id)
        assert region.name == ground.region
        with ground.recording() as seen:
            list(region.network.networks())
        assert seen.sent == ["GET networks"] and len(seen.calls) == 1

    def test_a_project_without_a_role_is_refused_at_the_first_use(self, ground: Ground) -> None:
        with pytest.raises(Refused):
            list(ground.cloud.region(ground.region, project_id="0" * 32).network.networks())
