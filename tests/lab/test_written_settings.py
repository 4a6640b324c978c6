import pytest

from veriscene.lab.plans import PLANS, Row
from veriscene.models import load_preset
from veriscene.models.settings import as_changes, flat


@pytest.mark.parametrize(
    "row", [row for plan in PLANS.values() for row in plan.rows if row.changes], ids=lambda row: row.name
)
def test_settings_written_as_changes_are_read_as_the_same_settings(row: Row) -> None:
    usual, changed = load_preset(row.preset), load_preset(row.preset, row.changes)
    differing = {key: value for key, value in flat(changed).items() if flat(usual)[key] != value}
    assert load_preset(row.preset, as_changes(differing)) == changed
