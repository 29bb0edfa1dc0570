"""The variable that names a company's own certificate authorities, and who is told of it."""

from __future__ import annotations

CA_VARIABLE = "GATEVAL_CA_FILE"
"""While a command runs it names a file with these authorities and the machine's, in PEM."""

CERTIFICATE_HINT = (
    f"Name the file of your CA in the variable {CA_VARIABLE}: see docs/guides/enterprise.md."
)
