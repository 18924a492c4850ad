#include "src/kernels/exponential.hpp"

namespace relata::kernels {
namespace {

constexpr Constant constant(float value) { return {{value, value, value, value}}; }

}  // namespace

const ExponentialConstants kExponential = {
    .lowest = constant(-88.02F),
    .log2_e = constant(1.44269504F),
    .rounder = constant(12582912 + 127),
    .minus_ln2 = {constant(-0.693359375F), constant(2.12194440e-4F)},
    .polynomial = {constant(1.9875691500e-4F), constant(1.3981999507e-3F),
                   constant(8.3334519073e-3F), constant(4.1665795894e-2F),
                   constant(1.6666665459e-1F), constant(5.0000001201e-1F)},
    .one = constant(1),
};

}  // namespace relata::kernels
