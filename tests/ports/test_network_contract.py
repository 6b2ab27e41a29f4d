"""The contract of `NetworkPort`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from compute.clouds.errors import Gone, Refused
from compute.clouds.specs import CHANGEABLE, FIXED, BalancerSpec, State
from tests.ports.ground import Ground


@pytest.fixture(scope="module")
def vip(ground: Ground) -> Iterator[State]:
    """A balancer whose VIP a floating IP can be put on."""
    made = ground.balancer.create_tree(BalancerSpec(name=ground.name("vip"), subnet_id=ground.subnet_id))
    yield ground.wait_active(made.external_id)
    ground.balancer.delete_balancer(made.external_id, cascade=True)
    ground.wait_gone(made.external_id)


@pytest.fixture
def address(ground: Ground) -> Iterator[State]:
    made = ground.network.allocate(ground.external_network_id, description=ground.name("skydeck:contract"))
    yield made
    ground.network.free(made.external_id)


class TestReading:
    def test_networks(self, ground: Ground) -> None:
        found = {network.external_id: network for network in ground.network.networks()}
        public = found[ground.external_network_id]
        assert public.kind == "network" and public.fields["external"] is True and public.provisioning == "ACTIVE"
        [own] = [network for network in found.values() if ground.subnet_id in network.refs["subnet_ids"]]
        assert set(own.fields) >= {"name", "description", "enabled", "shared", "external", "mtu"}
        assert own.fields["external"] is False and own.fields["shared"] is False and own.fields["enabled"] is True
        assert own.name == own.fields["name"] and own.project_id

    def test_subnets(self, ground: Ground) -> None:
        [subnet] = [each for each in ground.network.subnets() if each.external_id == ground.subnet_id]
        fields = subnet.fields
        assert (fields["cidr"], fields["ip_version"], fields["gateway_ip"]) == ("10.77.0.0/24", 4, "10.77.0.1")
        assert fields["pools"] == [{"start": "10.77.0.2", "end": "10.77.0.254"}]
        assert fields["dns"] == ["9.9.9.9"] and fields["enable_dhcp"] is True
        assert subnet.refs["network_id"]

    def test_lists_are_streamed(self, ground: Ground) -> None:
        port = ground.network
        with ground.recording() as seen:
            lists = [port.networks(), port.subnets(), port.floating_ips()]
            assert seen.calls == []
            for states in lists:
                list(states)
        assert seen.sent == ["GET networks", "GET subnets", "GET floatingips"]
        assert {call.service for call in seen.calls} == {"network"}


class TestFloatingIps:
    def test_a_new_one_is_free_and_carries_its_mark(self, ground: Ground, address: State) -> None:
        assert address.kind == "floatingip" and address.name == address.fields["address"]
        assert set(address.fields) == set(CHANGEABLE["floatingip"] + FIXED["floatingip"])
        assert address.fields["port_id"] == "" and address.fields["network_id"] == ground.external_network_id
        assert address.raw["description"].startswith("skydeck:contract")
        assert address.provisioning == "DOWN" and address.project_id == address.fields["project_id"] != ""
        assert address.refs == {"device_id": "", "device_owner": "", "fixed_ip_address": ""}
        listed = [each for each in ground.network.floating_ips() if each.external_id == address.external_id]
        assert [each.fields for each in listed] == [address.fields]

    def test_bound_to_a_vip_and_released(self, ground: Ground, vip: State, address: State) -> None:
        port_id = vip.fields["port_id"]
        with ground.recording() as seen:
            bound = ground.network.bind(address.external_id, port_id)
        assert "PUT floatingips" in seen.sent
        assert bound.fields["port_id"] == port_id and bound.refs["fixed_ip_address"] == vip.fields["address"]
        read = ground.network.floating_ip(address.external_id)
        assert read.fields == bound.fields
        assert read.refs["device_owner"] == "Octavia" and read.refs["device_id"] == f"lb-{vip.external_id}"
        released = ground.network.release(address.external_id)
        assert released.fields["port_id"] == ""
        assert ground.network.floating_ip(address.external_id).refs["fixed_ip_address"] == ""

    def test_a_port_has_one_address(self, ground: Ground, vip: State, address: State) -> None:
        second = ground.network.allocate(ground.external_network_id)
        try:
            ground.network.bind(address.external_id, vip.fields["port_id"])
            with pytest.raises(Refused) as caught:
                ground.network.bind(second.external_id, vip.fields["port_id"])
            assert caught.value.http_status == 409
        finally:
            ground.network.free(second.external_id)
        with pytest.raises(Gone):
            ground.network.floating_ip(second.external_id)

    def test_freed_twice_is_success(self, ground: Ground) -> None:
        made = ground.network.allocate(ground.external_network_id)
        ground.network.free(made.external_id)
        ground.network.free(made.external_id)

    def test_what_is_not_there(self, ground: Ground, address: State) -> None:
        absent = str(uuid.uuid4())
        for look in (ground.network.network, ground.network.subnet):
            with pytest.raises(Gone):
                look(absent)
        with pytest.raises(Gone):
            ground.network.floating_ip(absent)
        with pytest.raises(Gone):
            ground.network.release(absent)
        with pytest.raises(Refused) as caught:  # the address itself is still there
            ground.network.bind(address.external_id, absent)
        assert caught.value.http_status == 404 and absent in caught.value.cause
        with pytest.raises(Gone):
            ground.network.allocate(absent)

    def test_one_by_itself_is_as_it_was_listed(self, ground: Ground) -> None:
        """A sync asks for what a listing left out."""
        for listing, one in (
            (ground.network.networks, ground.network.network),
            (ground.network.subnets, ground.network.subnet),
        ):
            for listed in list(listing())[:3]:
                with ground.recording() as seen:
                    found = one(listed.external_id)
                assert len(seen.sent) == 1
                assert (found.kind, found.fields, found.refs) == (listed.kind, listed.fields, listed.refs)
