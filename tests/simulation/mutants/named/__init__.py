"""The named mutants: tempting shortcuts, each an edit of the shipped sources that the simulator must notice."""

from tests.simulation.mutants.named.asking import ASKING
from tests.simulation.mutants.named.calling_back import CALLING_BACK
from tests.simulation.mutants.named.completing import COMPLETING, ENDING
from tests.simulation.mutants.named.containing import CONTAINING
from tests.simulation.mutants.named.delivering import DELIVERING
from tests.simulation.mutants.named.flowing import FLOWING
from tests.simulation.mutants.named.lasting import LASTING
from tests.simulation.mutants.named.leaving import LEAVING
from tests.simulation.mutants.named.living import LIVING
from tests.simulation.mutants.named.naming import NAMING
from tests.simulation.mutants.named.operating import OPERATING
from tests.simulation.mutants.named.ordering import ORDERING
from tests.simulation.mutants.named.pulling import PULLING
from tests.simulation.mutants.named.regulating import REGULATING
from tests.simulation.mutants.named.releasing import RELEASING
from tests.simulation.mutants.named.running import RUNNING
from tests.simulation.mutants.named.sharing import SHARING
from tests.simulation.mutants.named.skipping import SKIPPING

NAMED = (
    *(*RELEASING, *ASKING, *NAMING, *DELIVERING, *CALLING_BACK, *COMPLETING, *ENDING, *PULLING),
    *(*REGULATING, *ORDERING, *LASTING, *LEAVING, *SKIPPING, *LIVING, *CONTAINING),
    *(*FLOWING, *RUNNING, *OPERATING, *SHARING),
)
