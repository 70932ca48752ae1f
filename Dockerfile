# The book with its environment, for people without a Python of their own:
#   docker build -t vnbook . && docker run --rm -v vnbook:/book/results vnbook make chapter NAME=E_theory
# The digest is that of a list of images, for x86 and ARM.
FROM python:3.11-slim-bookworm@sha256:b18992999dbe963a45a8a4da40ac2b1975be1a776d939d098c647482bcad5cba AS tools
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git make \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 reader \
 && install --directory --owner reader /book
USER reader
WORKDIR /book

FROM tools
# The CPU build of the pinned torch; for CUDA: --build-arg PIP_EXTRA_INDEX_URL=
ARG PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
ENV PIP_NO_CACHE_DIR=1
COPY --chown=reader . .
RUN make install
CMD ["make", "book"]
