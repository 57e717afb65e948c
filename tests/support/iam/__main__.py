"""Lists the permissions of the account's roles that the last run of the end-to-end tests did not need.

    python -m tests.support.iam

It reads what the run left in build/iam. A permission in the list is not superfluous for that alone: the tests cause
few faults. The last column says whether the calls that the simulator checks need it.
"""

from __future__ import annotations

import sys

from tests.simulation.roles import NEEDS
from tests.support.emulator import CALLS
from tests.support.iam.by_aws import calls_of_aws, decryptions
from tests.support.iam.judged import account_of_the_tests, seen_by, unused


def main() -> None:
    if not CALLS.exists():
        sys.exit(f"{CALLS} does not exist: run tests/e2e first")
    account = account_of_the_tests()
    seen = [call for call, refused in seen_by(account).items() if not refused]
    made = [*seen, *decryptions(account, seen), *calls_of_aws(account)]
    modelled = {need(count) for need in NEEDS.values() for count in (1, 2)}
    found = list(unused(account, made))
    for role, action, pattern in found:
        table = pattern.partition(":table/Storage")[2].rstrip("0123456789ABCDEF").lower()
        known = "in the simulator's model" if (table, action.partition(":")[2]) in modelled else ""
        print(f"{role.removeprefix('Functions').partition('Role')[0]:15} {action:38} {pattern:90} {known}")
    print(f"{len(found)} permissions were not needed by {len(made)} different calls")


if __name__ == "__main__":
    main()
