"""Pages of the credit of some sources compared with the model's, during random histories and at their end."""

from __future__ import annotations

from random import Random

from headwater.sources.catalogue import SOURCE_IDS, source_mask
from headwater.sources.networks import FIRST_NUMBER
from tests.reports.court import LISTS, Court
from tests.reports.faults import FAULTS, Plant
from tests.reports.histories import SOURCES, Step
from tests.reports.playing import World

_EVERY_OTHER = source_mask([SOURCE_IDS.get(name, FIRST_NUMBER) for name in SOURCES[::2]])
CHANGES = (
    "postings = set_byte(postings, 0, get_byte(postings, 0) # 1)",
    "posting_ends[1] = posting_ends[1] - 1",
    "common_sources = -1, posted_sources = '{}', posting_ends = '{}', postings = ''",
    f"common_sources = common_sources | {_EVERY_OTHER}",
)


def change_postings(world: World, _: Step) -> None:
    """Sometimes damage the postings, remove them (as right after an upgrade), or make sources common as in a
    Space with many events.
    """
    dice = Random(len(world.steps))
    if dice.random() < 0.3:
        world.connection.execute(
            f"UPDATE path_segments SET {dice.choice(CHANGES)}"
            " WHERE space_id = %s AND octet_length(postings) > 0",
            (world.space_id,),
        )


WRONG: dict[str, Plant] = {
    name: FAULTS[name]
    for name in (
        "the end of the window is not part of it",
        "the window is of whole seconds",
        "a touch at the event's moment does not count",
        "of touches at one moment the later comes first",
        "a company's path is its contact's",
        "left-over cents go to the last touches",
    )
}
RARE = ("a company's path is its contact's", "the end of the window is not part of it")


def test_it_works(court: Court) -> None:
    court.subject, court.hooks = LISTS, (change_postings,)
    court.judge_random(seconds=3, faults=WRONG, rare_faults=RARE)
