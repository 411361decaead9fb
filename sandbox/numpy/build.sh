#!/usr/bin/env bash
# Rebuilds sandbox/artifact/numpy.wasm.xz: the guest of ../guest with numpy, cross-compiled from its source package. Needs python3
# with venv, PyPI, patch, cc and xz, on Linux and x86-64; 10 minutes on two cores.
#
# The same sources give the same bytes: the modules of numpy (modules.sha256), and the component (../guest/frozen.c).
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD guest=$PWD/../guest artifact=$PWD/../artifact
version=2.4.6 sum=f3a3570c4a2a16746ac2c31a7c7c7b0c186b95ce902e33db6f28094ed7387dda

for tool in python3 patch xz sha256sum cc; do
    command -v "$tool" >/dev/null || { echo "error: $tool not found; it is needed to rebuild the guest" >&2; exit 2; }
done

[ "$(uname -sm)" = "Linux x86_64" ] || { echo "error: found $(uname -sm); the guest is rebuilt on Linux x86_64" >&2; exit 2; }

# What a component is made of lies in memory, as in ../guest/build.sh.
work=$(mktemp -d) memory=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work" "$memory"' EXIT
mkdir "$memory/temporary"
cc -shared -fPIC -O1 -o "$memory/frozen.so" "$guest/frozen.c"
export WORK=$work PATH=$work/venv/bin:$PATH
python3 -m venv "$work/venv"
python3 -m venv "$memory/venv"
"$memory/venv/bin/pip" install --quiet componentize-py==0.25.1
pip install --quiet ziglang==0.15.2 cython==3.1.6 ninja==1.13.2

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
    (cd "$1" && env -i PATH=/usr/bin:/bin TMPDIR="$memory/temporary" LD_PRELOAD="$memory/frozen.so" "$memory/venv/bin/componentize-py" \
        --wit-path wit --world program componentize --stub-wasi --python-path . --output "$3" "$2")
}

# Python is compiled by the interpreter that will run it, which leaves what it compiled; its components are not used.
mkdir "$memory/library" "$memory/compiled" "$memory/guest"
cp -r "$guest"/{compile_library.py,refused.py,snapshot.py,replacements,wit} "$memory/library"
pip install --quiet --no-deps --no-compile --require-hashes --target "$memory/library/packages" -r "$guest/packages.txt"
componentize "$memory/library" compile_library "$work/library.wasm"

# It names its compilers by this build's folder, which is another each time.
sed -i "s|$work|.|g" "$work/installed/usr/lib/python3.14/site-packages/numpy/__config__.py"
python package.py "$work/installed/usr/lib/python3.14/site-packages/numpy" "$memory/package"
cp -r "$memory/package" "$memory/compiled/numpy"
find "$memory/compiled" -name '*.so' -delete
cp -r guest/compile_numpy.py "$guest/wit" "$memory/compiled"
componentize "$memory/compiled" compile_numpy "$work/compiled.wasm"

cp -r "$guest"/{app.py,chance.py,clock.py,library.py,refused.py,sizes.py,snapshot.py,streams.py,system.py,threads.py,values.py,wit} \
    guest/with_numpy.py "$memory/library/library.bin" "$memory/compiled/numpy" "$memory/guest"
(cd "$memory/package" && find . -name '*.so' | LC_ALL=C sort | tee "$work/modules" | tar -cf - -T - | tar -xf - -C "$memory/guest/numpy")
(cd "$memory/package" && xargs sha256sum < "$work/modules") > "$work/modules.sha256"
if [ "${1:-}" = --new-modules ]; then
    cp "$work/modules.sha256" modules.sha256
else
    diff modules.sha256 "$work/modules.sha256" || { echo "error: other modules than modules.sha256 names" >&2; exit 1; }
fi
componentize "$memory/guest" with_numpy "$work/numpy.wasm"
python3 "$guest/stack.py" "$work/numpy.wasm"
python3 "$guest/merge.py" "$work/numpy.wasm"

(cd "$work" && sha256sum numpy.wasm) > "$artifact/numpy.wasm.sha256"
xz -9e --stdout "$work/numpy.wasm" > "$artifact/numpy.wasm.xz"
# What it is made of: these files and those of ../guest.
(cd .. && find numpy guest -type f -not -path '*__pycache__*' | LC_ALL=C sort | xargs sha256sum) > "$artifact/numpy.sources.sha256"
ls -l "$artifact"
