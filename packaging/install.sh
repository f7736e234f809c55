#!/bin/sh
# Installs Croft @VERSION@ for this user, after its checksum was compared:
#
#   sh install.sh [DIR]        DIR defaults to ~/.local/bin
#
# CROFT_RELEASE names another place of the files of the release: an address, or a directory. Nothing
# is asked, and nothing outside of DIR and ~/.local/share is written.
set -eu
version=@VERSION@
from=${CROFT_RELEASE:-https://github.com/croft-sh/croft/releases/download/v$version}
dir=${1:-$HOME/.local/bin}

fail() { echo "install.sh: $*" >&2; exit 1; }

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no archive for $(uname -s): go install github.com/croft-sh/croft/cmd/croft@v$version" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no archive for $(uname -m): go install github.com/croft-sh/croft/cmd/croft@v$version" ;;
esac
name=croft_${version}_${os}_${arch}

get() {
	case $from in
	/*) cp "$from/$1" "$1" ;;
	*)
		if command -v curl >/dev/null; then
			curl -fsSL --proto '=https' --tlsv1.2 -o "$1" "$from/$1"
		elif command -v wget >/dev/null; then
			wget -q --https-only -O "$1" "$from/$1"
		else
			fail "curl or wget is needed, and neither is there"
		fi
		;;
	esac || fail "cannot get $from/$1; nothing was installed"
}
sum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	else
		shasum -a 256 "$1"
	fi | cut -d ' ' -f 1
}

# All in one function, so that half a file that came over a network runs nothing.
install_croft() {
	command -v git >/dev/null || fail "git 2.38 or later is needed, and not there"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	cd "$work"
	get checksums.txt
	get "$name.tar.gz"
	want=$(sed -n "s/  $name\.tar\.gz\$//p" checksums.txt)
	[ -n "$want" ] || fail "checksums.txt does not name $name.tar.gz; nothing was installed"
	[ "$(sum "$name.tar.gz")" = "$want" ] || fail "$name.tar.gz is not what checksums.txt says; nothing was installed"
	tar -xzf "$name.tar.gz"

	share=$HOME/.local/share
	mkdir -p "$dir" "$share/man/man1" "$share/bash-completion/completions" "$share/fish/vendor_completions.d"
	cp "$name/croft" "$dir/.croft-new" && chmod 755 "$dir/.croft-new" && mv -f "$dir/.croft-new" "$dir/croft"
	ln -sf croft "$dir/git-croft"
	cp "$name"/man/man1/*.1 "$share/man/man1/"
	cp "$name/completions/croft.bash" "$share/bash-completion/completions/croft"
	cp "$name/completions/croft.fish" "$share/fish/vendor_completions.d/croft.fish"
	"$dir/croft" --version
	case :$PATH: in
	*:"$dir":*) ;;
	*) echo "add it to your PATH: export PATH=\"$dir:\$PATH\"" ;;
	esac
	echo "for croft cd, and completion in zsh: eval \"\$($dir/croft shell-init bash)\", or zsh"
}
install_croft
