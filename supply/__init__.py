"""The third-party packages of this repository: their locks, their bill of materials, and advisories about them.

A lock names each package's one version and the SHA-256 of every file of that version, so that pip refuses any other.
`make lock` writes the locks from the `requirements` files beside them.
"""

from infra import ROOT as ROOT
