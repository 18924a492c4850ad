// The vector widths that the kernels are tested at: the build's own, and xsimd's emulation of two
// widths.
#pragma once

#define XSIMD_WITH_EMULATED 1
#include "src/kernels/simd.hpp"

namespace relata::test {

struct BuildWidth {
  using Arch = simd::BuildArch;
};
struct Emulated128 {
  using Arch = xsimd::emulated<128>;
};
struct Emulated256 {
  using Arch = xsimd::emulated<256>;
};

}  // namespace relata::test

#define RELATA_TEST_WIDTHS \
  relata::test::BuildWidth, relata::test::Emulated128, relata::test::Emulated256
