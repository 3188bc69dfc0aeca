#!/usr/bin/env bash
# Drives the server with clients that others wrote: curl and Python's http.client.
# usage: http_test.sh EXAMPLE_SERVER
set -euo pipefail
server=$1
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failures=0
expect() { # WHAT EXPECTED GOT
  [[ $2 == "$3" ]] || { echo "$1: expected \"$2\", got \"$3\"" >&2; failures=$((failures + 1)); }
}
fetch() { curl --silent --show-error --noproxy '*' --max-time 20 "$@"; }
status() { fetch --output /dev/null --write-out '%{http_code}' "$@"; }

# The server stops when nobody holds the pipe's other end.
mkfifo "$work/stdin" "$work/stdout"
"$server" 4 <"$work/stdin" >"$work/stdout" &
server_pid=$!
exec 3>"$work/stdin"
read -r origin <"$work/stdout"

expect "get" '{"hello":"world"}' "$(fetch "$origin/hello")"
expect "head" 200 "$(status --head "$origin/hello")"
expect "404" 404 "$(status "$origin/nothing")"
expect "405" 405 "$(status --request DELETE "$origin/hello")"
expect "json" '{"a":[1,2]}' "$(fetch --json '{"a": [1, 2]}' "$origin/json")"
expect "415" 415 "$(status --data 'a=1' "$origin/json")"
expect "400" 400 "$(status --json '{"a": ]' "$origin/json")"
expect "path" 404 "$(status --path-as-is "$origin/a%20b/c")"
expect "dots" 400 "$(status --path-as-is "$origin/../hello")"
expect "HTTP/1.0" 200 "$(status --http1.0 "$origin/hello")"
expect "two requests, one connection" "0" \
  "$(fetch --output /dev/null --output /dev/null --write-out '%{num_connects}' "$origin/hello" "$origin/hello" | tail -c 1)"
expect "events" 101 "$(fetch --no-buffer "$origin/events?count=100" | grep -c '^data: ')"

head -c 3000000 /dev/urandom >"$work/body"
# Over 1 MiB curl waits for 100 Continue.
fetch --data-binary "@$work/body" "$origin/echo" >"$work/echo"
expect "upload" "" "$(cmp "$work/body" "$work/echo" 2>&1)"
fetch --header 'Transfer-Encoding: chunked' --data-binary "@$work/body" "$origin/echo" >"$work/echo"
expect "chunked upload" "" "$(cmp "$work/body" "$work/echo" 2>&1)"
head -c 20000000 /dev/zero >"$work/large"
expect "413" 413 "$(status --data-binary "@$work/large" "$origin/echo")"
expect "413, chunked" 413 "$(status --header 'Transfer-Encoding: chunked' --header 'Expect:' --data-binary "@$work/large" "$origin/echo")"
expect "metrics" 1 "$(fetch "$origin/metrics" | grep -c 'kw_http_requests_total{route="/events",method="GET",status="200"} 1$')"

python3 "$here/http_client.py" "${origin##*:}" || failures=$((failures + 1))

exec 3>&-
wait "$server_pid" || { echo "the server did not stop as asked" >&2; failures=$((failures + 1)); }
[[ $failures -eq 0 ]]
