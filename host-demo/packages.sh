#!/usr/bin/env bash
# Installs every package into an empty folder and runs the snippets of its README and of the main one.
#
#   packages.sh PACKAGES-FOLDER
set -euo pipefail

packages=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# A README's snippet in a language: the first one, or the one of this number. The main README's folder is `..`.
snippet() {
  awk -v fence="\`\`\`$2" -v wanted="${3:-1}" \
    '$0 == fence { inside = ++number == wanted; next } /^```$/ { inside = 0 } inside' "$here/$1/README.md"
}

expect() {
  if [[ $2 != "$3" ]]; then
    echo "$1: got \"$2\", want \"$3\"" >&2
    exit 1
  fi
  echo "$1: $2"
}

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet --disable-pip-version-check \
  "$(echo "$packages"/retort_contract-*.whl)[mcp,psycopg,sqlalchemy]" psycopg-binary==3.3.9
unset RETORT_COMPONENT
"$work/python/bin/python" "$here/python/tests/readme.py" "$here/python/README.md"
snippet .. python >"$work/main.py"
expect 'main README, Python' "$("$work/python/bin/python" "$work/main.py")" 'OUTCOME_UNKNOWN escalate'

mkdir "$work/node"
cd "$work/node"
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --offline --no-audit --no-fund "$packages"/retort-contract-*.tgz
snippet node js >snippet.mjs
expect node "$(node snippet.mjs)" 'UNIQUE_VIOLATION not_committed fix'
snippet .. ts >main.mjs
expect 'main README, TypeScript' "$(node main.mjs)" 'OUTCOME_UNKNOWN escalate'

mkdir "$work/go"
cd "$work/go"
snippet go go >main.go
go mod init example.com/snippet 2>/dev/null
GOPROXY="file://$packages/go,$(go env GOPROXY)"
export GOPROXY GOFLAGS=-mod=mod GONOSUMDB='retort.dev/*' GOMODCACHE="$work/modules"
go get retort.dev/contract@v0.1.0 2>/dev/null
expect go "$(go run .)" 'OUTCOME_UNKNOWN unknown'
snippet .. go >main.go
expect 'main README, Go' "$(go run . | cut -d: -f1)" 'OUTCOME_UNKNOWN'

mkdir "$work/pgx"
cd "$work/pgx"
snippet go go 2 >main.go
go mod init example.com/snippet 2>/dev/null
go get retort.dev/contract/pgxcontract@v0.1.0 2>/dev/null
expect pgx "$(DATABASE_URL='postgres://u@127.0.0.1:1/x' go run . 2>&1 | cut -d' ' -f3-)" 'CONNECTION_FAILED not_started'

mkdir "$work/java"
cd "$work/java"
snippet java java >Snippet.java
mvn -q -B -f "$packages/pom.xml" dependency:build-classpath -Dmdep.outputFile="$work/java/classpath" -Dmdep.includeScope=runtime
classpath="$(echo "$packages"/retort-contract-*.jar):$(cat classpath)"
expect java "$(java -cp "$classpath" Snippet.java)" 'UNIQUE_VIOLATION not_committed'
snippet .. java >Snippet.java
expect 'main README, Java' "$(java -cp "$classpath" Snippet.java)" 'OUTCOME_UNKNOWN'

# The sidecar's snippets name a port that may be taken here.
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
for place in '.. 1' 'sidecar 1' 'sidecar 2'; do
  read -r folder number <<<"$place"
  snippet "$folder" sh "$number" | sed "s/7411/$port/" >"$work/sidecar.sh"
  expect "$folder, sidecar $number" "$(cd "$here/.." && PATH="$here/../target/release:$PATH" bash "$work/sidecar.sh" 2>/dev/null | cut -d, -f1)" \
    '{"envelope":{"code":"UNIQUE_VIOLATION"'
done
