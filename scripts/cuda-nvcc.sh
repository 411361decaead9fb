#!/bin/sh
# Stands in for nvcc while the program is built (scripts/cuda-env.sh): the compiler that "nvcc-of-toolkit" beside it leads to,
# except that products of quantised weights become empty objects. Candle's build script compiles fifteen files of them,
# minutes of a build, and this program links none (tensor/build/size.rs).
case " $* " in
    *" -c "*"src/moe/"*.cu\  | *" -c "*"src/mmq_gguf/"*.cu\  | *" -c "*"src/mmvq_gguf.cu ")
        while [ "$1" != -o ]; do shift; done
        exec cc -c -x c -o "$2" /dev/null
        ;;
esac
exec "$(readlink -f "$(dirname "$0")/nvcc-of-toolkit")" "$@"
