#!/usr/bin/env bash
# kernelwright serve with TLS, and every program that asks it: a certificate authority of the test's, tokens, a certificate that is
# renewed, and what is said when something does not fit.
# usage: tls_test.sh PROGRAM
set -euo pipefail
# shellcheck source=tests/service/helpers.sh
source "${BASH_SOURCE[0]%/*}/helpers.sh"
unset SSL_CERT_FILE SSL_CERT_DIR

# says TEXT COMMAND...: the command fails, and its error has the text.
says() {
  local text=$1
  shift
  "$@" >says.out 2>says.err && fail "no failure: $*"
  grep -qF -- "$text" says.out says.err || fail "no \"$text\" from: $*"
}
# certificate NAME DAYS: by the authority, for 127.0.0.1. Negative days have passed.
certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days "$2" -out "$1.crt" \
    -extfile <(echo subjectAltName=IP:127.0.0.1,DNS:localhost) 2>/dev/null
}
serial() { openssl s_client -connect "127.0.0.1:${url##*:}" </dev/null 2>/dev/null | openssl x509 -noout -serial; }

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -keyout ca.key -out ca.crt 2>/dev/null
certificate first 10
certificate second 10
certificate old -1
cp first.crt server.crt
cp first.key server.key
printf 'the-token-of-the-test\n' >tokens
chmod 600 tokens

says "has expired" "$program" serve --data tasks --port 0 --tls-certificate old.crt --tls-key old.key
says "second.key: it is not the key of first.crt" "$program" serve --data tasks --port 0 --tls-certificate first.crt --tls-key second.key

# An address that other machines reach.
"$program" serve --data tasks --host 0.0.0.0 --port 0 --tokens tokens --tls-certificate server.crt --tls-key server.key >serve.out 2>serve.err &
server=$!
until_true grep -q https serve.out
url=https://127.0.0.1:$(sed -n 's/.*://p' serve.out)
export KERNELWRIGHT_API_KEY=the-token-of-the-test
"$program" worker --server "$url" --ca-file ca.crt --name one 2>worker.err &
worker=$!

write_relu relu.cpp 0
evaluate=("$program" eval "$root/problems/relu" relu.cpp --no-timing --no-evidence --json --judge)
"${evaluate[@]}" "$url" --judge-ca-file ca.crt >eval.out 2>eval.err || fail "eval --judge: exit $?"
grep -q '"outcome":"passed"' eval.out || fail "the verdict is wrong"
group=$("$program" submit "$root/problems/relu" relu.cpp --no-timing --no-evidence --server "$url" --ca-file ca.crt 2>submit.err)
SSL_CERT_FILE=ca.crt "$program" queue --server "$url" --group "$group" --wait >queue.out 2>queue.err || fail "queue --wait: exit $?"
ask=(curl -sS --max-time 60 --cacert ca.crt -H "Authorization: Bearer $KERNELWRIGHT_API_KEY")
"${ask[@]}" "$url/v1/groups/$group/events" >events.out || fail "no events"
for event in task end; do grep -q "^event: $event" events.out || fail "no event $event of the group"; done

# A new certificate while the worker's call is under way; then one that is no certificate.
before=$(serial)
cp second.crt server.crt
cp second.key server.key
kill -HUP "$server"
until_true grep -q 'read again' serve.err
[[ $(serial) == "$(openssl x509 -in second.crt -noout -serial)" && $(serial) != "$before" ]] || fail "not the new certificate"
echo nothing >server.crt
kill -HUP "$server"
until_true grep -q 'stays as it was' serve.err
[[ $(serial) == "$(openssl x509 -in second.crt -noout -serial)" ]] || fail "the new certificate is gone"
write_relu relu.cpp 0.0f
SSL_CERT_FILE=ca.crt "${evaluate[@]}" "$url" >again.out 2>again.err || fail "eval after the renewal: exit $?"

# What does not fit is an error at once, and names itself.
says "not trusted: unable to get local issuer certificate" "${evaluate[@]}" "$url"
says "trusted are the certificates of first.crt" "$program" queue --server "$url" --ca-file first.crt
says "must begin with https://" "$program" queue --server "http://127.0.0.1:${url##*:}"
"$program" serve --data others --port 0 >plain.out 2>plain.err &
until_true grep -q http plain.out
says "does not speak TLS" "$program" worker --server "$(sed 's/http/https/' plain.out)" --ca-file ca.crt
openssl s_server -www -accept 127.0.0.1:0 -cert old.crt -key old.key >expired.out 2>&1 &
until_true grep -q '^ACCEPT 127' expired.out
says "certificate has expired" "$program" queue --server "https://$(sed -n 's/^ACCEPT //p' expired.out)" --ca-file ca.crt

kill -TERM "$worker"
wait "$worker" || fail "the worker: exit $?"
kill -TERM "$server"
wait "$server" || fail "the server: exit $?"
echo "fine"
