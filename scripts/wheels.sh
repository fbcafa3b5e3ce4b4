#!/bin/sh
# Makes wheels for x86-64 and aarch64 Linux with glibc 2.17 or later, in dist/. libjpeg-turbo and libdeflate are linked into
# the library, so that a wheel needs nothing but glibc.
#
#   scripts/wheels.sh [ARCHITECTURE ...]    x86_64 aarch64
#   GOLOADER_SOURCES=FOLDER scripts/wheels.sh    with libjpeg-turbo-*/ and libdeflate-*/ of that folder, not the system's
#
# The C compiler is zig's, which brings the headers of every glibc and compiles for every processor. Sources of the two
# libraries are those of Debian's or Ubuntu's packages.
set -eu
cd "$(dirname "$0")/.."
. scripts/apt.sh

glibc=2.17
sources=${GOLOADER_SOURCES:-$PWD/build/sources}
python=$PWD/.venv/bin/python
zig=$($python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')
# Whatever the tag of the wheel that is there, it goes: what is in dist/ is of one build.
rm -rf build/wheels dist
mkdir -p build/wheels dist

found() { # NAME: the folder of its sources
    for folder in "$sources/$1"-*/; do
        [ -d "$folder" ] && printf '%s\n' "${folder%/}" && return
    done
    return 1
}
if [ -z "${GOLOADER_SOURCES:-}" ] && ! { found libjpeg-turbo && found libdeflate; } >/dev/null; then
    apt_source "$sources" "" libjpeg-turbo libdeflate
fi
jpeg=$(found libjpeg-turbo) && deflate=$(found libdeflate) || {
    echo "goloader: no sources of libjpeg-turbo and libdeflate in $sources" >&2
    exit 1
}
command -v nasm >/dev/null || apt_install nasm # libjpeg-turbo's SIMD on x86-64

tool() { # FILE COMMAND ...: an executable of that name that runs the command
    file=$1
    shift
    printf '#!/bin/sh\nexec %s "$@"\n' "$*" >"$file"
    chmod +x "$file"
}
libraries() { # ARCHITECTURE FOLDER: compilers for it, and both libraries with their headers
    mkdir -p "$2/lib" "$2/include"
    tool "$2/cc" "$zig" cc -target "$1-linux-gnu.$glibc" "-I$2/include" "-L$2/lib"
    tool "$2/ar" "$zig" ar
    tool "$2/ranlib" "$zig" ranlib

    # The version of CMake's rules: libjpeg-turbo names one that CMake 4 has dropped.
    .venv/bin/cmake -S "$jpeg" -B "$2/jpeg" -G Ninja -DCMAKE_MAKE_PROGRAM="$PWD/.venv/bin/ninja" \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$1" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_C_COMPILER="$2/cc" -DCMAKE_AR="$2/ar" -DCMAKE_RANLIB="$2/ranlib" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_C_FLAGS=-fvisibility=hidden -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DREQUIRE_SIMD=ON >/dev/null
    .venv/bin/cmake --build "$2/jpeg" --target jpeg-static >/dev/null
    cp "$2/jpeg/libjpeg.a" "$2/lib"
    cp "$jpeg/jpeglib.h" "$jpeg/jmorecfg.h" "$jpeg/jerror.h" "$2/jpeg/jconfig.h" "$2/include"

    mkdir "$2/deflate"
    (cd "$2/deflate" && "$2/cc" -O3 -DNDEBUG -fPIC -fvisibility=hidden "-I$deflate" -c "$deflate"/lib/*.c "$deflate"/lib/*/*.c)
    "$2/ar" rcs "$2/lib/libdeflate.a" "$2/deflate"/*.o
    cp "$deflate/libdeflate.h" "$2/include"
}

# From the sdist, so that nothing of an earlier build and nothing that the sdist lacks gets in.
$python -m build --sdist -o dist . >/dev/null
for architecture in ${*:-x86_64 aarch64}; do
    folder=$PWD/build/wheels/$architecture
    libraries "$architecture" "$folder"
    case $architecture in
    x86_64) go=amd64 ;;
    aarch64) go=arm64 ;;
    esac
    tag=manylinux_$(echo $glibc | tr . _)_$architecture
    GOARCH=$go CC=$folder/cc $python -m pip wheel -q --no-deps -w dist --config-settings="--build-option=--plat-name=$tag" dist/goloader-*.tar.gz
    $python -m auditwheel show dist/goloader-*-"$tag".whl >"$folder/shown"
    tr '\n' ' ' <"$folder/shown" | grep -q "platform tag: \"$tag\"" || { cat "$folder/shown" >&2; exit 1; }
done
ls -l dist
