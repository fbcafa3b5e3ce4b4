# Debian's packages, for the scripts that read this file in.

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt_install() { # PACKAGE ...
    command -v apt-get >/dev/null 2>&1 || {
        echo "goloader: install what Debian calls $*, then run this again" >&2
        return 1
    }
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# apt-get with lists of its own, in FOLDER/apt: it can be asked for what the system's lists do not hold, and the system stays
# as it is. Packages come from where the system's come from.
#
#   TYPES     deb or deb-src
#   RELEASE   of the distribution, in place of the system's own if it is not empty
apt_aside() { # FOLDER TYPES RELEASE COMMAND ...
    aside=$(realpath "$1")/apt
    line="s/^deb /$2 /" paragraph="s/^Types:.*/Types: $2/"
    if [ -n "$3" ]; then
        line="$line; s/^(deb[^ ]* (\[[^]]*\] )?[^ ]+) [^ ]+/\1 $3/"
        paragraph="$paragraph; s/^Suites:.*/Suites: $3/"
    fi
    shift 3
    mkdir -p "$aside/parts" "$aside/lists/partial" "$aside/cache/archives/partial"
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -e "$list" ] || sed -nE "$line; /^deb/p" "$list" >"$aside/parts/$(basename "$list")"
    done
    for list in /etc/apt/sources.list.d/*.sources; do
        [ ! -e "$list" ] || sed -E "$paragraph" "$list" >"$aside/parts/$(basename "$list")"
    done
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$aside/parts" -o Dir::State::Lists="$aside/lists" \
        -o Dir::Cache="$aside/cache" -o APT::Sandbox::User=root "$@"
}

# The sources of packages: unpacked, with Debian's patches, in FOLDER/PACKAGE-VERSION, or as they are with --download-only
# (and --tar-only: without the patches).
apt_source() { # FOLDER RELEASE [--download-only [--tar-only]] PACKAGE ...
    folder=$1 release=$2
    shift 2
    command -v apt-get >/dev/null 2>&1 || {
        echo "goloader: no apt-get, which would bring the sources of $*" >&2
        return 1
    }
    command -v dpkg-source >/dev/null 2>&1 || apt_install dpkg-dev
    mkdir -p "$folder"
    # One of the lists may have no sources or no such release; what is asked for comes from those that have.
    apt_aside "$folder" deb-src "$release" update >/dev/null 2>&1 || true
    (cd "$folder" && apt_aside . deb-src "$release" source "$@" >/dev/null)
}

# Packages of an architecture with all that they need, unpacked in FOLDER/root, where an emulator finds them, or a program that
# was told so.
apt_root() { # FOLDER ARCHITECTURE RELEASE PACKAGE ...
    folder=$1 architecture=$2 release=$3
    shift 3
    rm -rf "$folder/unpacked"
    mkdir -p "$folder/unpacked"
    set -- -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::State::status=/dev/null "$@"
    # One of the lists may have no such release.
    apt_aside "$folder" deb "$release" -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" update \
        >/dev/null 2>&1 || true
    apt_aside "$folder" deb "$release" install -y --no-install-recommends --download-only "$@" >/dev/null
    for deb in "$folder"/apt/cache/archives/*.deb; do
        dpkg-deb -x "$deb" "$folder/unpacked"
    done
    mv "$folder/unpacked" "$folder/root"
}
