#!/usr/bin/env bash
# Installs the packages for Node, Go and Java into empty folders and runs their READMEs' snippets.
#
#   packages.sh PACKAGES-FOLDER
set -euo pipefail

packages=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# The first snippet of a language in a README.
snippet() {
  awk -v fence="\`\`\`$2" '$0 == fence { inside = 1; next } /^```$/ && inside { exit } inside' "$here/$1/README.md"
}

expect() {
  if [[ $2 != "$3" ]]; then
    echo "$1: got \"$2\", want \"$3\"" >&2
    exit 1
  fi
  echo "$1: $2"
}

mkdir "$work/node"
cd "$work/node"
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --offline --no-audit --no-fund "$packages"/retort-contract-*.tgz
snippet node js >snippet.mjs
expect node "$(node snippet.mjs)" 'UNIQUE_VIOLATION not_committed fix'

mkdir "$work/go"
cd "$work/go"
snippet go go >main.go
go mod init example.com/snippet 2>/dev/null
export GOFLAGS=-mod=mod GONOSUMDB='retort.dev/*' GOMODCACHE="$work/modules"
GOPROXY="file://$packages/go,$(go env GOPROXY)" go get retort.dev/contract@v0.1.0 2>/dev/null
expect go "$(go run .)" 'OUTCOME_UNKNOWN unknown'

mkdir "$work/java"
cd "$work/java"
snippet java java >Snippet.java
mvn -q -B -f "$packages/pom.xml" dependency:build-classpath -Dmdep.outputFile="$work/java/classpath" -Dmdep.includeScope=runtime
expect java "$(java -cp "$(echo "$packages"/retort-contract-*.jar):$(cat classpath)" Snippet.java)" 'UNIQUE_VIOLATION not_committed'
