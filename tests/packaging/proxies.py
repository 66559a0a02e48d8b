"""nginx and Caddy with the configurations in `deploy/`, each on its own address, and curl, which resolves
their host names to it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.certificates import certify
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS

NAME, SHOP = "headwater.example.com", "shop.example.com"
UPSTREAM = "127.0.0.1:8080"


@dataclass(frozen=True)
class Answer:
    """The answer that curl received."""

    status: int
    version: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Proxy:
    """A running proxy."""

    address: str
    trusted: Path
    process: subprocess.Popen[bytes]

    def curl(self, url: str, *options: str) -> list[str]:
        """Return the command line that requests a URL with one of the proxy's host names."""
        host = url.split("/")[2]
        hosts = [f"{host}:{port}:{self.address}" for port in (80, 443)]
        return ["curl", "--silent", "--show-error", "--http2", "--cacert", str(self.trusted),
                "--resolve", hosts[0], "--resolve", hosts[1], *options, url]  # fmt: skip

    def get(self, url: str, *options: str) -> Answer:
        """Request a URL and return the answer."""
        status_format = "%{stderr}%{http_code} %{http_version}"
        command = self.curl(url, "--include", "--write-out", status_format, *options)
        result = subprocess.run(command, capture_output=True, text=True, check=True,
                                timeout=PATIENCE_SECONDS)  # fmt: skip
        text = result.stdout.replace("\r\n", "\n")
        while re.match(r"HTTP/\S+ 100", text):
            text = text.partition("\n\n")[2]
        head, _, body = text.partition("\n\n")
        fields = [line.partition(": ") for line in head.splitlines()[1:]]
        status, version = result.stderr.split()
        return Answer(int(status), version, {name.lower(): value for name, _, value in fields}, body)


def nginx(folder: Path, address: str, upstream: str) -> list[str]:
    """Return nginx's command line for the address."""
    source_folder = ROOT / "deploy" / "nginx"
    main = (source_folder / "headwater.conf").read_text().replace(UPSTREAM, upstream)
    shop = (source_folder / "shop.conf").read_text()
    for port in (80, 443):
        main = main.replace(f"listen {port}", f"listen {address}:{port}")
    main = main.replace(f"/etc/ssl/{NAME}.pem", str(certify(folder, NAME)))
    main = main.replace(f"/etc/ssl/private/{NAME}.key", str(folder / f"{NAME}.pem"))
    pem = certify(folder, SHOP)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(f"""
        daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
        events {{}}
        http {{
            access_log off; {temporary}
            {main}
            server {{
                listen {address}:443 ssl http2; server_name {SHOP};
                ssl_certificate {pem}; ssl_certificate_key {pem};
                {shop}
            }}
        }}""")
    return ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(file)]


def caddy(folder: Path, address: str, upstream: str) -> list[str]:
    """Return Caddy's command line for the address."""
    source_folder = ROOT / "deploy" / "caddy"

    def host_block(host: str) -> str:
        pem = certify(folder, host)
        return f"{host} {{\nbind {address}\ntls {pem} {pem}\n"

    preamble, plain_block, main = (source_folder / "Caddyfile").read_text().partition(f"http://{NAME} {{\n")
    main = (
        preamble + plain_block + f"bind {address}\n" + main.replace(f"\n{NAME} {{\n", f"\n{host_block(NAME)}")
    )
    shop = host_block(SHOP) + (source_folder / "shop.Caddyfile").read_text() + "handle {\nrespond 404\n}\n}\n"
    file = folder / "Caddyfile"
    file.write_text("{\nadmin off\nskip_install_trust\n}\n" + (main + shop).replace(UPSTREAM, upstream))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(file)]


PROXIES: dict[str, tuple[str, Callable[[Path, str, str], list[str]]]] = {
    "nginx": ("127.84.0.1", nginx),
    "caddy": ("127.84.0.2", caddy),
}
"""Each program's address, and the function that returns its command line."""


def start(name: str, folder: Path, upstream: str, *, required: bool) -> Proxy:
    """Start a proxy. Without the program, skip the test unless it is `required`."""
    if not required and (os.geteuid() or not all(map(shutil.which, (name, "curl")))):
        pytest.skip(f"needs root, {name} and curl; HEADWATER_TEST_PROXIES=required fails without")
    address, command_of = PROXIES[name]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command_of(folder, address, upstream), stdout=log, stderr=log, cwd=folder,
            env=environment(HOME=str(folder), XDG_DATA_HOME=str(folder)),
        )  # fmt: skip
    trusted_file = folder / "trusted.pem"
    trusted_file.write_text("".join((folder / f"{host}.pem").read_text() for host in (NAME, SHOP)))
    return Proxy(address, trusted_file, process)
