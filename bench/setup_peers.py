"""Makes each rival's virtual environment under bench/.venvs, because their requirements conflict.

    python -m bench.setup_peers              # all of them
    python -m bench.setup_peers dali ffcv    # these

Run it with the interpreter of the project's own environment: rivals on top of torch see that torch (and what else is
there, after their own packages) through a .pth file instead of a second copy of several GB.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from bench.keepers import KEEPERS
from bench.peers import PEERS, ROOT, VENVS, Peer


def missing_system_packages(peer: Peer) -> list[str]:
    """Debian packages of the peer that dpkg does not know as installed; all of them where there is no dpkg."""
    if not shutil.which("dpkg-query"):
        return list(peer.system)

    def installed(package: str) -> bool:
        query = ["dpkg-query", "-W", "-f=${Status}", package]
        return "install ok installed" in subprocess.run(query, capture_output=True, text=True).stdout

    return [package for package in peer.system if not installed(package)]


def recipe(peer: Peer) -> str:
    """What the environment was made from; kept in it, so that a second run has nothing to do."""
    return "\n".join([sys.version, *peer.build_needs, peer.requirements.read_text()])


def set_up(peer: Peer) -> None:
    """Raises CalledProcessError, pip's own words already on the terminal, or LookupError for missing packages."""
    folder = VENVS / peer.name
    stamp = folder / "recipe.txt"
    if stamp.exists() and stamp.read_text() == recipe(peer):
        print(f"{peer.name}: there already")
        return
    if missing := missing_system_packages(peer):
        raise LookupError(f"system packages first: apt-get install -y {' '.join(missing)}")
    print(f"{peer.name}: setting up {folder}", flush=True)
    venv.create(folder, with_pip=True, clear=True)
    if peer.shares_torch:
        own = sysconfig.get_path("purelib", "posix_prefix", vars={"base": str(folder), "platbase": str(folder)})
        # What a .pth adds comes after the folder it lies in: the peer's own packages win.
        Path(own, "project.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [str(peer.python), "-m", "pip", "install", "--quiet"]
    if peer.build_needs:
        subprocess.run([*pip, *peer.build_needs], check=True)
        pip.append("--no-build-isolation")
    subprocess.run([*pip, "-r", str(peer.requirements)], check=True, cwd=ROOT)
    stamp.write_text(recipe(peer))


def main() -> None:
    peers = PEERS | KEEPERS
    own = [name for name, peer in peers.items() if peer.own_venv]
    parser = argparse.ArgumentParser(description="Set up the environments of the loaders goloader is compared with.")
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"{', '.join(own)} (default: all)")
    named = parser.parse_args().peers
    if unknown := sorted(set(named) - set(own)):
        parser.error(f"no environment to set up for {', '.join(unknown)}")
    failed = []
    for name in named or own:
        try:
            set_up(peers[name])
        except (subprocess.CalledProcessError, LookupError) as error:
            print(f"{name}: not set up: {error}", file=sys.stderr)
            failed.append(name)
    if failed:
        print(f"the benchmarks will report {', '.join(failed)} as not installed", file=sys.stderr)
        # A benchmark of all still makes sense with some absent; one who asked for a peer by name wants it.
        raise SystemExit(1 if named else 0)


if __name__ == "__main__":
    main()
