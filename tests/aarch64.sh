#!/bin/sh
# The tests of the kernels on 64-bit Arm, under emulation.
#
#     tests/aarch64.sh
#
# Needs std for the target (`rustup target add aarch64-unknown-linux-gnu`, or Debian's libstd-rust-dev:arm64),
# aarch64-linux-gnu-gcc with its libc, and qemu-aarch64; where one of them is missing it says which and does nothing.
set -eu
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu

skip() {
    echo "skipped: no $1"
    exit 0
}
command -v aarch64-linux-gnu-gcc >/dev/null || skip aarch64-linux-gnu-gcc
command -v qemu-aarch64 >/dev/null || skip qemu-aarch64
ls "$(rustc --print target-libdir --target $target)"/libstd-* >/dev/null 2>&1 || skip "std for $target"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64
export QEMU_LD_PREFIX="${QEMU_LD_PREFIX:-/usr/aarch64-linux-gnu}"
cargo test --release --target $target --lib engine::host
cargo test --release --target $target --test kernels
