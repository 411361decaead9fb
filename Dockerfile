# docker build -t grpo-2048 .
# mkdir -p runs && docker run --rm --user "$(id -u):$(id -g)" -v "$PWD/runs:/work/runs" grpo-2048 train
# As the user who owns `runs`: the image's own user may not write there, nor where the daemon makes the folder, as root.
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
# Certificates, for models by their Hugging Face id. Any user may run it (`--user`), so any may write to these folders, whose modes
# named volumes take over.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --home-dir /work --uid 1000 grpo \
    && chmod 755 /work && install -d -m 1777 -o grpo /work/.cache /work/runs
# Also for a user whom the image does not know, whose home would be `/`.
ENV HOME=/work
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
