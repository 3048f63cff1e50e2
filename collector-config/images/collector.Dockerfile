# Agent, gateway and balancer. Context: the repository's root.
FROM golang:1.26 AS build
WORKDIR /src
COPY collector-config/build/gateway.yaml manifest.yaml
RUN go install go.opentelemetry.io/collector/cmd/builder@v0.161.0 \
    && sed -i 's#^dist:#dist:\n  output_path: /src/out#' manifest.yaml \
    && CGO_ENABLED=0 builder --config manifest.yaml
# A named volume takes its owner from these folders.
RUN mkdir -p state/agent state/gateway state/balancer

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/out/rollscope-collector /rollscope-collector
COPY --from=build --chown=nonroot:nonroot /src/state /var/lib/rollscope
ENTRYPOINT ["/rollscope-collector"]
