"""What modules of the library find in place of `socket`, `subprocess` and `socketserver`: enough to be defined."""

AF_INET, AF_UNSPEC, AI_PASSIVE, IPPROTO_TCP, IPPROTO_UDP = 2, 0, 1, 6, 17
SOCK_STREAM, SOCK_DGRAM = 1, 2
PIPE, STDOUT, DEVNULL = -1, -2, -3
error = OSError


def _no_network(*_, **__):
    raise PermissionError("a program has no network")


socket = getaddrinfo = getnameinfo = create_connection = _no_network
ThreadingTCPServer = StreamRequestHandler = object
