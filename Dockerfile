# The image of the action: Python, git, uv and Gateval. No pip and no compilers are left in it.
# The base's digest is kept up to date by Dependabot and confirmed by the release workflow.
ARG BASE=docker.io/library/python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254

FROM ${BASE} AS build
SHELL ["/bin/sh", "-euc"]
# The same bytes for the same sources: no random order in compiled sets.
ENV PYTHONHASHSEED=0 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
WORKDIR /source
COPY requirements/run.txt requirements/build.txt requirements/image.txt requirements/
RUN python3 -m venv --without-pip /opt/gateval && \
    python3 -m pip --python /opt/gateval/bin/python install --require-hashes -r requirements/run.txt && \
    python3 -m venv --without-pip /opt/build && \
    python3 -m pip --python /opt/build/bin/python install --require-hashes -r requirements/build.txt && \
    python3 -m pip install --require-hashes --no-deps --target /opt/uv -r requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/build/bin/python -m hatchling build --target wheel --directory /opt/wheel && \
    python3 -m pip --python /opt/gateval/bin/python install --no-deps --no-index /opt/wheel/*.whl
# Rich would colour source code with Pygments, which we never ask it to: 10 MB. PyJWT can sign with
# cryptography, for GitHub Apps, which we are not: 16 MB.
# Of rapidfuzz, two distances are used: its scorers, its search in lists and the variants for newer
# processors are left out, and what it falls back to stays: 8 MB.
# Compiled with the sources' hash unchecked: nothing is compared at start, and no time is in the files.
RUN rm -r /opt/gateval/lib/python3*/site-packages/pygments/lexers && \
    rm -r /opt/gateval/lib/python3*/site-packages/pygments/styles && \
    rm -r /opt/gateval/lib/python3*/site-packages/cryptography* && \
    rm -f /opt/gateval/lib/python3*/site-packages/rapidfuzz/fuzz_cpp* && \
    rm -f /opt/gateval/lib/python3*/site-packages/rapidfuzz/process_cpp* && \
    rm -f /opt/gateval/lib/python3*/site-packages/rapidfuzz/distance/*_avx2.* && \
    /opt/gateval/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/gateval/lib

FROM ${BASE}
LABEL org.opencontainers.image.source=https://github.com/gateval/gateval \
      org.opencontainers.image.description="A CI gate for AI agents that live in git" \
      org.opencontainers.image.licenses=MIT
# The workspace of a runner belongs to another user than this container's root, and git would not
# read it. Whoever starts this image for a folder means that folder. Of git, what serves
# repositories, what fetches single packs and a second copy of the program are left out: 22 MB.
# Perl's modules come with git, and nothing that is used of it needs them: 48 MB. Their files are left
# out, not their packages, so that apt installs into images made from this one. These get them back by
# apt-get install --reinstall perl-modules-5.36 libperl5.36
# libseccomp2 filters the system calls of candidates; the base has it for apt, and may not for ever.
RUN apt-get update && \
    apt-get install --yes --no-install-recommends git libseccomp2 && \
    git config --system --add safe.directory '*' && \
    ln -sf ../../bin/git /usr/lib/git-core/git && \
    for part in daemon http-backend http-fetch http-push imap-send shell; do rm "/usr/lib/git-core/git-$part"; done && \
    rm -rf /usr/lib/git-core/scalar /usr/bin/git-shell /usr/bin/scalar /usr/share/gitweb && \
    rm -r /usr/share/perl /usr/lib/*-linux-gnu/perl /usr/lib/*-linux-gnu/libperl.so.* && \
    rm -rf /var/lib/apt/lists/* /var/log/* /var/cache/* && \
    rm -rf /usr/local/lib/python3*/site-packages/pip* /usr/local/bin/pip* /usr/local/lib/python3*/ensurepip
COPY --from=build /opt/uv/bin/uv /usr/local/bin/uv
COPY --from=build /opt/gateval /opt/gateval
COPY --chmod=755 docker/gateval-post /usr/local/bin/gateval-post
RUN ln -s /opt/gateval/bin/gateval /usr/local/bin/gateval
# No USER and no WORKDIR: a runner mounts its folders for root and sets the folder itself. Gateval
# starts candidates as other users.
ENTRYPOINT ["/usr/local/bin/gateval"]
CMD ["action"]
