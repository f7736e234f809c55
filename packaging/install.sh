#!/bin/sh
# Installs Croft @VERSION@ for this user, after its checksum was compared. That tells a download that was cut or spoiled; it
# comes from the same place as the archive. Who signed it: gpg --verify checksums.txt.asc checksums.txt.
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

case $from in
/* | https://*) ;;
*) fail "cannot get the release from $from: CROFT_RELEASE is an address with https://, or a directory from / on; nothing was installed" ;;
esac

# absolute PATH prints a path that means the same in every directory.
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s\n' "$PWD/$1" ;;
	esac
}
dir=$(absolute "$dir")

# quoted PATH prints a path as a shell has to be given it.
quoted() {
	case $1 in
	*[!A-Za-z0-9/._+-]*) printf "'%s'\n" "$(printf '%s\n' "$1" | sed "s/'/'\\\\''/g")" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

# by_wget ADDRESS FILE follows redirections by itself, and only to https://: wget would go on without encryption, also with
# --https-only.
by_wget() {
	address=$1
	for _ in 1 2 3 4 5 6; do
		if wget -q -S --max-redirect=0 -O "$2" "$address" 2>headers; then
			return 0
		fi
		address=$(sed -n 's/^ *[Ll]ocation: *//p' headers | sed -n 1p | cut -d ' ' -f 1)
		case $address in
		https://*) ;;
		'') cat headers >&2; return 1 ;;
		*) echo "it was sent on to $address, which is not https://" >&2; return 1 ;;
		esac
	done
	return 1
}
get() {
	case $from in
	/*) cp "$from/$1" "$1" ;;
	*)
		if command -v curl >/dev/null; then
			curl -fsSL --proto '=https' --tlsv1.2 -o "$1" "$from/$1"
		elif command -v wget >/dev/null; then
			by_wget "$from/$1" "$1"
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
	work=$(absolute "$work") # TMPDIR may be relative
	new=
	trap 'rm -rf "$work" ${new:+"$new"}' EXIT
	cd "$work"
	get checksums.txt
	get "$name.tar.gz"
	want=$(sed -n "s/  $name\.tar\.gz\$//p" checksums.txt)
	[ -n "$want" ] || fail "checksums.txt does not name $name.tar.gz; nothing was installed"
	[ "$(sum "$name.tar.gz")" = "$want" ] || fail "$name.tar.gz is not what checksums.txt says; nothing was installed"
	tar -xzf "$name.tar.gz"

	share=$HOME/.local/share
	mkdir -p "$dir" "$share/man/man1" "$share/bash-completion/completions" "$share/fish/vendor_completions.d"
	# Each on a line of its own: what fails ends the script. Nobody else can have made the new file, or a link of its name.
	[ ! -d "$dir/croft" ] || fail "$dir/croft is a directory; nothing was installed"
	new=$(mktemp "$dir/.croft-new.XXXXXX")
	cp "$name/croft" "$new"
	chmod 755 "$new"
	says=$("$new" --version) || fail "the new program does not run; $dir/croft is as it was"
	case $says in
	"croft $version" | "croft $version ("*) ;;
	*) fail "the new program says that it is $says, and not croft $version; $dir/croft is as it was" ;;
	esac
	mv -f "$new" "$dir/croft"
	new=
	ln -sf croft "$dir/git-croft"
	cp "$name"/man/man1/*.1 "$share/man/man1/"
	cp "$name/completions/croft.bash" "$share/bash-completion/completions/croft"
	cp "$name/completions/croft.fish" "$share/fish/vendor_completions.d/croft.fish"
	"$dir/croft" --version
	case :$PATH: in
	*:"$dir":*) ;;
	*) echo "add it to your PATH: export PATH=$(quoted "$dir"):\"\$PATH\"" ;;
	esac
	echo "for croft cd, and completion in zsh: eval \"\$($(quoted "$dir/croft") shell-init bash)\", or zsh"
}
install_croft
