/* Preloaded while a guest is built, so that the same sources give the same bytes: what componentize-py lets the interpreter
   see of this machine is the same everywhere. Entropy and clocks are the C library's; the times and numbers of files are
   asked of the kernel directly, so a filter turns those questions into signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOW 1700000000
/* In the register that statx does not use: the question is the handler's own. */
#define OWN 0x67757374

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    memset(bytes, 42, count);
    return count;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    *now = (struct timespec){.tv_sec = NOW};
    return 0;
}

static long raw(long number, long a, long b, long c, long d, long e, long f) {
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

long syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom) return getrandom((void *)a[0], a[1], 0);
    long result = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result >= 0 || result < -4095) return result;
    errno = -result;
    return -1;
}

static void answer(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct statx *file = (struct statx *)r[REG_R8];
    r[REG_RAX] = raw(SYS_statx, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], OWN);
    if (r[REG_RAX] != 0) return;
    // Nobody compares two files here.
    file->stx_ino = 1;
    file->stx_atime = file->stx_btime = file->stx_ctime = file->stx_mtime = (struct statx_timestamp){.tv_sec = NOW};
}

__attribute__((constructor)) static void freeze(void) {
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    sigaction(SIGSYS, &action, NULL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
