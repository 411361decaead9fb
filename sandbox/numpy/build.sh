#!/usr/bin/env bash
# Rebuilds sandbox/artifact/numpy.wasm.xz: the guest of ../guest with numpy, cross-compiled from its source package. Needs python3
# with venv, PyPI, patch and xz; 10 minutes on two cores.
#
# The modules of numpy are the same bytes on every machine (modules.sha256). The component is not: its hash order differs from
# build to build, as that of ../guest does, so it is committed and verdicts are tied to it.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD guest=$PWD/../guest artifact=$PWD/../artifact
version=2.4.6 sum=f3a3570c4a2a16746ac2c31a7c7c7b0c186b95ce902e33db6f28094ed7387dda

for tool in python3 patch xz sha256sum; do
    command -v "$tool" >/dev/null || { echo "error: $tool not found; it is needed to rebuild the guest" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WORK=$work PATH=$work/venv/bin:$PATH
python3 -m venv "$work/venv"
pip install --quiet componentize-py==0.25.1 ziglang==0.15.2 cython==3.1.6 ninja==1.13.2

# The source package alone: pip asks its build backend for a name before it hands over the file, so this one has a name.
site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cat > "$site/mesonpy.py" <<END
import os

def get_requires_for_build_wheel(*_):
    return []

def prepare_metadata_for_build_wheel(folder, *_):
    os.mkdir(f"{folder}/numpy-$version.dist-info")
    with open(f"{folder}/numpy-$version.dist-info/METADATA", "w") as file:
        file.write("Metadata-Version: 2.1\nName: numpy\nVersion: $version\n")
    return "numpy-$version.dist-info"
END
pip download --quiet --no-binary numpy --no-deps --no-build-isolation --dest "$work" numpy==$version
echo "$sum  $work/numpy-$version.tar.gz" | sha256sum --check --quiet
tar -xf "$work/numpy-$version.tar.gz" -C "$work"
patch --quiet -p1 -d "$work/numpy-$version" < numpy.patch

# Compiler, and what meson asks of Python.
tar -xf python-headers.tar.xz -C "$work"
zig=$(python -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
export ZIG=$zig BUILTINS=$work/builtins.a
export ZIG_LOCAL_CACHE_DIR=$work/zig ZIG_GLOBAL_CACHE_DIR=$work/zig
(cd "$(dirname "$zig")" && ./zig build-lib lib/compiler_rt.zig -target wasm32-wasi -fPIC -O ReleaseSmall -femit-bin="$BUILTINS")
ln -s "$here/compiler.sh" "$work/cc"
ln -s "$here/compiler.sh" "$work/cxx"
cat > "$work/python" <<END
#!/bin/sh
case "\$1" in *python_info.py) exec "$work/venv/bin/python" "$here/python_info.py" "$work/python3.14" ;; esac
exec "$work/venv/bin/python" "\$@"
END
chmod +x "$work/python"
sed "s|@WORK@|$work|; s|@ZIG@|$zig|" target.ini > "$work/target.ini"

(
    cd "$work/numpy-$version"
    meson="python vendored-meson/meson/meson.py"
    $meson setup "$work/built" . --cross-file "$work/target.ini" --prefix=/usr -Dbuildtype=release -Db_ndebug=true \
        -Ddisable-optimization=true -Dallow-noblas=true -Dblas=none -Dlapack=none -Ddisable-threading=true \
        -Ddisable-highway=true -Ddisable-svml=true -Ddisable-intel-sort=true -Dcpu-baseline=none -Dcpu-dispatch=none
    ninja -C "$work/built"
    $meson install -C "$work/built" --no-rebuild --destdir "$work/installed"
) > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; exit 1; }

componentize() { # DIRECTORY MODULE OUTPUT
    (cd "$1" && componentize-py --wit-path wit --world program componentize --stub-wasi --python-path . --output "$3" "$2")
}

# Python is compiled by the interpreter that will run it, which leaves what it compiled; its components are not used.
mkdir "$work/library" "$work/compiled" "$work/guest"
cp -r "$guest"/{compile_library.py,refused.py,snapshot.py,replacements,wit} "$work/library"
pip install --quiet --no-deps --no-compile --require-hashes --target "$work/library/packages" -r "$guest/packages.txt"
componentize "$work/library" compile_library "$work/library.wasm"

python package.py "$work/installed/lib/python3.14/site-packages/numpy" "$work/package"
cp -r "$work/package" "$work/compiled/numpy"
find "$work/compiled" -name '*.so' -delete
cp -r guest/compile_numpy.py "$guest/wit" "$work/compiled"
componentize "$work/compiled" compile_numpy "$work/compiled.wasm"

cp -r "$guest"/{app.py,chance.py,clock.py,library.py,refused.py,snapshot.py,streams.py,values.py,wit} guest/with_numpy.py \
    "$work/library/library.bin" "$work/compiled/numpy" "$work/guest"
(cd "$work/package" && find . -name '*.so' | LC_ALL=C sort | tee "$work/modules" | tar -cf - -T - | tar -xf - -C "$work/guest/numpy")
(cd "$work/package" && xargs sha256sum < "$work/modules") > "$work/modules.sha256"
if [ "${1:-}" = --new-modules ]; then
    cp "$work/modules.sha256" modules.sha256
else
    diff modules.sha256 "$work/modules.sha256" || { echo "error: other modules than modules.sha256 names" >&2; exit 1; }
fi
componentize "$work/guest" with_numpy "$work/numpy.wasm"
python3 "$guest/stack.py" "$work/numpy.wasm"

(cd "$work" && sha256sum numpy.wasm) > "$artifact/numpy.wasm.sha256"
xz -9e --stdout "$work/numpy.wasm" > "$artifact/numpy.wasm.xz"
# What it is made of: these files and those of ../guest.
(cd .. && find numpy guest -type f -not -path '*__pycache__*' | LC_ALL=C sort | xargs sha256sum) > "$artifact/numpy.sources.sha256"
ls -l "$artifact"
