#!/usr/bin/env python3
"""meta_test.py CHECK [ROOT]: one rule of checks.py against the repository; `all` for every rule."""

import pathlib
import sys

from checks import CHECKS
from repository import Repository


def main():
    root = sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).resolve().parent.parent.parent
    wanted = [check for check in CHECKS if sys.argv[1] in ("all", check.__name__)]
    if not wanted:
        print(f"no check '{sys.argv[1]}': {', '.join(check.__name__ for check in CHECKS)}")
        return 2
    repo = Repository.open(root)
    failed = 0
    for check in wanted:
        problems = check(repo)
        failed += len(problems)
        for problem in problems:
            print(problem)
        print(f"{check.__name__}: {len(problems)} problems; the rule: {check.__doc__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
