# docker build -t grpo-2048 . && docker run --rm -v "$PWD/runs:/work/runs" grpo-2048 train --parallel-rewards 8
# The sandbox is compiled for the processor at hand when the first program is tried; mount /work/.cache to keep that.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# What `--version` names: --build-arg COMMIT="$(git describe --always --abbrev=12)".
ARG COMMIT=
ENV GRPO_2048_COMMIT=$COMMIT
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cargo build --release --locked && strip -o /grpo-2048 target/release/grpo-2048

FROM debian:bookworm-slim AS program
# Certificates, for models by their Hugging Face id.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --home-dir /work --uid 1000 grpo
COPY --from=build /grpo-2048 /usr/local/bin/grpo-2048
COPY --from=build /source/LICENSE-MIT /source/LICENSE-APACHE /usr/share/doc/grpo-2048/
WORKDIR /work

# docker build --target mpi -t grpo-2048-mpi . : launcher and worker of an MPIJob (examples/mpijob.yaml), or any hosts with ssh.
FROM program AS mpi
RUN apt-get update && apt-get install -y --no-install-recommends openmpi-bin openssh-client openssh-server \
    && rm -rf /var/lib/apt/lists/*
# Workers are reached on a port that needs no root, by the key that the operator mounts; their names change with every job.
RUN printf '%s\n' 'Host *' '  Port 2222' '  StrictHostKeyChecking no' '  UserKnownHostsFile /dev/null' '  LogLevel ERROR' \
    > /etc/ssh/ssh_config.d/mpi.conf \
    && printf '%s\n' 'Port 2222' 'HostKey /work/.ssh/id_rsa' 'PidFile /work/sshd.pid' 'StrictModes no' > /etc/ssh/sshd_mpi
USER 1000
CMD ["/usr/sbin/sshd", "-De", "-f", "/etc/ssh/sshd_mpi"]

FROM program
# By its number, which Kubernetes can tell from root.
USER 1000
ENTRYPOINT ["grpo-2048"]
CMD ["doctor"]
