#!/bin/bash
# Follows one way of the documentation from an empty folder to the first credited purchase, with its commands and curl,
# and prints the seconds until Headwater is installed, until it is ready, and until the API returns the credit; and the
# seconds of CPU time that all of it took, which other work on the machine hardly changes.
#   bench/first_purchase.sh make-serve|make-demo|pip|pipx|uv|compose [PORT]
# pip, pipx and uv install the wheel of `make dist`, compose loads the image of `make image` into podman (PODMAN names
# another program). No cache of packages is used.
set -euo pipefail
way=$1 port=${2:-8080}
here=$(cd "$(dirname "$0")/.." && pwd)
url=http://127.0.0.1:$port
podman=${PODMAN:-podman}
folder=$(mktemp -d)
cd "$folder"
export PIP_CACHE_DIR=$folder/cache UV_CACHE_DIR=$folder/cache PIPX_HOME=$folder/pipx PIPX_BIN_DIR=$folder/bin \
    UV_TOOL_DIR=$folder/tools UV_TOOL_BIN_DIR=$folder/bin UV_LINK_MODE=copy
unset PYTHONDONTWRITEBYTECODE HEADWATER_DATA_DIR HEADWATER_DATABASE_URL

wheel=$(echo "$here"/dist/headwater-*-py3-none-any.whl)
image=$(echo "$here"/dist/headwater-*-"$(dpkg --print-architecture 2>/dev/null || uname -m)".oci.tar)
headwater=(headwater)

seconds() { awk "BEGIN {printf \"%.1f\", $(date +%s.%N) - $begun}"; }

# Waits until a command succeeds, for at most ten minutes.
await() {
    for _ in $(seq 3000); do
        "$@" && return
        sleep 0.2
    done
    echo "$way: gave up waiting" >&2
    exit 1
}

is_ready() { curl --fail --silent --output /dev/null --max-time 5 "$url/readyz"; }

is_credited() {
    curl --fail --silent --max-time 20 -G "$url/public-api/v1/events" -H "Authorization: Bearer $key" \
        --data-urlencode "start_date=$(date -u -d yesterday +'%F %T')" \
        --data-urlencode "end_date=$(date -u -d tomorrow +'%F %T')" \
        -d sources=google_ads -d attribution_model=last_touch -d attribution_window=30 \
        -d fields=amount -d fields=source |
        grep --quiet '"amount":89.5,.*"source":"google_ads"'
}

# Runs the server in the background, until this script ends.
serve() {
    "$@" >server.log 2>&1 &
    server=$!
}

clean() {
    [[ -z ${server-} ]] || { kill -TERM "$server"; wait "$server" || true; }
    [[ ! -e headwater/compose.yaml ]] ||
        podman-compose --podman-path "$podman" -f headwater/compose.yaml down --volumes >/dev/null 2>&1
    times >"$folder/times" # of containers, only podman's own
    [[ -z ${result-} ]] || echo "$result, CPU $(awk 'NR == 2 {gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4}' "$folder/times") s"
    rm -rf "$folder"
}
trap clean EXIT

begun=$(date +%s.%N)
case $way in
make-*)
    git clone --quiet --depth 1 "file://$here" headwater
    cd headwater
    # `make` installs and serves.
    serve make "${way#make-}" ARGS="--port $port"
    headwater=("$PWD/.venv/bin/headwater")
    ;;
pip)
    python3 -m venv headwater && headwater/bin/pip install --quiet "$wheel"
    headwater=(headwater/bin/headwater)
    ;;
pipx)
    pipx install "$wheel" >pipx.log 2>&1
    headwater=(bin/headwater)
    ;;
uv)
    "$here/.venv/bin/uv" tool install --quiet "$wheel"
    headwater=(bin/headwater)
    ;;
compose)
    "$podman" load --quiet --input "$image" >/dev/null
    ;;
esac
installed=$(seconds)

case $way in
pip | pipx | uv) serve "${headwater[@]}" serve --port "$port" ;;
compose)
    mkdir headwater
    sed "s/127.0.0.1:8080:8080/127.0.0.1:$port:8080/" "$here/deploy/compose.yaml" >headwater/compose.yaml
    podman-compose --podman-path "$podman" -f headwater/compose.yaml up -d >compose.log 2>&1
    headwater=("$podman" exec headwater_headwater_1 headwater)
    ;;
esac
await is_ready
ready=$(seconds)

space=$("${headwater[@]}" space create --name Shop --json | grep -oE '"id": *[0-9]+' | grep -oE '[0-9]+')
key=$("${headwater[@]}" key create --space "$space" --name first --json | grep -oE 'trk_sk_[^"]+')
curl --fail --silent --output /dev/null -X POST "$url/public-api/v1/events/track" \
    -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
    -d '{"event_name": "purchase", "email": "first@example.com", "amount": 89.5,
         "trk_source": "google_ads", "idempotency_key": "order-1001"}'
await is_credited
downloaded=$folder/cache # which pip has only where it is allowed to
[[ $way != compose ]] || downloaded=$image
cached=$(du -sm "$downloaded" 2>/dev/null | cut -f1) || cached=no
result="$way: installed $installed s, ready $ready s, credited $(seconds) s, cache $cached MB, load $(cut -d' ' -f1 /proc/loadavg)"
