"""What programs cannot import of the standard library, and why."""

_NETWORK = "a program has no network"
_PROCESSES = "a program is one process"
_FILES = "a program has no files"
_SCREEN = "a program has no screen or terminal"
_C_CODE = "C libraries outside the interpreter are not there"
_SYSTEM = "a program sees no system around it"
_INSTALLED = "nothing is installed, built or documented in here"

# What is refused, and why; the modules inside these are refused with them.
REFUSED = {
    name: reason
    for reason, names in {
        _NETWORK: (
            "ftplib http.client http.cookiejar http.server imaplib poplib smtplib socket socketserver ssl "
            "urllib.request urllib.robotparser webbrowser antigravity wsgiref xmlrpc"
        ),
        _PROCESSES: (
            "concurrent.futures.interpreter concurrent.interpreters multiprocessing pty "
            "subprocess"
        ),
        _FILES: "dbm mailbox sqlite3 zipapp",
        _SCREEN: "curses idlelib readline termios tkinter tty turtle turtledemo",
        _C_CODE: "bz2 compression.bz2 compression.lzma compression.zstd ctypes lzma",
        _SYSTEM: "fcntl grp mmap pwd syslog",
        _INSTALLED: "compileall ensurepip lib2to3 py_compile pydoc pydoc_data test venv",
    }.items()
    for name in names.split()
}
