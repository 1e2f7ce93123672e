#!/usr/bin/env bash
# Builds the image from dist/bin and starts it as its compose files do: alone, until an agent answers, and as a node of a cluster. Needs docker
# with compose, and the image of NATS. Nothing of it stays.
set -euo pipefail
cd "$(dirname "$0")"
export OPENCLAWD_TAG=try
docker buildx build --load --file Dockerfile --tag ghcr.io/pronto-lab/openclawd:$OPENCLAWD_TAG ../../dist
[ ! -e .env ] || { echo "error: packaging/docker/.env exists: it is yours" >&2; exit 1; }
compose=(docker compose --project-name openclawd-try)
clean() {
  "${compose[@]}" -f compose.yaml -f compose.cluster.yaml logs --no-color --tail 50 || true
  "${compose[@]}" -f compose.yaml -f compose.cluster.yaml down --volumes || true
  rm -f .env
}
trap clean EXIT
(
  umask 077
  for name in OPENCLAW_GATEWAY_TOKEN TASK_MONITOR_WRITE_TOKEN NATS_PASSWORD CLUSTER_TOKEN; do
    echo "$name=try$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')"
  done >.env
)

# until_says SECONDS TEXT COMMAND...: repeats a command until its output contains a text
until_says() {
  local seconds=$1 wanted=$2 said end=$((SECONDS + $1))
  shift 2
  until said="$("$@" 2>&1)" && [[ "$said" == *"$wanted"* ]]; do
    [ $SECONDS -lt $end ] || { echo "error: not within $seconds s: $said" >&2; exit 1; }
    sleep 1
  done
  echo "$said"
}

echo "== alone, as another user"
export OPENCLAWD_UID=12345 OPENCLAWD_GID=12345
"${compose[@]}" -f compose.yaml run --rm openclawd init --yes --agent Eden
"${compose[@]}" -f compose.yaml up --detach --wait
until_says 60 hello "${compose[@]}" -f compose.yaml exec -T openclawd openclawd agent hello
"${compose[@]}" -f compose.yaml exec -T openclawd openclawd open
"${compose[@]}" -f compose.yaml down --volumes

echo "== a node of a cluster"
unset OPENCLAWD_UID OPENCLAWD_GID
compose+=(-f compose.yaml -f compose.cluster.yaml)
"${compose[@]}" up --detach
until_says 120 writer "${compose[@]}" exec -T openclawd openclawd cluster status
until_says 60 hello "${compose[@]}" exec -T openclawd openclawd agent hello
for file in compose.litestream.yaml compose.build.yaml; do OPENCLAWD_REPLICA=/tmp docker compose -f compose.yaml -f "$file" config --quiet; done
OPENCLAW_HOME=/tmp OPENCLAWD_UID=1 OPENCLAWD_GID=1 docker compose -f compose.openclaw.yaml config --quiet
echo "passed"
