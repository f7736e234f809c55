# Homebrew's formula, as packaging/build fills it in. Nobody has tried it on macOS yet.
class Croft < Formula
  desc "Worktree layer for fleets of coding agents"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on "git"

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/croft_@VERSION@_darwin_arm64.tar.gz"
      sha256 "@DARWIN_ARM64@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/croft_@VERSION@_darwin_amd64.tar.gz"
      sha256 "@DARWIN_AMD64@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/croft_@VERSION@_linux_arm64.tar.gz"
      sha256 "@LINUX_ARM64@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/croft_@VERSION@_linux_amd64.tar.gz"
      sha256 "@LINUX_AMD64@"
    end
  end

  def install
    bin.install "croft"
    bin.install_symlink "croft" => "git-croft"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/croft.bash" => "croft"
    zsh_completion.install "completions/_croft"
    fish_completion.install "completions/croft.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/croft --version")
    system "git", "init", "--quiet", "app"
    system "git", "-C", "app", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", "first"
    system bin/"croft", "-C", "app", "new", "fix"
  end
end
