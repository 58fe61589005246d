#!/usr/bin/env bash
# Builds the files of a release in a new folder: both npm packages, the contract, the files for operators, and their checksums.
# It needs node_modules:
#   deploy/build-release.sh release
set -euo pipefail
mkdir "$1"
target=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"
version=$(node -p 'require("./package.json").version')

npm pack --silent --pack-destination "$target" >/dev/null
(cd generated/client && npm pack --silent --pack-destination "$target" >/dev/null)
for api in websites monitoring; do cp "generated/$api.json" "$target/sitekeeper-$version-$api-openapi.json"; done
git archive --format=tar.gz --prefix="sitekeeper-$version/" -o "$target/sitekeeper-$version-deploy.tar.gz" HEAD deploy docs CHANGELOG.md LICENSE
(cd "$target" && sha256sum -- * >"$target.sums" && mv "$target.sums" SHA256SUMS)
