FROM python:3.12-slim AS build
# [spark] for a Spark Connect server: docker build --build-arg EXTRAS=[spark] .
ARG EXTRAS=
WORKDIR /src
COPY pyproject.toml README.md ./
COPY dp4sql dp4sql
COPY policies policies
RUN python -m venv /opt/dp4sql && /opt/dp4sql/bin/pip install --no-cache-dir ".$EXTRAS"

FROM python:3.12-slim
COPY --from=build /opt/dp4sql /opt/dp4sql
ENV PATH=/opt/dp4sql/bin:$PATH PYTHONUNBUFFERED=1
RUN useradd --uid 10001 --create-home --home-dir /var/lib/dp4sql dp4sql
USER 10001
WORKDIR /var/lib/dp4sql
VOLUME /var/lib/dp4sql
EXPOSE 6432
# A startup packet's first answer is one byte; that it comes shows that the loop runs.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import socket,struct; s=socket.create_connection(('127.0.0.1',6432),2); s.sendall(struct.pack('!II',8,80877103)); assert s.recv(1) in b'NS'"]
ENTRYPOINT ["dp4sql"]
CMD ["--help"]
