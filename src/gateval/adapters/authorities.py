"""A company's own certificate authorities, for git, the forge's API and the models alike.

Each of the three replaces the machine's authorities by a file that it is given. So one file is made
that holds both: one variable must not keep the gate from what it reached without it.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gateval.domain.paths import show_path
from gateval.domain.setup.authorities import CA_VARIABLE
from gateval.errors import UsageError

SIZE_LIMIT = 4 * 1024 * 1024
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII
)


@contextmanager
def own_authorities(environ: MutableMapping[str, str]) -> Iterator[None]:
    """While the block runs, have the variable name a file that holds the machine's CAs as well.

    Its value may be the name of a file, or the certificates themselves in PEM. Raises `UsageError`.
    """
    given = environ.get(CA_VARIABLE, "").strip()
    if not given:
        yield
        return
    own = _own(given, environ)
    # the authorities that the machine trusts, or Mozilla's where it has no file
    name = environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if not name or not Path(name).is_file():
        import certifi

        name = certifi.where()
    with TemporaryDirectory(prefix="gateval-ca-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "ca.pem"
        machines = Path(name).read_text(encoding="utf-8", errors="replace")
        path.write_text(f"{machines}\n{own}\n", encoding="utf-8")
        environ[CA_VARIABLE] = str(path)
        try:
            yield
        finally:
            environ[CA_VARIABLE] = given


def _own(given: str, environ: Mapping[str, str]) -> str:
    """Return the certificates, and nothing else that the file may hold."""
    text = given if "-----BEGIN" in given else _read(given, environ)
    found = "\n".join(_CERTIFICATE.findall(text))
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found)
    except (ssl.SSLError, ValueError) as error:  # a broken one, or none at all
        raise UsageError(
            f"{CA_VARIABLE} holds no certificate that can be read.",
            hint="It is a file, or text, with -----BEGIN CERTIFICATE----- and so on (PEM).",
        ) from error
    return found


def _read(name: str, environ: Mapping[str, str]) -> str:
    workspace = environ.get("GITHUB_WORKSPACE", "")
    path = Path(name)
    if workspace and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace)):
        raise UsageError(
            f"{CA_VARIABLE} names a file in the workspace, where a pull request can put its own.",
            hint="Keep the certificates in a variable of the organisation; hand over its value.",
        )
    try:
        with path.open("rb") as file:
            return file.read(SIZE_LIMIT).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"{CA_VARIABLE} names {show_path(name)}, which cannot be read: {error.strerror}."
        ) from error
