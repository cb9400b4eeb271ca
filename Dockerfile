# An image with Clarinet, so that a node needs nothing else. Built from the root of the repository:
#   docker build --tag clarinet .                                                          for CPUs
#   docker build --tag clarinet:cuda --build-arg TORCH_INDEX=https://pypi.org/simple .     for NVIDIA GPUs
FROM python:3.11-slim-bookworm AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m venv /opt/clarinet
ENV PATH=/opt/clarinet/bin:$PATH
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY clarinet_tui clarinet_tui
# PyTorch's wheels for CUDA contain its libraries: the node provides only the driver.
RUN pip install --no-cache-dir --index-url "$TORCH_INDEX" "torch>=2.9,<2.16" "torchvision>=0.24,<0.30" \
    && pip install --no-cache-dir .

FROM python:3.11-slim-bookworm
COPY --from=build /opt/clarinet /opt/clarinet
ENV PATH=/opt/clarinet/bin:$PATH \
    CLARINET_RUNS=/runs \
    CLARINET_DATA=/data
RUN useradd --create-home --uid 1000 clarinet
USER 1000
WORKDIR /home/clarinet
ENTRYPOINT ["clarinet"]
CMD ["--help"]
