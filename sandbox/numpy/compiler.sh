#!/usr/bin/env bash
# clang of the PyPI package ziglang, as a cross compiler to the WebAssembly that componentize-py links. Called `cc` or
# `cxx`; ZIG, PYTHON_HEADERS and BUILTINS come from build.sh. Its own driver cannot link shared modules: wasm-ld does.
set -euo pipefail

lib=$(dirname "$ZIG")/lib
flags=(
    --target=wasm32-wasip1 -fPIC -nostdinc -isystem "$lib/include" -isystem "$lib/libc/include/wasm-wasi-musl"
    -isystem "$lib/libc/include/generic-musl" -D_GNU_SOURCE -DNPY_NO_SIGNAL -D_WASI_EMULATED_SIGNAL
    -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_GETPID
    -ffile-prefix-map="$WORK"=. -Wno-unused-command-line-argument -Werror=implicit-function-declaration
    -Werror=incompatible-pointer-types
)
last=()
if [[ $0 == *cxx ]]; then
    last=(-fno-exceptions)
    # The C++ library of componentize-py: LLVM's, second ABI, without exceptions. Its headers precede those of C.
    on='THREADS THREAD_API_PTHREAD MONOTONIC_CLOCK MUSL_LIBC FILESYSTEM RANDOM_DEVICE LOCALIZATION UNICODE WIDE_CHARACTERS'
    off='THREAD_API_EXTERNAL THREAD_API_WIN32 THREAD_API_C11 VENDOR_AVAILABILITY_ANNOTATIONS TIME_ZONE_DATABASE'
    flags=(
        --driver-mode=g++ -std=c++17 -fno-rtti -nostdinc++ -isystem "$lib/libcxx/include"
        -isystem "$lib/libcxxabi/include" -D_LIBCPP_ABI_VERSION=2 -D_LIBCPP_ABI_NAMESPACE=__2
        -D_LIBCPP_PSTL_BACKEND_SERIAL -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE
        -D_LIBCPP_HARDENING_MODE_DEFAULT=2 -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=2
        $(printf -- '-D_LIBCPP_HAS_%s=1 ' $on) $(printf -- '-D_LIBCPP_HAS_%s=0 ' $off) "${flags[@]}"
    )
fi

shared= output=a.out compile=() link=() sources=()
for ((at = 1; at <= $#; at++)); do
    argument=${!at}
    case $argument in
    -Wl,--version) echo "LLD 20.1.2 (compatible with GNU linkers)"; exit ;;
    -c | -E | -S | -M | --version | -v | -dM | -fsyntax-only | *-print-* | -dumpversion | -dumpmachine)
        exec "$ZIG" clang "${flags[@]}" "$@" "${last[@]}" ;;
    -o) at=$((at + 1)); output=${!at} ;;
    -shared) shared=yes ;;
    *.c | *.cpp | *.cc | *.cxx) sources+=("$argument") ;;
    *.o | *.a | *.so | @*) link+=("$argument") ;;
    -isystem | -include | -x) at=$((at + 1)); compile+=("$argument" "${!at}") ;;
    -l* | -L* | -Wl,* | -pthread) ;;
    -*) compile+=("$argument") ;;
    esac
done

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
for source in "${sources[@]}"; do
    "$ZIG" clang "${flags[@]}" "${compile[@]}" -c "$source" -o "$temporary/${#link[@]}.o"
    link+=("$temporary/${#link[@]}.o")
done
if [[ $shared ]]; then
    "$ZIG" wasm-ld --experimental-pic -shared --allow-undefined --no-entry --gc-sections --strip-all "${link[@]}" "$BUILTINS" -o "$output"
else
    # Questions of meson: linked with the C library of zig, so that a function that is not there is missed.
    "$ZIG" cc -target wasm32-wasi "${link[@]}" -lm -o "$output"
fi
