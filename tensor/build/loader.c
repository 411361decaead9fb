/* Finds one of NVIDIA's libraries when a function of it is first called. Compiled once for each library, with the
 * library.h that build/libraries.rs writes; the jumps that lead here are written there too. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum returns { STATUS, TEXT, NUMBER };

#include "library.h"

/* Folders in which to look besides those that the system's loader knows, separated by colons. */
#define FOLDERS_VARIABLE "GRPO_2048_CUDA_LIBS"

static const struct {
    const char *name;
    enum returns returns;
} functions[] = {FUNCTIONS};

static const char *const files[] = {FILES};

/* Where the libraries lie in a folder that someone names: in itself, in a toolkit, among the packages of a Python, where
 * those of CUDA 13 share a folder, and those of CUDA 12 and NCCL have one each. */
static const char *const below[] = {"", "/lib64", "/lib", "/nvidia/cu" CUDA "/lib", "/nvidia/" PACKAGE "/lib"};

/* Where drivers lie that the system's loader is not told of: containers, and Linux on Windows. */
static const char *const usual[] = {"/usr/local/nvidia/lib64", "/usr/local/cuda/lib64", "/usr/lib/wsl/lib"};

extern __attribute__((visibility("hidden"))) void *SLOTS[];

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static void *library;
static char path_found[PATH_MAX];
static char first_failure[1024];

static void *load(const char *file)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? NULL : dlerror();

    if (why && !first_failure[0])
        snprintf(first_failure, sizeof first_failure, "%s", why);
    return handle;
}

/* A file that is there and cannot be loaded says more than one that is not there. */
static void load_from(const char *folder, size_t length)
{
    char path[PATH_MAX];

    for (size_t place = 0; place < sizeof below / sizeof *below && !library; place++) {
        for (size_t file = 0; file < sizeof files / sizeof *files && !library; file++) {
            int written = snprintf(path, sizeof path, "%.*s%s/%s", (int)length, folder, below[place], files[file]);

            if (written >= (int)sizeof path || access(path, F_OK) != 0)
                continue;
#ifdef COMPANION
            /* Loaded by its name later on; only this folder is known to hold it. */
            char companion[PATH_MAX];

            snprintf(companion, sizeof companion, "%.*s%s/%s", (int)length, folder, below[place], COMPANION);
            dlopen(companion, RTLD_NOW | RTLD_LOCAL);
#endif
            first_failure[0] = '\0';
            library = load(path);
        }
    }
}

static void load_from_all(const char *folders)
{
    while (folders && *folders && !library) {
        size_t length = strcspn(folders, ":");

        if (length)
            load_from(folders, length);
        folders += length + (folders[length] == ':');
    }
}

/* Folders that were named come first, then what the system's loader finds (LD_LIBRARY_PATH and its cache), then
 * places where toolkits and drivers usually lie. */
static void open_library(void)
{
    struct link_map *map;

    load_from_all(getenv(FOLDERS_VARIABLE));
    if (!library)
        library = load(files[0]);
    load_from_all(getenv("CUDA_HOME"));
    load_from_all(getenv("CUDA_PATH"));
    for (size_t place = 0; place < sizeof usual / sizeof *usual && !library; place++)
        load_from(usual[place], strlen(usual[place]));
    for (size_t file = 1; file < sizeof files / sizeof *files && !library; file++)
        library = load(files[file]);
    if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(path_found, sizeof path_found, "%s", map->l_name);
}

static int missing_status(void) { return MISSING; }
static int unknown_status(void) { return UNKNOWN; }
static const char *no_text(void) { return "the library was not found"; }
static size_t no_number(void) { return 0; }

/* The function that jump `index` leads to from now on. Threads that come at once find the same. */
__attribute__((visibility("hidden"))) void *RESOLVE(unsigned index)
{
    void *function;

    pthread_once(&opened, open_library);
    function = library ? dlsym(library, functions[index].name) : NULL;
    if (!function) {
        switch (functions[index].returns) {
        case STATUS: function = library ? (void *)unknown_status : (void *)missing_status; break;
        case TEXT: function = (void *)no_text; break;
        case NUMBER: function = (void *)no_number; break;
        }
    }
    __atomic_store_n(&SLOTS[index], function, __ATOMIC_RELEASE);
    return function;
}

/* Where the library was found; NULL where it was not. */
const char *FOUND(void)
{
    pthread_once(&opened, open_library);
    return library ? path_found : NULL;
}

/* Why it was not found. */
const char *FAILURE(void)
{
    pthread_once(&opened, open_library);
    return first_failure;
}
