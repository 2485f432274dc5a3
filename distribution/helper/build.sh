#!/bin/sh
# Builds IAC.app, which owns the Mac's permissions of the server: sh distribution/helper/build.sh [FOLDER]
# Needs Apple's Command Line Tools. Only a Mac can confirm that it works.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
app=${1:-"$HOME/Applications"}/IAC.app
if [ -e "$app" ]; then
    echo "$app is there already. A new one would have to be allowed again, so delete it first." >&2
    exit 1
fi
mkdir -p "$app/Contents/MacOS"
cp "$here/Info.plist" "$app/Contents/Info.plist"
cc -O2 -Wall -o "$app/Contents/MacOS/IAC" "$here/helper.c"
# Ad hoc: macOS knows the app by its contents. IDENTITY names a certificate of yours.
codesign --force --sign "${IDENTITY:--}" --identifier io.github.iac.helper "$app"
echo "Use this in the client's settings: \"command\": \"$app/Contents/MacOS/IAC\", and the path of iac-mcp as the first of \"args\"."
